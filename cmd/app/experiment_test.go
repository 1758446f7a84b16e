package app

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/runtime/experiment"
)

// TestExperimentFits: the report of an experiment begins with how well the day was reproduced, has all groups, and no line of it is
// wider than a terminal of 80 columns, however long names are and whatever changed.
func TestExperimentFits(t *testing.T) {
	name := func(prefix string) string { return prefix + strings.Repeat("-0123456789", (63-len(prefix))/11) }
	all := make(map[experiment.Change]int)
	for _, c := range experiment.Changes() {
		all[c] = 1234
	}
	groups := func(name string) (out []experiment.Group) {
		for i := range groupsShown + 3 {
			out = append(out, experiment.Group{Name: fmt.Sprint(name, i), Pods: 12_345, Moves: 6170, Changes: all})
		}
		return out
	}
	r := &experiment.Report{
		Recording: experiment.Recording{Pods: 100_000, Same: 60_000, Others: map[experiment.Change]int{experiment.Elsewhere: 40_000}},
		Changes:   all,
		Groups: experiment.Groups{
			Controllers: groups(name("namespace") + "/ReplicationController " + name("controller")),
			Namespaces:  groups(name("namespace")),
			Pools:       groups(name("pool") + " → " + name("pool")),
			Reasons:     groups("NodeResourcesFit: Insufficient example.com/" + name("resource")),
		},
		Notes: []string{strings.Repeat("Bindings are simulated on both sides. ", 9)},
	}
	for i := range movesShown + 1 {
		r.Moves = append(r.Moves, experiment.Move{
			Namespace: name("namespace"), Pod: fmt.Sprint(name("pod"), i), Change: experiment.Elsewhere,
			Before: experiment.Fate{Node: name("node")},
			After:  experiment.Fate{Node: name("other"), Why: "its score of NodeResourcesFit was 71, and 68 on " + name("node")},
		})
	}
	var b bytes.Buffer
	p := &printer{w: &b, width: 80}
	if p.experiment(r); p.err != nil {
		t.Fatal(p.err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	words := strings.Fields(r.Reproduced())
	if got := strings.Fields(b.String()); strings.Join(got[:len(words)], " ") != strings.Join(words, " ") {
		t.Errorf("it does not begin with %q:\n%.300s", r.Reproduced(), b.String())
	}
	for _, head := range []string{"CONTROLLER", "NAMESPACE", "NODE POOL", "REASON"} {
		if strings.Count(b.String(), "\n"+head+" ") != 1 {
			t.Errorf("no table of each %s in:\n%s", head, b.String())
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
}
