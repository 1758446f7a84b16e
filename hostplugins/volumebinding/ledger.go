package volumebinding

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/hostplugins/internal/topology"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Ledger is the volume data that the VolumeBinding plugins of all profiles share: the volumes
// that can be bound, by class and by where they can be reached from, and the changes assumed
// for pods that are being bound and not visible in the API yet. It must be used on the
// scheduler's loop.
type Ledger struct {
	storage    objects.Storage
	generation uint64 // of the changes of storage

	// Classes are read on first use.
	volumes    map[string]*classVolumes
	listed     map[string]*listed // the volumes in them, by name
	capacities map[string]*capacities
	left       map[claims.Key]*capacity // those in them

	promisedVolumes promises[string, *v1.PersistentVolume]
	promisedClaims  promises[claims.Key, *v1.PersistentVolumeClaim]
}

// NewLedger returns the ledger of a cluster.
func NewLedger(storage objects.Storage) *Ledger {
	l := &Ledger{
		storage:         storage,
		promisedVolumes: make(promises[string, *v1.PersistentVolume]),
		promisedClaims:  make(promises[claims.Key, *v1.PersistentVolumeClaim]),
	}
	l.reset()
	return l
}

func (l *Ledger) reset() {
	l.volumes, l.listed = make(map[string]*classVolumes), make(map[string]*listed)
	l.capacities, l.left = make(map[string]*capacities), make(map[claims.Key]*capacity)
}

// free is a volume that any claim can be bound to.
type free struct {
	pv   *v1.PersistentVolume
	size resource.Quantity
}

// bySize orders volumes so that the first match is the smallest.
func bySize(a, b free) int {
	return cmp.Or(quantity.Compare(a.size, b.size), strings.Compare(a.pv.Name, b.pv.Name))
}

// classVolumes is the volumes of one class.
type classVolumes struct {
	free *topology.Index[free]
	// of holds the volumes that name a claim, by claim, in no order.
	of map[claims.Key][]*v1.PersistentVolume
}

// listed is where a volume is filed.
type listed struct {
	pv    *v1.PersistentVolume
	class string
	item  *topology.Item[free] // nil if it is not free
}

type (
	capacity   = topology.Item[*storagev1.CSIStorageCapacity]
	capacities = topology.Index[*storagev1.CSIStorageCapacity]
)

func byName(a, b *storagev1.CSIStorageCapacity) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// update applies the changes since the last call.
func (l *Ledger) update() {
	changed, now, known := l.storage.Changes.Since(l.generation)
	l.generation = now
	if !known {
		l.reset()
		for name := range l.promisedVolumes {
			l.promisedVolumes.expire(name, l.storage.Volumes.Volume(name))
		}
		for key := range l.promisedClaims {
			l.promisedClaims.expire(key, l.storage.Claims.Claim(key.Namespace, key.Name))
		}
		return
	}
	for _, change := range changed {
		key := claims.Key{Namespace: change.Namespace, Name: change.Name}
		switch change.Kind {
		case state.PersistentVolumeResource:
			l.volumeChanged(change.Name)
		case state.PersistentVolumeClaimResource:
			l.promisedClaims.expire(key, l.storage.Claims.Claim(key.Namespace, key.Name))
		case state.CSIStorageCapacityResource:
			l.capacityChanged(key)
		}
	}
}

func (l *Ledger) volumeChanged(name string) {
	pv := l.storage.Volumes.Volume(name)
	l.promisedVolumes.expire(name, pv)
	l.unlist(name)
	if pv != nil && l.volumes[volume.GetPersistentVolumeClass(pv)] != nil {
		l.list(pv)
	}
}

func (l *Ledger) capacityChanged(key claims.Key) {
	if item := l.left[key]; item != nil {
		delete(l.left, key)
		l.capacities[item.Value.StorageClassName].Remove(item)
	}
	if c := l.storage.Capacities.Capacity(key.Namespace, key.Name); c != nil && l.capacities[c.StorageClassName] != nil {
		l.addCapacity(c)
	}
}

// volume returns a volume as assumed, or else as in the API; nil if there is none.
func (l *Ledger) volume(name string) *v1.PersistentVolume {
	return l.promisedVolumes.over(name, l.storage.Volumes.Volume(name))
}

// claim returns a claim as assumed, or else as in the API; nil if there is none.
func (l *Ledger) claim(namespace, name string) *v1.PersistentVolumeClaim {
	return l.promisedClaims.over(claims.Key{Namespace: namespace, Name: name}, l.storage.Claims.Claim(namespace, name))
}

// ofClass returns the volumes of a class.
func (l *Ledger) ofClass(class string) *classVolumes {
	c := l.volumes[class]
	if c == nil {
		c = &classVolumes{free: topology.NewIndex(bySize), of: make(map[claims.Key][]*v1.PersistentVolume)}
		l.volumes[class] = c
		for _, pv := range l.storage.Volumes.VolumesOf(class) {
			l.list(pv)
		}
	}
	return c
}

// list files a volume.
func (l *Ledger) list(pv *v1.PersistentVolume) {
	at := &listed{pv: pv, class: volume.GetPersistentVolumeClass(pv)}
	class := l.volumes[at.class]
	switch ref := pv.Spec.ClaimRef; {
	case ref != nil:
		key := claims.Key{Namespace: ref.Namespace, Name: ref.Name}
		class.of[key] = append(class.of[key], pv)
	case pv.Status.Phase == v1.VolumeAvailable && pv.DeletionTimestamp == nil:
		at.item = topology.NewItem(free{pv: pv, size: pv.Spec.Capacity[v1.ResourceStorage]}, topology.OfVolume(pv))
		class.free.Add(at.item)
	}
	l.listed[pv.Name] = at
}

func (l *Ledger) unlist(name string) {
	at := l.listed[name]
	if at == nil {
		return
	}
	delete(l.listed, name)
	class := l.volumes[at.class]
	if at.item != nil {
		class.free.Remove(at.item)
	}
	if ref := at.pv.Spec.ClaimRef; ref != nil {
		key := claims.Key{Namespace: ref.Namespace, Name: ref.Name}
		others := slices.DeleteFunc(class.of[key], func(pv *v1.PersistentVolume) bool { return pv == at.pv })
		if class.of[key] = others; len(others) == 0 {
			delete(class.of, key)
		}
	}
}

// capacitiesOf returns the storage capacities of a class.
func (l *Ledger) capacitiesOf(class string) *capacities {
	c := l.capacities[class]
	if c == nil {
		c = topology.NewIndex(byName)
		l.capacities[class] = c
		for _, capacity := range l.storage.Capacities.CapacitiesOf(class) {
			l.addCapacity(capacity)
		}
	}
	return c
}

func (l *Ledger) addCapacity(c *storagev1.CSIStorageCapacity) {
	item := topology.NewItem(c, topology.OfCapacity(c))
	l.capacities[c.StorageClassName].Add(item)
	l.left[claims.Key{Namespace: c.Namespace, Name: c.Name}] = item
}

// promiseVolume reserves a volume for a claim. pv is a changed copy of the API object.
func (l *Ledger) promiseVolume(pv *v1.PersistentVolume) error {
	return l.promisedVolumes.add(pv.Name, l.storage.Volumes.Volume(pv.Name), pv)
}

// promiseClaim records that a claim is going to be provisioned for.
func (l *Ledger) promiseClaim(claim *v1.PersistentVolumeClaim) error {
	key := keyOf(claim)
	return l.promisedClaims.add(key, l.storage.Claims.Claim(key.Namespace, key.Name), claim)
}

func keyOf(claim *v1.PersistentVolumeClaim) claims.Key {
	return claims.Key{Namespace: claim.Namespace, Name: claim.Name}
}
