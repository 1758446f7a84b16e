// Package tainttoleration rejects nodes with NoSchedule and NoExecute taints that the pod does
// not tolerate, and prefers nodes with few untolerated PreferNoSchedule taints.
// Nodes with equal taints share a taint set in the snapshot, and a set is evaluated once per
// call, however many nodes have it.
package tainttoleration

import (
	"errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/hostplugins/internal/taints"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "TaintToleration"

// ReasonUntolerated is kube-scheduler's reason for a node with an untolerated taint.
const ReasonUntolerated = "node(s) had untolerated taint(s)"

// Sizes of buffers on the stack; larger ones are allocated.
const (
	fewTolerations = 16
	fewSets        = 256
)

// Config configures the plugin.
type Config struct {
	// Compare has the operators Lt and Gt of tolerations compare numbers, as kube-scheduler does with the gate
	// TaintTolerationComparisonOperators (KEP-5471). Otherwise they tolerate nothing.
	Compare bool
}

// TaintToleration is the plugin.
type TaintToleration struct {
	info        plugin.Info
	compare     bool
	untolerated []string
}

var (
	_ plugin.PreFilter = (*TaintToleration)(nil)
	_ plugin.Filter    = (*TaintToleration)(nil)
	_ plugin.PreScore  = (*TaintToleration)(nil)
	_ plugin.Score     = (*TaintToleration)(nil)
	_ plugin.Scaler    = (*TaintToleration)(nil)
)

// New returns the plugin.
func New(c Config) *TaintToleration {
	p := &TaintToleration{compare: c.Compare, untolerated: []string{ReasonUntolerated}}
	p.info = plugin.Info{
		Name:       Name,
		Reads:      plugin.Whole(abi.NodeTaints, abi.PodTolerations),
		NodeScoped: []abi.Point{abi.Filter, abi.Score},
		Events: []plugin.Event{
			{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodeTaint}, Hint: p.afterNodeChange},
			{ClusterEvent: state.ClusterEvent{Resource: state.TargetPodResource, Action: state.UpdatePodToleration}, Hint: afterTolerationChange},
		},
	}
	return p
}

// Info describes the plugin.
func (p *TaintToleration) Info() *plugin.Info { return &p.info }

// PreFilter has nothing to do. kube-scheduler's plugin has this point, so configuration files may name it there.
func (p *TaintToleration) PreFilter(*plugin.Cycle) ([]uint32, *plugin.Status) { return nil, nil }

// Filter rejects nodes with an untolerated NoSchedule or NoExecute taint.
func (p *TaintToleration) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	const untolerated = 1
	t := &c.Snapshot.Nodes
	if len(t.TaintSets) == 1 {
		return // the empty set only
	}
	var tolerationBuf [fewTolerations]taints.Toleration
	tolerations := taints.Resolve(tolerationBuf[:0], c.Pod.Tolerations, c.Snapshot.Strings, p.compare)
	var verdictBuf [fewSets]int8
	verdicts := perSet(verdictBuf[:], len(t.TaintSets))

	var reason uint16
	for i, row := range rows {
		set := t.TaintSet[row]
		if verdicts[set] == unknown {
			verdicts[set] = 0
			if taints.Untolerated(t.TaintSets[set], tolerations, wire.NoSchedule, wire.NoExecute) > 0 {
				verdicts[set] = untolerated
			}
		}
		if verdicts[set] != untolerated {
			continue
		}
		if reason == 0 {
			reason = out.Reason(p.untolerated...)
		}
		out.Reject(i, abi.UnschedulableAndUnresolvable, reason)
	}
}

// unknown marks a set that has not been evaluated in this call.
const unknown = -1

// perSet returns a slice with one element per set, all unknown.
func perSet[T int8 | int64](buf []T, sets int) []T {
	if sets > len(buf) {
		buf = make([]T, sets)
	}
	buf = buf[:sets]
	for i := range buf {
		buf[i] = unknown
	}
	return buf
}

// preferences holds the tolerations that can match a PreferNoSchedule taint.
type preferences []taints.Toleration

// Clone returns the value itself: it does not change after PreScore.
func (p preferences) Clone() state.Value { return p }

const preScoreKey = "PreScore"

// PreScore resolves the pod's tolerations.
func (p *TaintToleration) PreScore(c *plugin.Cycle, _ []uint32) *plugin.Status {
	c.State.Write(Name, preScoreKey, p.resolve(c))
	return nil
}

func (p *TaintToleration) resolve(c *plugin.Cycle) preferences {
	return taints.Resolve(nil, c.Pod.Tolerations, c.Snapshot.Strings, p.compare)
}

// Score counts the PreferNoSchedule taints that the pod does not tolerate: lower is better
// until Normalize inverts the order.
func (p *TaintToleration) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	t := &c.Snapshot.Nodes
	if len(t.TaintSets) == 1 {
		return nil
	}
	tolerations, ok := c.State.Read(Name, preScoreKey).(preferences)
	if !ok {
		tolerations = p.resolve(c)
	}
	var buf [fewSets]int64
	counts := perSet(buf[:], len(t.TaintSets))
	for i, row := range rows {
		set := t.TaintSet[row]
		if counts[set] == unknown {
			counts[set] = taints.Untolerated(t.TaintSets[set], tolerations, wire.PreferNoSchedule)
		}
		out[i] = counts[set]
	}
	return nil
}

// Normalize gives nodes without such taints 100 and those with the most 0.
func (p *TaintToleration) Normalize(_ *plugin.Cycle, _ []uint32, scores []int64) *plugin.Status {
	plugin.NormalizeMax(scores, true)
	return nil
}

// Scaling implements plugin.Scaler.
func (p *TaintToleration) Scaling() (plugin.Scaling, bool) { return plugin.Reversed, true }

// afterNodeChange queues the pod when a node that it tolerates was added, or when a node lost
// the taints that the pod did not tolerate.
func (p *TaintToleration) afterNodeChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewNode == nil {
		return state.Queue, errors.New("the event of an added or updated node has no node")
	}
	was := object.OldNode == nil || taints.Repels(object.OldNode.Object.Spec.Taints, pod.Tolerations, p.compare)
	if was && !taints.Repels(object.NewNode.Object.Spec.Taints, pod.Tolerations, p.compare) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterTolerationChange queues the pod when its own tolerations grew.
func afterTolerationChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewPod == nil {
		return state.Queue, errors.New("the event of an updated pod has no pod")
	}
	if object.NewPod.UID == pod.UID {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}
