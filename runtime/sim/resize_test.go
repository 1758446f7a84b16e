package sim_test

import (
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// TestResizeFails: a pod on a node whose attempts for a resize in place fail is set aside like any other, keeps its place, and is tried
// again once the cluster has changed. With Attempts it is tried so often at most.
func TestResizeFails(t *testing.T) {
	grows := pod("grows", 3)
	grows.Spec.NodeName = "a"
	grows.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}}
	for most, want := range map[int]int{0: 20, 3: 3} {
		config := with("filter", &custom{
			info:   plugin.Info{Resizes: true, TriesResizes: true},
			filter: func(*plugin.Cycle, uint32) *plugin.Status { return plugin.Fail(errors.New("broken")) },
		})
		points := config.Scheduler.Profiles[0].Points
		points["permit"] = append(points["permit"], points["filter"][len(points["filter"])-1])
		r := mustRun(t, sim.Config{
			Assembly: config, Attempts: most, Nodes: []*v1.Node{node("a", 4)}, Bound: bound(grows),
			Arrivals: []input.Arrival{{Pod: gated(pod("later", 1)), At: 24 * time.Hour}},
			Explain:  types.NamespacedName{Namespace: "ns", Name: "grows"},
		})
		e := r.Explanation
		if e == nil || !e.Resize || e.FailedTries != want || e.Node != "a" || e.Attempt == nil {
			t.Errorf("at most %d: explained as %+v, want %d attempts", most, e, want)
		}
		if len(r.Resizes) != 1 || r.Resizes[0].Message == "" || r.Usage[0].Requested != 3000 {
			t.Errorf("at most %d: %+v, %+v", most, r.Resizes, r.Usage[0])
		}
	}
}
