package whatif_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestAskPod: a pending pod is asked about as it is in the cluster. The place that it is nominated to is its own, that
// of another pod is not.
func TestAskPod(t *testing.T) {
	nominated := func(p *v1.Pod) { p.Status.NominatedNodeName = "b" }
	for _, c := range []struct {
		name   string
		pod    *v1.Pod
		others []*v1.Pod
		want   whatif.Pod
		change *report.Change
	}{
		{"fits", pod("p", "4", 0), nil, whatif.Pod{Code: whatif.Fits, Node: "b"}, nil},
		{"its own place", pod("p", "4", 9, nominated), []*v1.Pod{pod("p", "4", 9, nominated)}, whatif.Pod{Code: whatif.Fits, Node: "b"}, nil},
		{"the place of another", pod("p", "4", 0), []*v1.Pod{pod("first", "3", 9, nominated)}, whatif.Pod{Code: whatif.DoesNotFit},
			&report.Change{Kind: report.LowerRequest, Node: "b", Request: &report.Request{Container: "c", Resource: "cpu", From: "4", To: "1"}}},
		{"too large", pod("p", "5", 0), nil, whatif.Pod{Code: whatif.DoesNotFit},
			&report.Change{Kind: report.LowerRequest, Node: "b", Request: &report.Request{Container: "c", Resource: "cpu", From: "5", To: "4"}}},
		{"no change helps", pod("p", "5", 0, func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} }), nil, whatif.Pod{Code: whatif.DoesNotFit}, nil},
		{"gated", pod("p", "1", 0, func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}} }), nil, whatif.Pod{Code: whatif.Gated}, nil},
	} {
		cluster := full()
		cluster.Nominated = c.others
		got, e, err := cluster.AskPod(t.Context(), c.pod)
		var change *report.Change
		if e != nil {
			change = e.Change
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.Code != c.want.Code || got.Node != c.want.Node || got.Namespace != "ns" || got.Name != "p" {
			t.Errorf("%s: %+v", c.name, got)
		}
		switch {
		case (change == nil) != (c.change == nil):
			t.Errorf("%s: %+v", c.name, change)
		case change != nil && (change.Kind != c.change.Kind || change.Node != c.change.Node || *change.Request != *c.change.Request):
			t.Errorf("%s: %+v %+v", c.name, change, change.Request)
		}
		if len(cluster.Nominated) != len(c.others) || c.pod.UID != "p" {
			t.Errorf("%s: the cluster or the pod was changed", c.name)
		}
	}
}
