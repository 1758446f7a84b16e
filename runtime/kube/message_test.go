package kube_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestLongMessages: of a message of megabytes, with characters that nobody can print, the condition of a pod gets 4 KiB and
// the event what the API server takes, cut at the border of a character.
func TestLongMessages(t *testing.T) {
	text := strings.Repeat("\x1b[2J\u202e\xff\x00é日\U0001f600", 1<<20/17)
	c, client := connect(t)
	pod := state.NewPod(pod("a", "", "default-scheduler"))
	c.Failed(scheduler.Failure{Pod: pod, Reason: v1.PodReasonUnschedulable, Message: text})
	c.Preempted(scheduler.Preempted{Victim: pod, Preemptor: pod, Message: text})
	found := func() (condition string, notes []string) {
		for _, action := range client.Actions() {
			switch a := action.(type) {
			case clienttesting.PatchAction:
				var patch struct{ Status v1.PodStatus }
				if a.GetResource().Resource == "pods" && json.Unmarshal(a.GetPatch(), &patch) == nil && len(patch.Status.Conditions) > 0 {
					condition = patch.Status.Conditions[0].Message
				}
			case clienttesting.CreateAction:
				if e, ok := a.GetObject().(*eventsv1.Event); ok {
					notes = append(notes, e.Note)
				}
			}
		}
		return condition, notes
	}
	eventually.Holds(t, "a condition and two events", func() bool { condition, notes := found(); return condition != "" && len(notes) == 2 })
	condition, notes := found()
	check := func(what, text string, most int, end string) {
		bad := strings.IndexFunc(text, func(r rune) bool { return !strconv.IsPrint(r) })
		if len(text) > most || len(text) < most-utf8.UTFMax || bad >= 0 || !utf8.ValidString(text) || !strings.HasSuffix(text, end) {
			t.Errorf("%s: %d bytes, at most %d, unprintable at %d: …%q", what, len(text), most, bad, text[max(0, len(text)-20):])
		}
	}
	check("condition", condition, report.MaxMessage, "…")
	for _, note := range notes {
		check("event", note, 1024, " ...")
	}
}
