package tally_test

import (
	"testing"

	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
)

// TestUpdateCost: what a pod that comes, changes or goes costs does not depend on the other pods of its node.
func TestUpdateCost(t *testing.T) {
	w := cluster(1, 1000)
	w.Update(false)
	x := tally.New(tally.Config{})
	x.Update(w.Snapshot)
	for name, change := range map[string]func(){
		"comes":   func() { w.SetPod(pod("new", "n0")) },
		"changes": func() { w.SetPod(pod("p0-1", "n0")) },
		"goes":    func() { w.RemovePod("p0-2") },
	} {
		before := x.Work()
		change()
		w.Update(false)
		x.Update(w.Snapshot)
		if now := x.Work(); now.Pods-before.Pods > 4 || now.Rows-before.Rows != 1 {
			t.Errorf("a pod that %s: %d pods of %d rows were looked at", name, now.Pods-before.Pods, now.Rows-before.Rows)
		}
	}
}
