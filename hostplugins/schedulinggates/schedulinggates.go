// Package schedulinggates keeps a pod out of the scheduling queue while its
// spec.schedulingGates has entries (KEP-3521).
package schedulinggates

import (
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "SchedulingGates"

// SchedulingGates is the plugin.
type SchedulingGates struct{ info plugin.Info }

var _ plugin.PreEnqueue = (*SchedulingGates)(nil)

// New returns the plugin.
func New() *SchedulingGates {
	return &SchedulingGates{info: plugin.Info{
		Name:     Name,
		Reads:    plugin.Whole(abi.PodSchedulingGates),
		Enforces: state.FeatureSchedulingGates,
		Events: []plugin.Event{{
			ClusterEvent: state.ClusterEvent{Resource: state.TargetPodResource, Action: state.UpdatePodSchedulingGatesEliminated},
			Hint:         afterGatesEliminated,
		}},
	}}
}

// Info describes the plugin.
func (s *SchedulingGates) Info() *plugin.Info { return &s.info }

// PreEnqueue rejects pods that have gates, and names the gates in the order of
// the spec.
func (s *SchedulingGates) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i, pod := range pods {
		out[i] = nil
		gates := pod.Object.Spec.SchedulingGates
		if len(gates) == 0 {
			continue
		}
		names := make([]string, len(gates))
		for j := range gates {
			names[j] = gates[j].Name
		}
		out[i] = plugin.NewStatus(abi.UnschedulableAndUnresolvable, fmt.Sprintf("waiting for scheduling gates: %v", names))
	}
}

// afterGatesEliminated queues the pod when its own last gate was removed.
func afterGatesEliminated(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewPod == nil {
		return state.Queue, errors.New("the event of an updated pod has no pod")
	}
	if object.NewPod.UID != pod.UID {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}
