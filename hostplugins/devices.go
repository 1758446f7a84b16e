package hostplugins

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/hostplugins/dynamicresources"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Devices is the resource claims, resource slices and device classes of the cluster, and the means to
// allocate claims.
type Devices struct {
	objects objects.Devices
	// ledger outlives the plugins that are made: claims may be in flight while a configuration is
	// reloaded.
	ledger *dynamicresources.Ledger
	writer objects.ClaimWriter
	waiter objects.StorageWaiter
}

// NewDevices returns the devices of a cluster.
func NewDevices(all objects.Devices, writer objects.ClaimWriter, waiter objects.StorageWaiter) Devices {
	return Devices{objects: all, ledger: dynamicresources.NewLedger(all), writer: writer, waiter: waiter}
}

// Fractional returns the devices, before anything is allocated, with valid ranges of capacities that may have fractions.
func (d Devices) Fractional() Devices {
	if d.ledger != nil {
		d.ledger = dynamicresources.NewFractionalLedger(d.objects)
	}
	return d
}

// orEmpty replaces the zero value by the devices of a cluster without any.
func (d Devices) orEmpty() Devices {
	if d.ledger != nil {
		return d
	}
	return NewDevices(storage.New().Devices(), noClaims{}, none{})
}

// dynamicResources returns a factory of plugins that share a ledger.
func (d Devices) dynamicResources(deps *Deps) plugin.Factory {
	inner := dynamicresources.Deps{
		Devices: d.objects, Ledger: d.ledger, Writer: d.writer, Waiter: d.waiter,
		Search: deps.Search, Now: deps.Now, Wall: deps.Wall, Explains: deps.before37(),
	}
	if inner.Search == nil {
		inner.Search = unbounded{}
	}
	if inner.Now == nil {
		inner.Now, inner.Wall = time.Now, time.Now //nolint:forbidigo // an embedder that has no clock uses the machine's
	}
	return func(args any) (plugin.Plugin, error) {
		return withArgs(args, func(args *configv1.DynamicResourcesArgs) (*dynamicresources.DynamicResources, error) {
			return dynamicresources.New(args, inner)
		})
	}
}

// unbounded searches as long as it takes.
type unbounded struct{}

// Within implements objects.Search.
func (unbounded) Within(ctx context.Context, _ string, _ time.Duration, search func(ctx context.Context) error) error {
	return search(ctx)
}

// noClaims implements what is never called in an empty cluster.
type noClaims struct{}

func (noClaims) fail() error {
	return errors.New("BUG: a cluster without resource claims was asked to write one")
}

func (n noClaims) Read(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return nil, n.fail()
}

func (n noClaims) Update(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return nil, n.fail()
}

func (n noClaims) UpdateStatus(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return nil, n.fail()
}

func (n noClaims) Create(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return nil, n.fail()
}

func (n noClaims) Tell(context.Context, *state.Pod, *v1.PodExtendedResourceClaimStatus) error {
	return n.fail()
}

func (noClaims) Delete(*resourcev1.ResourceClaim) <-chan struct{} { return nil }

func (noClaims) Release(*resourcev1.ResourceClaim, types.UID) {}

func (noClaims) Deallocate(*resourcev1.ResourceClaim, types.UID) {}

func (noClaims) Waiting(*state.Pod, string) func(string, []*resourcev1.ResourceClaim) {
	return func(string, []*resourcev1.ResourceClaim) {}
}
