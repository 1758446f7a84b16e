package storage

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// name identifies objects of a kind.
type name struct{ namespace, name string }

func nameOf(o metav1.Object) name { return name{o.GetNamespace(), o.GetName()} }

// table has the objects of one kind, by name and by group.
type table[T metav1.Object] struct {
	kind   state.EventResource
	all    map[name]T
	group  func(T) string // nil for a kind that is only looked up by name
	groups map[string]map[name]T
}

func newTable[T metav1.Object](kind state.EventResource, group func(T) string) table[T] {
	return table[T]{kind: kind, all: make(map[name]T), group: group, groups: make(map[string]map[name]T)}
}

// swap stores or removes an object, and returns the old version.
func (t *table[T]) swap(object T, gone bool) (old T, was bool) {
	n := nameOf(object)
	old, was = t.all[n]
	if was {
		delete(t.all, n)
		if t.group != nil {
			key := t.group(old)
			delete(t.groups[key], n)
			if len(t.groups[key]) == 0 {
				delete(t.groups, key)
			}
		}
	}
	if gone {
		return old, was
	}
	t.all[n] = object
	if t.group != nil {
		key := t.group(object)
		if t.groups[key] == nil {
			t.groups[key] = make(map[name]T)
		}
		t.groups[key][n] = object
	}
	return old, was
}

// key returns the journal's key of an object. Attachments are recorded by node.
func (t *table[T]) key(object T) objects.StorageKey {
	k := objects.StorageKey{Kind: t.kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	if t.kind == state.VolumeAttachmentResource {
		k.Name = t.group(object)
	}
	return k
}

// of returns a group, sorted by namespace and name.
func (t *table[T]) of(group string) []T { return sorted(t.groups[group]) }

func sorted[T metav1.Object](from map[name]T) []T {
	out := make([]T, 0, len(from))
	for _, object := range from {
		out = append(out, object)
	}
	slices.SortFunc(out, byName)
	return out
}

func byName[T metav1.Object](a, b T) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// appendAll appends the objects of a table, sorted by namespace and name.
func appendAll[T metav1.Object](to []metav1.Object, t *table[T]) []metav1.Object {
	for _, object := range sorted(t.all) {
		to = append(to, object)
	}
	return to
}

// get reads one object under the store's lock.
func get[T metav1.Object](s *Store, t *table[T], namespace, object string) T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return t.all[name{namespace, object}]
}

// all reads all objects of a kind under the store's lock.
func all[T metav1.Object](s *Store, t *table[T]) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return sorted(t.all)
}

// list reads one group under the store's lock.
func list[T metav1.Object](s *Store, t *table[T], group string) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return t.of(group)
}

// Claim implements objects.Claims.
func (s *Store) Claim(namespace, name string) *v1.PersistentVolumeClaim {
	return get(s, &s.claims, namespace, name)
}

// Volume implements objects.Volumes.
func (s *Store) Volume(name string) *v1.PersistentVolume { return get(s, &s.volumes, "", name) }

// VolumesOf implements objects.Volumes.
func (s *Store) VolumesOf(class string) []*v1.PersistentVolume { return list(s, &s.volumes, class) }

// StorageClass implements objects.StorageClasses.
func (s *Store) StorageClass(name string) *storagev1.StorageClass {
	return get(s, &s.classes, "", name)
}

// CSINode implements objects.CSINodes.
func (s *Store) CSINode(node string) *storagev1.CSINode { return get(s, &s.nodes, "", node) }

// CSIDriver implements objects.CSIDrivers.
func (s *Store) CSIDriver(name string) *storagev1.CSIDriver { return get(s, &s.drivers, "", name) }

// Capacity implements objects.StorageCapacities.
func (s *Store) Capacity(namespace, name string) *storagev1.CSIStorageCapacity {
	return get(s, &s.capacities, namespace, name)
}

// CapacitiesOf implements objects.StorageCapacities.
func (s *Store) CapacitiesOf(class string) []*storagev1.CSIStorageCapacity {
	return list(s, &s.capacities, class)
}

// AttachmentsTo implements objects.VolumeAttachments.
func (s *Store) AttachmentsTo(node string) []*storagev1.VolumeAttachment {
	return list(s, &s.attachments, node)
}

// ResourceClaim implements objects.ResourceClaims.
func (s *Store) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	return get(s, &s.resourceClaims, namespace, name)
}

// ResourceClaims implements objects.ResourceClaims.
func (s *Store) ResourceClaims() []*resourcev1.ResourceClaim { return all(s, &s.resourceClaims) }

// DeviceClass implements objects.DeviceClasses.
func (s *Store) DeviceClass(name string) *resourcev1.DeviceClass {
	return get(s, &s.deviceClasses, "", name)
}

// DeviceClasses implements objects.DeviceClasses.
func (s *Store) DeviceClasses() []*resourcev1.DeviceClass { return all(s, &s.deviceClasses) }

// Since implements objects.StorageChanges.
func (s *Store) Since(generation uint64) (changed []objects.StorageKey, now uint64, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.journal.since(generation)
}
