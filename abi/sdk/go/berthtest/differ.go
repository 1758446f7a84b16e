package berthtest

import (
	"fmt"
	"slices"
	"strings"
)

// way is a way to ask a plugin, and what it must do to give the same answers as in others.
type way struct{ how, rule string }

const (
	nothingKept = "keep nothing between calls that changes an answer (ABI-2.8)"
	alone       = "ask no clock, draw no random numbers, and keep nothing that other instances have too: a host has many, whose clocks tell nothing " +
		"(ABI-1.4, ABI-2.8)"
	noNumbers = "decide by texts, and put texts into state, not ids, row numbers or their order (ABI-4.6, ABI-4.7, ABI-7.4)"
	nodeOnly  = "a point of scope node judges a node by nothing but the pod, this node and the configuration; one that compares nodes has " +
		"scope cluster (ABI-5.4)"
)

func inFresh(what string) way { return way{"a fresh instance for every " + what, nothingKept} }

// Differs is how a failure says, after the plugin's name, that answers differ where they must not.
const Differs = ": one call in one instance gives"

// differ compares the answers of a way with those of one call in one instance. It reports the
// first difference as a mistake.
func (t *Trial) differ(want, got []string, how way) bool {
	t.tb.Helper()
	if slices.Equal(want, got) {
		return false
	}
	if len(want) != len(got) {
		t.tb.Errorf("%s"+Differs+"\n%s\nbut with %s it gives\n%s\n%s",
			t.manifest.Name, strings.Join(want, "\n"), how.how, strings.Join(got, "\n"), how.rule)
		return true
	}
	var at []int
	for i := range want {
		if want[i] != got[i] {
			at = append(at, i)
		}
	}
	more := ""
	if len(at) > 1 {
		more = fmt.Sprintf(", and %d more differ", len(at)-1)
	}
	t.tb.Errorf("%s"+Differs+" %q, but with %s it gives %q%s: %s", t.manifest.Name, want[at[0]], how.how, got[at[0]], more, how.rule)
	return true
}
