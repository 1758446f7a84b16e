// Package dynamicresources is a part of kube-scheduler's DynamicResources (KEP-4381): the
// reason it reports for unschedulable pods without resource claims. With the default profile
// the messages of nearly all such pods end with this reason, and autoscalers, alerts and people
// read them. Claims are not supported: no plugin enforces them here, so pods with claims stay
// pending with that reason.
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

// key is the key of what PreFilter stores for PostFilter.
const key = "seen"

// seen records that PreFilter ran for the pod.
type seen struct{}

func (seen) Clone() state.Value { return seen{} }

// PreFilter has nothing to do for a pod without claims.
func (d *DynamicResources) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	c.State.Write(Name, key, seen{})
	return nil, plugin.NewStatus(abi.Skip)
}

// errNotSeen is the error that kube-scheduler's plugin gets when it reads its state after an
// earlier plugin has ended PreFilter (k8s.io/kube-scheduler/framework, ErrNotFound). The plugin
// fails with it, which ends PostFilter, so that nothing is preempted.
var errNotSeen = errors.New("not found")

// PostFilter never finds a claim to deallocate for the pod.
func (d *DynamicResources) PostFilter(c *plugin.Cycle, _ *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	if c.State.Read(Name, key) == nil {
		return plugin.PostFilterResult{}, plugin.Fail(errNotSeen)
	}
	return plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable, "no new claims to deallocate")
}
