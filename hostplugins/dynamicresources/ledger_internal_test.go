package dynamicresources

import (
	"regexp"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
)

func allocated(name string, devices ...string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for _, d := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{Driver: "d", Pool: "p", Device: d})
	}
	return c
}

func free(name string) *resourcev1.ResourceClaim {
	c := allocated(name)
	c.Status = resourcev1.ResourceClaimStatus{}
	return c
}

// TestLedger: a device is taken from Reserve on, is not counted twice when the API shows its claim as
// allocated, and is free when the last claim that has it gave it up.
func TestLedger(t *testing.T) {
	store := storage.New()
	l := NewLedger(store.Devices())
	check := func(when string, want int) {
		t.Helper()
		l.update()
		if len(l.state.AllocatedDevices) != want {
			t.Errorf("%s: allocated are %v, want %d", when, l.state.AllocatedDevices, want)
		}
	}
	store.Set(free("a"))
	check("at first", 0)
	a := l.start(allocated("a", "1", "2"))
	if again := l.start(allocated("a", "3")); again != nil {
		t.Error("the same claim is in flight twice")
	}
	check("in flight", 2)
	if !l.inFlight("uid-a") {
		t.Error("the claim is not in flight")
	}
	store.Set(allocated("a", "1", "2"))
	check("written", 2)
	if l.inFlight("uid-a") {
		t.Error("a written claim is in flight")
	}
	l.land(a)
	check("landed again", 2)
	store.Set(allocated("b", "2"))
	store.Set(free("a"))
	check("one of two gave a device up", 1)
	store.Delete(allocated("b", "2"))
	check("both gave it up", 0)

	c := l.start(allocated("c", "5"))
	for range 20000 { // more changes than are kept
		store.Set(free("d"))
	}
	store.Set(allocated("e", "6"))
	check("after too many changes", 2)
	l.land(c)
	check("not written", 1)

	admin := allocated("f", "7")
	admin.Status.Allocation.Devices.Results[0].AdminAccess = ptr.To(true)
	store.Set(admin)
	check("an administrator's device", 1)
}

// TestFlights: a flight ends with its own allocation only, and with nothing that concerns another claim or pod.
func TestFlights(t *testing.T) {
	store := storage.New()
	l := NewLedger(store.Devices())
	check := func(when string, want ...string) {
		t.Helper()
		l.update()
		ids := sets.New[structured.DeviceID]()
		for _, name := range want {
			ids.Insert(structured.MakeDeviceID("d", "p", name))
		}
		if !l.state.AllocatedDevices.Equal(ids) {
			t.Errorf("%s: allocated are %v, want %v", when, l.state.AllocatedDevices, want)
		}
	}
	store.Set(free("a"))
	first := l.start(allocated("a", "1"))
	store.Set(allocated("a", "2"))
	check("somebody else allocated the claim", "1", "2")
	store.Set(free("a"))
	check("it is free again, and could be written", "1")
	store.Set(allocated("a", "1"))
	check("it is written", "1")
	store.Set(free("a"))
	check("somebody gave it up")
	second := l.start(allocated("a", "3"))
	l.land(first)
	check("the first pod's binding has ended", "3")
	l.land(second)
	check("the second pod's, too")

	special := func(name string, uid types.UID) *resourcev1.ResourceClaim {
		c := allocated(name, "1")
		c.UID, c.Annotations = uid, map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
		c.OwnerReferences = []metav1.OwnerReference{{UID: "pod", Controller: ptr.To(true)}}
		return c
	}
	now := l.start(special("now", flightOf("pod")))
	store.Set(special("before", "x"))
	check("an earlier try's claim is seen", "1")
	store.Delete(special("before", "x"))
	check("it is gone", "1")
	store.Set(special("now", "y"))
	check("its claim is seen", "1")
	store.Delete(special("now", "y"))
	check("it is deleted")
	l.land(now)
	check("its pod's binding has ended")
}

// TestShares: capacity that claims share adds up, and is given back.
func TestShares(t *testing.T) {
	store := storage.New()
	l := NewLedger(store.Devices())
	share := func(name string, amount int64) *resourcev1.ResourceClaim {
		c := allocated(name, "1")
		r := &c.Status.Allocation.Devices.Results[0]
		r.ShareID = ptr.To(types.UID("share-" + name))
		r.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"m": *resource.NewQuantity(amount, resource.DecimalSI)}
		return c
	}
	used := func() int64 {
		l.update()
		q := l.state.AggregatedCapacity[structured.MakeDeviceID("d", "p", "1")]["m"]
		if q == nil {
			return 0
		}
		return q.Value()
	}
	store.Set(share("a", 3))
	l.start(share("b", 4))
	if got := used(); got != 7 {
		t.Errorf("used are %d, want 7", got)
	}
	store.Set(share("b", 4))
	if got := used(); got != 7 {
		t.Errorf("when it is written, used are %d, want 7", got)
	}
	store.Set(free("a"))
	if got := used(); got != 4 || len(l.state.AllocatedSharedDeviceIDs) != 1 || len(l.state.AllocatedDevices) != 0 {
		t.Errorf("used are %d by %v, want 4 by one", got, l.state.AllocatedSharedDeviceIDs)
	}
}

// TestShareIDs: identifiers of shares follow from the seed, differ, and are valid.
func TestShareIDs(t *testing.T) {
	ids := func(seed uint64) (out []types.UID) {
		c := podClaim{object: free("a"), allocation: allocated("a", "1", "2").Status.Allocation}
		for i := range c.allocation.Devices.Results {
			c.allocation.Devices.Results[i].ShareID = ptr.To(types.UID("random"))
		}
		shareIDs(&c, seed)
		for i := range c.allocation.Devices.Results {
			out = append(out, *c.allocation.Devices.Results[i].ShareID)
		}
		return out
	}
	a, b, c := ids(1), ids(1), ids(2)
	if a[0] != b[0] || a[0] == a[1] || a[0] == c[0] {
		t.Errorf("got %v, %v, %v", a, b, c)
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for _, id := range append(a, c...) {
		if !uuid.MatchString(string(id)) {
			t.Errorf("%s is no random UUID", id)
		}
	}
}
