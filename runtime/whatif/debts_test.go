package whatif_test

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestDebts: pods of other namespaces make no room in a question while a debt keeps the scheduler from having them do so, and the
// answer does not wait for its decay. A nominated pod that is placed pays.
func TestDebts(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	team := func(p *v1.Pod) { p.Namespace = "team" }
	asked := pod("p", "4", 9, team)
	owner := pod("owner", "1", 9, team, func(p *v1.Pod) { p.Status.NominatedNodeName = "b" })
	owes := func(change func(*inbox.Debt)) []*inbox.Debt {
		d := &inbox.Debt{
			Namespace: "team", For: owner.UID, Name: "team/owner", Made: 1, Since: now.Add(-time.Minute), Until: now.Add(4 * time.Minute),
		}
		if change != nil {
			change(d)
		}
		return []*inbox.Debt{d}
	}
	for _, c := range []struct {
		name      string
		debts     []*inbox.Debt
		nominated []*v1.Pod
		code      whatif.Code
	}{
		{"nothing is owed", nil, nil, whatif.FitsAfterPreemption},
		{"owed", owes(nil), nil, whatif.DoesNotFit},
		{"owed by others", owes(func(d *inbox.Debt) { d.Namespace = "other" }), nil, whatif.FitsAfterPreemption},
		{"decayed", owes(func(d *inbox.Debt) { d.Made, d.Step, d.Until = 0, 1, time.Time{} }), nil, whatif.FitsAfterPreemption},
		{"due", owes(func(d *inbox.Debt) { d.Until = now }), nil, whatif.FitsAfterPreemption},
		{"owed by the pod", []*inbox.Debt{{Pod: "p", For: "p", Name: "team/p", Made: 3, Since: now, Until: now.Add(time.Minute)}}, nil,
			whatif.DoesNotFit},
		{"paid by the nominated pod", owes(nil), []*v1.Pod{owner}, whatif.FitsAfterPreemption},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := full()
			cluster.Nodes = cluster.Nodes[:1] // it has pods of 4 CPU on 4
			if c.nominated != nil {
				cluster.Nodes = append(cluster.Nodes, node("b", "1"))
			}
			cluster.Debts, cluster.At, cluster.Nominated = c.debts, now, c.nominated
			got, _, err := cluster.AskPod(t.Context(), asked)
			if err != nil {
				t.Fatal(err)
			}
			if got.Code != c.code {
				t.Errorf("%s: %s", got.Code, got.Message)
			}
			if c.code == whatif.DoesNotFit && !strings.Contains(got.Message, "make no more room until") {
				t.Errorf("the message is %q", got.Message)
			}
		})
	}
}
