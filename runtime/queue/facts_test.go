package queue_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/queue"
)

// TestFacts checks what re-implementations of kube-scheduler's queue often get wrong, one case
// per rule; the scenario files have the details.
func TestFacts(t *testing.T) {
	const (
		parked  = "add a\npop\nunschedulable a rejectors=Fit,Zone\n"
		gatedAt = "gate a plugin=G\nadd a\n"
	)
	for _, c := range []struct {
		rule   string
		script string
		want   []string // parts of the log of the last line, in order
		never  string   // not in the log
	}{
		{rule: "the backoff begins at 1 s",
			script: "add a\npop\nevent *\nunschedulable a rejectors=Fit\nstate", want: []string{" backoff=1s"}},
		{rule: "the backoff doubles, up to 10 s",
			script: strings.Repeat("add a\npop\nevent *\nunschedulable a rejectors=Fit\n", 9) + "state",
			want:   []string{"unschedulable=9", "backoff=10s"}},
		{rule: "errors are counted apart from rejections",
			script: "add a\n" + strings.Repeat("pop\nevent *\nunschedulable a rejectors=Fit\n", 4) + "pop\nfail a\nstate",
			want:   []string{"unschedulable=4 errors=1 backoff=1s"}},
		{rule: "a rejection ends a series of errors",
			script: "add a\npop\nfail a\nactivate a\npop\nunschedulable a rejectors=Fit\nstate",
			want:   []string{"unschedulable=1 errors=0 backoff=1s"}},
		{rule: "Backoff is popped when Active is empty",
			script: "add a\npop\nevent *\nunschedulable a rejectors=Fit\npop", want: []string{"a, attempt 2"}},
		{rule: "ErrorBackoff is not popped when Active is empty",
			script: "add a\npop\nfail a\npop", want: []string{"nothing"}},
		{rule: "Backoff is not popped while Active has a pod, whatever the priorities",
			script: "add a priority=9\npop\nevent *\nunschedulable a rejectors=Fit\nadd b\npop", want: []string{"b, attempt 1"}},
		{rule: "leftovers move after 5 min",
			script: parked + "advance 5m30s\ntick", want: []string{"a: unschedulable -> active (UnschedulableTimeout)"}},
		{rule: "leftovers are looked for every 30 s only",
			script: parked + "advance 5m29s\ntick", want: []string{"0 moved"}},
		{rule: "hints are asked of the plugins that rejected the pod",
			script: parked + "event Node/Add", want: []string{"hints asked about Node/Add for a(Fit,Zone)"}},
		{rule: "a Pending rejection skips the backoff",
			script: "add a\npop\nunschedulable a pending=Dra\nhint a Node/Add now\nevent Node/Add",
			want:   []string{"a: unschedulable -> active"}},
		{rule: "a rejection that is not Pending does not",
			script: "add a\npop\nunschedulable a rejectors=Fit\nhint a Node/Add queue\nevent Node/Add",
			want:   []string{"a: unschedulable -> backoff"}},
		{rule: "no recorded plugin means backoff, and no hint",
			script: "add a\npop\nevent Node/Add\nunschedulable a", want: []string{"a: in-flight -> error-backoff"}, never: "hints"},
		{rule: "a gated pod is tried at its gating plugin first",
			script: gatedAt + "hint a Node/Add queue\nevent Node/Add", want: []string{"for a(G)", "gates asked about a(G)"}, never: "->"},
		{rule: "a wildcard asks the gates of a gated pod",
			script: gatedAt + "event *", want: []string{"gates asked about a(G)"}, never: "hints"},
		{rule: "an update moves a gated pod only if its gate wants it",
			script: gatedAt + "update a label=x", want: []string{"hints asked"}, never: "gates"},
		{rule: "after Done a pod can fail, and events do not matter to it",
			script: "add a\npop\ndone a\nevent *\nfail a", want: []string{"a: binding -> error-backoff"}},
		{rule: "a failed binding needs an event to help others",
			script: "add a b\npop\npop\ndone a\nunschedulable b rejectors=Fit\nhint b AssignedPod/Delete queue\nadvance 3s\nevent AssignedPod/Delete",
			want:   []string{"b: unschedulable -> active"}},
		{rule: "an event during a try counts when it ends",
			script: "add a\npop\nevent Node/Add\nhint a Node/Add queue\nunschedulable a rejectors=Fit",
			want:   []string{"hints asked about Node/Add", "a: in-flight -> backoff"}},
		{rule: "an event before a try does not",
			script: "add a\nevent Node/Add\npop\nunschedulable a rejectors=Fit", want: []string{"a: in-flight -> unschedulable"}, never: "hints"},
	} {
		t.Run(strings.ReplaceAll(c.rule, " ", "_"), func(t *testing.T) {
			log := &scenario.Log{}
			language, err := scenario.NewLanguage(newWorld(t, queue.DefaultConfig(), log).commands())
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(c.script, "\n") {
				log.Take()
				if err := language.Do(line); err != nil {
					t.Fatal(err)
				}
			}
			all := log.Take()
			rest := all
			for _, part := range c.want {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("no %q in\n%s", part, rest)
				}
				rest = after
			}
			if c.never != "" && strings.Contains(all, c.never) {
				t.Errorf("%q in\n%s", c.never, all)
			}
		})
	}
}
