// Package volumebinding restricts a pod to nodes from which its volumes can be reached, or
// where they can be provided. Bound claims require nodes from which their volumes can be
// reached. Claims that wait for their first consumer get a free volume, or one to be
// provisioned (checked against storage capacities, KEP-1472), when the pod's node is chosen:
// reserved at Reserve, written to the API and awaited at PreBind.
package volumebinding

import (
	"fmt"
	"time"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/shape"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "VolumeBinding"

// kube-scheduler's reasons.
const (
	ReasonNode      = "node(s) didn't match PersistentVolume's node affinity"
	ReasonBind      = "node(s) didn't find available persistent volumes to bind"
	ReasonSpace     = "node(s) did not have enough free storage"
	ReasonNoVolume  = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
	ReasonImmediate = "pod has unbound immediate PersistentVolumeClaims"
)

// DefaultBindTimeout is how long PreBind waits by default.
const DefaultBindTimeout = 600 * time.Second

// Deps is what the plugin depends on.
type Deps struct {
	Storage objects.Storage
	// Ledger is shared by the plugins of all profiles.
	Ledger *Ledger
	Writer objects.VolumeWriter
	Waiter objects.StorageWaiter
	Exists objects.Existence
	// OnlyShaped means that without a shape nodes have no scores, as before v1.37 of Kubernetes.
	OnlyShaped bool
}

// VolumeBinding is the plugin. Its points up to Reserve, and Unreserve, must be called on the
// scheduler's loop.
type VolumeBinding struct {
	info    plugin.Info
	deps    Deps
	timeout time.Duration
	shape   shape.Shape // nil for no scores
}

var (
	_ plugin.PreFilter = (*VolumeBinding)(nil)
	_ plugin.Filter    = (*VolumeBinding)(nil)
	_ plugin.PreScore  = (*VolumeBinding)(nil)
	_ plugin.Score     = (*VolumeBinding)(nil)
	_ plugin.Reserve   = (*VolumeBinding)(nil)
	_ plugin.PreBind   = (*VolumeBinding)(nil)
	_ plugin.Carrier   = (*VolumeBinding)(nil)
)

// New returns the plugin. args may be nil. Without a shape, nodes score the higher the less of their
// storage would be used (KEP-4049).
func New(args *configv1.VolumeBindingArgs, deps Deps) (*VolumeBinding, error) {
	b := &VolumeBinding{deps: deps, timeout: DefaultBindTimeout}
	b.info = plugin.Info{
		Name:     Name,
		Reads:    plugin.Whole(abi.NodeName, abi.NodeLabels, abi.PodVolumes),
		Enforces: state.FeatureVolumeClaims,
		Events:   b.events(),
	}
	if args == nil {
		args = &configv1.VolumeBindingArgs{}
	}
	if args.BindTimeoutSeconds != nil {
		if *args.BindTimeoutSeconds < 0 {
			return nil, fmt.Errorf("bindTimeoutSeconds is %d, which is negative", *args.BindTimeoutSeconds)
		}
		b.timeout = time.Duration(*args.BindTimeoutSeconds) * time.Second
	}
	points := args.Shape
	if len(points) == 0 && deps.OnlyShaped {
		return b, nil
	}
	if len(points) == 0 {
		points = []configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}}
	}
	var err error
	b.shape, err = shape.New(points)
	return b, err
}

// Info describes the plugin.
func (b *VolumeBinding) Info() *plugin.Info { return &b.info }
