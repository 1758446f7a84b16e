package abi_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
)

// TestDirectives holds names, numbers and points against the table of ABI-13.1.
func TestDirectives(t *testing.T) {
	spec, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(spec), "\n## 13. ")
	exports := map[string]abi.Point{
		"post_filter": abi.PostFilter, "reserve": abi.Reserve, "unreserve": abi.Unreserve, "permit": abi.Permit,
		"pre_bind": abi.PreBind, "bind": abi.Bind, "post_bind": abi.PostBind,
	}
	last := map[abi.Point]bool{} // of the row that others refer to
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 8 {
			continue
		}
		number, err := strconv.Atoi(strings.TrimSpace(cells[1]))
		if err != nil {
			continue
		}
		rows++
		kind, name := abi.DirectiveKind(number), strings.TrimSpace(cells[2])
		if kind.String() != name {
			t.Errorf("directive %d is %s, SPEC.md says %s", number, kind, name)
		}
		want := map[abi.Point]bool{}
		words := strings.TrimSpace(cells[6])
		if rest, refers := strings.CutPrefix(words, "as 5"); refers {
			for p, at := range last {
				want[p] = at
			}
			if except, ok := strings.CutPrefix(rest, " but "); ok {
				want[exports[except]] = false
			}
		} else {
			for word := range strings.SplitSeq(words, ", ") {
				p, known := exports[word]
				if !known {
					t.Fatalf("%q is not a point that may give directives; update this test", word)
				}
				want[p] = true
			}
			last = want
		}
		for _, p := range abi.Points() {
			if kind.At(p) != want[p] {
				t.Errorf("%s at %s: %v, SPEC.md says %v", kind, p, kind.At(p), want[p])
			}
		}
	}
	if rows != 7 {
		t.Errorf("%d directives in SPEC.md, want 7", rows)
	}
	for _, kind := range []abi.DirectiveKind{0, 8} {
		if kind.String() != "unknown" || kind.At(abi.Reserve) {
			t.Errorf("directive %d is %s", kind, kind)
		}
	}
}
