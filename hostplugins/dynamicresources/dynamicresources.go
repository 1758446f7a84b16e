// Package dynamicresources is a part of kube-scheduler's DynamicResources (KEP-4381):
// what it says of pods without resource claims that fit nowhere. With the default profile
// these words end the message of nearly every such pod, and autoscalers, alerts and
// people read that. Claims are not looked at: nothing here enforces them, so pods that
// have any stay pending with that reason.
package dynamicresources

import (
	"errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "DynamicResources"

// DynamicResources is the plugin.
type DynamicResources struct{ info plugin.Info }

var (
	_ plugin.PreFilter  = (*DynamicResources)(nil)
	_ plugin.PostFilter = (*DynamicResources)(nil)
)

// New returns the plugin.
func New() *DynamicResources { return &DynamicResources{info: plugin.Info{Name: Name}} }

// Info describes the plugin.
func (d *DynamicResources) Info() *plugin.Info { return &d.info }

// key is of what PreFilter keeps for PostFilter.
const key = "seen"

// seen says that PreFilter has looked at the pod.
type seen struct{}

func (seen) Clone() state.Value { return seen{} }

// PreFilter has nothing to do for a pod without claims.
func (d *DynamicResources) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	c.State.Write(Name, key, seen{})
	return nil, plugin.NewStatus(abi.Skip)
}

// errNotSeen is what kube-scheduler's plugin finds where it keeps its state, when a
// plugin before it has ended PreFilter (k8s.io/kube-scheduler/framework, ErrNotFound). It
// fails with it, and so ends PostFilter: nothing is preempted then.
var errNotSeen = errors.New("not found")

// PostFilter knows of no claim that could be given up for the pod.
func (d *DynamicResources) PostFilter(c *plugin.Cycle, _ *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	if c.State.Read(Name, key) == nil {
		return plugin.PostFilterResult{}, plugin.Fail(errNotSeen)
	}
	return plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable, "no new claims to deallocate")
}
