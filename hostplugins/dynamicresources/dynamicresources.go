// Package dynamicresources allocates devices for pods with resource claims (KEP-4381), as
// kube-scheduler's DynamicResources does: spec.resourceClaims of a pod and the claims that it names
// or that were made from its templates. The published library decides which devices a claim gets;
// this package decides for which claims and nodes it is asked, keeps what is allocated up to date,
// and writes the result.
//
// Which devices are allocated is state of the scheduler's loop: what the API says, and the
// allocations of pods that are being bound. See Ledger.
package dynamicresources

import (
	"fmt"
	"time"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "DynamicResources"

// How long a search for devices on one node may take, and how long PreBind waits for devices to be
// ready, by default.
const (
	DefaultFilterTimeout  = configv1.DynamicResourcesFilterTimeoutDefault
	DefaultBindingTimeout = configv1.DynamicResourcesBindingTimeoutDefault
)

// extendedTimeout is how long PreBind waits for the watch to tell of a claim that it created.
const extendedTimeout = 2 * time.Minute

// Deps is what the plugin depends on.
type Deps struct {
	Devices objects.Devices
	// Ledger is shared by the plugins of all profiles.
	Ledger *Ledger
	Writer objects.ClaimWriter
	Waiter objects.StorageWaiter
	// Search bounds the searches for devices.
	Search objects.Search
	// Now returns the time that the loop sees, and Wall the time beside the loop.
	Now, Wall func() time.Time
	// Explains makes PostFilter say why it did nothing, as before v1.37 of Kubernetes.
	Explains bool
}

// DynamicResources is the plugin. Its points up to Reserve, and Unreserve, must be called on the
// scheduler's loop.
type DynamicResources struct {
	info          plugin.Info
	deps          Deps
	filterTimeout time.Duration // 0 for none
	bindTimeout   time.Duration
}

var (
	_ plugin.PreEnqueue  = (*DynamicResources)(nil)
	_ plugin.PreFilter   = (*DynamicResources)(nil)
	_ plugin.Filter      = (*DynamicResources)(nil)
	_ plugin.Detailer    = (*DynamicResources)(nil)
	_ plugin.PostFilter  = (*DynamicResources)(nil)
	_ plugin.Score       = (*DynamicResources)(nil)
	_ plugin.Indifferent = (*DynamicResources)(nil)
	_ plugin.Scaler      = (*DynamicResources)(nil)
	_ plugin.Reserve     = (*DynamicResources)(nil)
	_ plugin.PreBind     = (*DynamicResources)(nil)
	_ plugin.Carrier     = (*DynamicResources)(nil)
)

// New returns the plugin. args may be nil.
func New(args *configv1.DynamicResourcesArgs, deps Deps) (*DynamicResources, error) {
	d := &DynamicResources{deps: deps, filterTimeout: DefaultFilterTimeout, bindTimeout: DefaultBindingTimeout}
	d.info = plugin.Info{
		Name:     Name,
		Reads:    plugin.Whole(abi.NodeName, abi.NodeLabels, abi.PodWhole),
		Enforces: state.FeatureResourceClaims,
		Events:   d.events(),
	}
	if args == nil {
		return d, nil
	}
	if args.FilterTimeout != nil {
		if d.filterTimeout = args.FilterTimeout.Duration; d.filterTimeout < 0 {
			return nil, fmt.Errorf("filterTimeout is %v, which is negative", d.filterTimeout)
		}
	}
	if args.BindingTimeout != nil {
		if d.bindTimeout = args.BindingTimeout.Duration; d.bindTimeout < time.Second {
			return nil, fmt.Errorf("bindingTimeout is %v, which is less than a second", d.bindTimeout)
		}
	}
	return d, nil
}

// Info describes the plugin.
func (d *DynamicResources) Info() *plugin.Info { return &d.info }
