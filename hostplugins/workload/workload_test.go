package workload_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/workload"
)

func TestPassesAgree(t *testing.T) {
	for _, nodes := range []int{1, 100, 1500} {
		w := workload.Generate(nodes, workload.Seed)
		columns, err := workload.NewColumns(w)
		if err != nil {
			t.Fatal(err)
		}
		if err := workload.Compare(columns, workload.NewObjects(w)); err != nil {
			t.Errorf("%d nodes: columns and objects: %v", nodes, err)
		}
		if err := workload.Compare(columns, workload.NewHandwritten(w)); err != nil {
			t.Errorf("%d nodes: columns and handwritten: %v", nodes, err)
		}
	}
}

// TestMix checks that every check of the workload has work to do.
func TestMix(t *testing.T) {
	w := workload.Generate(1000, workload.Seed)
	for _, n := range w.Nodes {
		if len(n.Labels) != 20 || len(n.Spec.Taints) != 3 {
			t.Fatalf("%s has %d labels and %d taints", n.Name, len(n.Labels), len(n.Spec.Taints))
		}
	}
	pass := workload.NewObjects(w)
	share := map[string]float64{}
	for pod := range workload.Pods {
		s := pass.Filter(pod)
		for i, code := range s.Codes {
			reason := code.String()
			if code != abi.Success {
				reason = s.Reasons[i][0]
			}
			share[reason] += 1 / float64(len(w.Nodes)*workload.Pods)
		}
	}
	t.Log(share)
	for _, reason := range []string{"Success", "node(s) had untolerated taint(s)", "node(s) didn't match Pod's node affinity/selector", "Insufficient cpu", "Insufficient memory"} {
		if share[reason] < 0.01 {
			t.Errorf("%q is the outcome for %.1f %% of the nodes, want at least 1 %%", reason, 100*share[reason])
		}
	}
}
