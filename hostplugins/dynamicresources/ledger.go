package dynamicresources

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// features are the feature gates that are on by default in kube-scheduler v1.37. An empty set would make the
// library take another allocator, which knows no partitions.
func features() structured.Features {
	return structured.Features{
		AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true,
		DeviceBindingAndStatus: true, ConsumableCapacity: true,
	}
}

// compiledExpressions is how many compiled CEL expressions are kept.
const compiledExpressions = 256

// Ledger is what is allocated, for the plugins of all profiles: the devices of the claims that are
// allocated in the API, and those of claims in flight. A claim is in flight from Reserve until the
// API's version of it has that allocation, or until its pod is no longer being bound. Another pod
// that uses a claim in flight waits. It must be used on the scheduler's loop.
type Ledger struct {
	devices    objects.Devices
	features   structured.Features
	generation uint64 // of the changes of devices

	// state is read by allocators, which never change it.
	state structured.AllocatedState
	// held and shares have how many claims have a device for themselves, and share it.
	held, shares map[structured.DeviceID]int
	// counted are the allocated claims of the API, as they are counted in state.
	counted map[key]*resourcev1.ResourceClaim
	flights map[types.UID]*resourcev1.ResourceClaim // with their allocation

	// provided are the classes of extended resources; nil after a change that is not seen yet.
	provided map[v1.ResourceName]*resourcev1.DeviceClass
	counters map[string]*counter // by class, of devices; forgotten when slices or classes change
	// special are the claims of the API that were made for extended resources, by pod, and pods the
	// pods by claim.
	special map[types.UID][]key
	pods    map[key]types.UID

	// verdicts are kept by the specs of claims, and views by what these see; contents is what nodes have, and
	// sliced is true if slices changed since.
	verdicts map[string]*verdicts
	views    map[string]*view
	contents *contents
	sliced   bool
	specs    []byte // of a search
	work     Work

	answers *answers // made for the first use, because the compiler is expensive
	// allocator searches nodes whose own pools have no counters; nil after a change that it does not see. shared is true
	// if it remembers which counters are left, of pools that several nodes share.
	allocator structured.Allocator
	shared    bool
}

// Work is what was done for pods.
type Work struct {
	// Searched are the nodes whose devices were searched, and Kept those for which the answer was known.
	Searched, Kept int
	// Programs are the CEL expressions that were run for devices, besides those that searches ran.
	Programs int
	// Wrong are the nodes that were chosen because of what was kept, and have no devices.
	Wrong int
}

// Work returns what was done so far.
func (l *Ledger) Work() Work {
	w := l.work
	if l.answers != nil {
		w.Programs = l.answers.programs
	}
	return w
}

// key identifies a claim.
type key struct{ namespace, name string }

// NewLedger returns the ledger of a cluster.
func NewLedger(devices objects.Devices) *Ledger { return newLedger(devices, features()) }

// NewFractionalLedger returns a ledger like NewLedger, which counts thousandths where a capacity's valid range has fractions. It is for
// kube-scheduler's gate DRAFractionalCapacityRange, which is on by default only with --min-compatibility-version=1.37.
func NewFractionalLedger(devices objects.Devices) *Ledger {
	f := features()
	f.FractionalCapacityRange = true
	return newLedger(devices, f)
}

func newLedger(devices objects.Devices, f structured.Features) *Ledger {
	l := &Ledger{
		devices: devices, features: f,
		flights: make(map[types.UID]*resourcev1.ResourceClaim), verdicts: make(map[string]*verdicts), views: make(map[string]*view),
	}
	l.reset()
	return l
}

// reset forgets all claims but those in flight.
func (l *Ledger) reset() {
	l.state = structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	l.held, l.shares = make(map[structured.DeviceID]int), make(map[structured.DeviceID]int)
	l.counted, l.allocator = make(map[key]*resourcev1.ResourceClaim), nil
	l.special, l.pods = make(map[types.UID][]key), make(map[key]types.UID)
	l.provided, l.counters, l.contents = nil, nil, nil
	for _, claim := range l.flights {
		l.count(claim, 1)
	}
}

// update applies the changes since the last call. It writes nothing if there are none.
func (l *Ledger) update() {
	changed, now, known := l.devices.Changes.Since(l.generation)
	if known && len(changed) == 0 && l.provided != nil {
		return
	}
	l.generation = now
	if !known {
		l.reset()
		for _, claim := range l.devices.Claims.ResourceClaims() {
			l.claimChanged(key{claim.Namespace, claim.Name})
		}
	}
	for _, change := range changed {
		switch change.Kind {
		case state.ResourceClaimResource:
			l.claimChanged(key{change.Namespace, change.Name})
		case state.ResourceSliceResource, state.DeviceTaintRuleResource:
			l.allocator, l.counters, l.sliced = nil, nil, true
		case state.DeviceClassResource:
			l.provided, l.counters = nil, nil
			clear(l.verdicts)
		}
	}
	if l.provided == nil {
		l.provided = provided(l.devices.Classes.DeviceClasses())
	}
}

func (l *Ledger) claimChanged(k key) {
	if was := l.counted[k]; was != nil {
		delete(l.counted, k)
		l.count(was, -1)
	}
	now := l.devices.Claims.ResourceClaim(k.namespace, k.name)
	l.index(k, now)
	if now == nil || now.Status.Allocation == nil {
		return
	}
	flight := l.flights[now.UID]
	if pod := madeFor(now); flight == nil && pod != nil {
		flight = l.flights[flightOf(pod.UID)]
	}
	// An allocation of somebody else does not keep the one in flight from being written, once that one is gone.
	if flight != nil && flight.Name == now.Name && equality.Semantic.DeepEqual(flight.Status.Allocation.Devices.Results, now.Status.Allocation.Devices.Results) {
		l.land(flight)
	}
	l.counted[k] = now
	l.count(now, 1)
}

// inFlight reports whether a claim is being allocated for a pod.
func (l *Ledger) inFlight(uid types.UID) bool { return l.flights[uid] != nil }

// start puts a claim in flight. It returns nil if it is already: a pod may name a claim twice.
func (l *Ledger) start(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	if l.flights[claim.UID] != nil {
		return nil
	}
	l.flights[claim.UID] = claim
	l.count(claim, 1)
	return claim
}

// land ends a flight, if it has not ended. The claim may be in flight again for another pod.
func (l *Ledger) land(flight *resourcev1.ResourceClaim) {
	if flight != nil && l.flights[flight.UID] == flight {
		delete(l.flights, flight.UID)
		l.count(flight, -1)
	}
}

// count adds the devices of an allocated claim to what is allocated, or removes them. Devices that
// the claim only administers stay free.
func (l *Ledger) count(claim *resourcev1.ResourceClaim, n int) {
	if l.shared {
		l.allocator = nil
	}
	for i := range claim.Status.Allocation.Devices.Results {
		r := &claim.Status.Allocation.Devices.Results[i]
		if ptr.Deref(r.AdminAccess, false) {
			continue
		}
		if l.contents != nil {
			l.contents.changed(poolID{r.Driver, r.Pool})
		}
		id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
		if r.ShareID == nil {
			if add(l.held, id, n) {
				l.state.AllocatedDevices.Insert(id)
			} else {
				l.state.AllocatedDevices.Delete(id)
			}
			continue
		}
		add(l.shares, id, n)
		if share := structured.MakeSharedDeviceID(id, r.ShareID); n > 0 {
			l.state.AllocatedSharedDeviceIDs.Insert(share)
		} else {
			l.state.AllocatedSharedDeviceIDs.Delete(share)
		}
		if r.ConsumedCapacity == nil {
			continue
		}
		if consumed := structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity); n > 0 {
			l.state.AggregatedCapacity.Insert(consumed)
		} else {
			l.state.AggregatedCapacity.Remove(consumed)
		}
	}
}

// add changes how many claims have a device, and reports whether there are any.
func add(claims map[structured.DeviceID]int, id structured.DeviceID, n int) bool {
	if claims[id] += n; claims[id] > 0 {
		return true
	}
	delete(claims, id)
	return false
}

// allocatorFor returns what searches the devices of a node, for what is allocated now. An allocator remembers what is
// left of counters. So that the one of all nodes outlives allocations, a node whose own pools have counters gets another.
func (l *Ledger) allocatorFor(ctx context.Context, node *v1.Node) (structured.Allocator, error) {
	if n := l.contents.of(node.Name); n.counters {
		return l.newAllocator(ctx, slices.Concat(n.slices, l.contents.wide))
	}
	if l.allocator != nil {
		return l.allocator, nil
	}
	var err error
	l.shared = slices.ContainsFunc(l.contents.wide, hasCounters)
	l.allocator, err = l.newAllocator(ctx, l.contents.plain)
	return l.allocator, err
}

func (l *Ledger) newAllocator(ctx context.Context, of []*resourcev1.ResourceSlice) (structured.Allocator, error) {
	return structured.NewAllocator(ctx, l.features, l.state, classes{l.devices.Classes}, of, l.compiled().cache)
}

func hasCounters(s *resourcev1.ResourceSlice) bool { return len(s.Spec.SharedCounters) > 0 }

// compiled returns what is kept about expressions.
func (l *Ledger) compiled() *answers {
	if l.answers == nil {
		l.answers = &answers{
			cache:       cel.NewCache(compiledExpressions, cel.Features{EnableConsumableCapacity: true}),
			expressions: make(map[string]*expression),
		}
	}
	return l.answers
}

// classes shows device classes to the library.
type classes struct{ objects.DeviceClasses }

var _ structured.DeviceClassLister = classes{}

// Get implements structured.DeviceClassLister.
func (c classes) Get(name string) (*resourcev1.DeviceClass, error) {
	if class := c.DeviceClass(name); class != nil {
		return class, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclass"), name)
}

// List implements structured.DeviceClassLister.
func (c classes) List() ([]*resourcev1.DeviceClass, error) {
	return c.DeviceClasses.DeviceClasses(), nil
}
