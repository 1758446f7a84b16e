// Package nodeports keeps two pods from using the same host port of a node. Ports of different
// protocols do not conflict; the address 0.0.0.0 conflicts with every address.
package nodeports

import (
	"errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "NodePorts"

// ReasonTaken is kube-scheduler's reason for a port in use.
const ReasonTaken = "node(s) didn't have free ports for the requested pod ports"

// fewPorts is the number of ports for which a call needs no heap allocation.
const fewPorts = 16

// NodePorts is the plugin.
type NodePorts struct {
	info  plugin.Info
	taken []string
}

var (
	_ plugin.PreFilter = (*NodePorts)(nil)
	_ plugin.Filter    = (*NodePorts)(nil)
)

// New returns the plugin.
func New() *NodePorts {
	return &NodePorts{
		taken: []string{ReasonTaken},
		info: plugin.Info{
			Name:       Name,
			Reads:      plugin.Whole(abi.NodePorts, abi.PodHostPorts),
			NodeScoped: []abi.Point{abi.Filter},
			Enforces:   state.FeatureHostPorts,
			Events: []plugin.Event{
				{ClusterEvent: state.ClusterEvent{Resource: state.AssignedPodResource, Action: state.Delete}, Hint: afterPodDelete},
				{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add}},
			},
		},
	}
}

// Info describes the plugin.
func (n *NodePorts) Info() *plugin.Info { return &n.info }

// PreFilter skips pods without host ports.
func (n *NodePorts) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if len(c.Pod.HostPorts) == 0 {
		return nil, plugin.NewStatus(abi.Skip)
	}
	return nil, nil
}

// wanted is a port that the pod requests.
type wanted struct {
	wire.Port
	any bool // on every address
}

// Filter rejects nodes on which a wanted port is in use.
// Addresses are looked up in every call: a pod added to an overlay row can have an address that
// the snapshot did not contain when the cycle began.
func (n *NodePorts) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	var buf [fewPorts]wanted
	want := buf[:0]
	for _, p := range c.Pod.HostPorts {
		port := wire.Port{IP: c.Snapshot.Strings.Lookup(p.IP), Port: p.Port, Protocol: p.Protocol}
		want = append(want, wanted{Port: port, any: p.IP == state.AnyIP})
	}
	if len(want) == 0 {
		return
	}
	anyIP := c.Snapshot.Strings.Lookup(state.AnyIP)
	ports := &c.Snapshot.Nodes.Ports
	var reason uint16
	for i, row := range rows {
		if ports.Spans[row].Len == 0 || !clashes(want, ports.Row(row), anyIP) {
			continue
		}
		if reason == 0 {
			reason = out.Reason(n.taken...)
		}
		out.Reject(i, abi.Unschedulable, reason)
	}
}

func clashes(want []wanted, used []wire.Port, anyIP uint32) bool {
	for _, u := range used {
		for i := range want {
			w := &want[i]
			if u.Port == w.Port.Port && u.Protocol == w.Protocol && (w.any || u.IP == w.IP || u.IP == anyIP) {
				return true
			}
		}
	}
	return false
}

// afterPodDelete queues the pod when a pod with a conflicting port was removed from a node, or
// lost its nomination.
func afterPodDelete(pod *state.Pod, object state.Object) (state.Hint, error) {
	gone := object.OldPod
	if gone == nil {
		return state.Queue, errors.New("the event of a deleted pod has no pod")
	}
	if gone.NodeName() == "" && gone.NominatedNode() == "" {
		return state.QueueSkip, nil
	}
	for _, a := range pod.HostPorts {
		for _, b := range gone.HostPorts {
			if a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || a.IP == state.AnyIP || b.IP == state.AnyIP) {
				return state.Queue, nil
			}
		}
	}
	return state.QueueSkip, nil
}
