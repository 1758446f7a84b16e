// Package storage stores the API's storage objects, and those of dynamic resource allocation, in
// memory, indexed by name and by what plugins look up, with a journal of their changes. The
// simulator uses it as its cluster; a watcher of a real cluster can fill it.
package storage

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Store has the storage objects, resource claims, resource slices and device classes of a cluster. It is safe for concurrent use: mu guards all
// fields, and nothing is called while it is held.
//
// Writes must happen on the scheduler's loop, before the queue is told about the event that Set
// or Delete returns. Then a cycle sees one state, and the same events give the same decisions.
type Store struct {
	mu sync.RWMutex

	claims      table[*v1.PersistentVolumeClaim]
	volumes     table[*v1.PersistentVolume]
	classes     table[*storagev1.StorageClass]
	nodes       table[*storagev1.CSINode]
	drivers     table[*storagev1.CSIDriver]
	capacities  table[*storagev1.CSIStorageCapacity]
	attachments table[*storagev1.VolumeAttachment]

	resourceClaims table[*resourcev1.ResourceClaim]
	slices         table[*resourcev1.ResourceSlice]
	deviceClasses  table[*resourcev1.DeviceClass]
	taintRules     table[*resourcev1.DeviceTaintRule]
	// tainted are the slices with the taints of rules, by slice; nil after a change of a rule.
	tainted map[*resourcev1.ResourceSlice]*resourcev1.ResourceSlice

	journal journal
}

var (
	_ objects.Claims            = (*Store)(nil)
	_ objects.Volumes           = (*Store)(nil)
	_ objects.StorageClasses    = (*Store)(nil)
	_ objects.CSINodes          = (*Store)(nil)
	_ objects.CSIDrivers        = (*Store)(nil)
	_ objects.StorageCapacities = (*Store)(nil)
	_ objects.VolumeAttachments = (*Store)(nil)
	_ objects.StorageChanges    = (*Store)(nil)
	_ objects.ResourceClaims    = (*Store)(nil)
	_ objects.ResourceSlices    = (*Store)(nil)
	_ objects.DeviceClasses     = (*Store)(nil)
)

// New returns an empty store.
func New() *Store {
	return &Store{
		claims:     newTable[*v1.PersistentVolumeClaim](state.PersistentVolumeClaimResource, nil),
		volumes:    newTable(state.PersistentVolumeResource, volume.GetPersistentVolumeClass),
		classes:    newTable[*storagev1.StorageClass](state.StorageClassResource, nil),
		nodes:      newTable[*storagev1.CSINode](state.CSINodeResource, nil),
		drivers:    newTable[*storagev1.CSIDriver](state.CSIDriverResource, nil),
		capacities: newTable(state.CSIStorageCapacityResource, func(c *storagev1.CSIStorageCapacity) string { return c.StorageClassName }),
		attachments: newTable(state.VolumeAttachmentResource,
			func(a *storagev1.VolumeAttachment) string { return a.Spec.NodeName }),
		resourceClaims: newTable[*resourcev1.ResourceClaim](state.ResourceClaimResource, nil),
		slices:         newTable[*resourcev1.ResourceSlice](state.ResourceSliceResource, nil),
		deviceClasses:  newTable[*resourcev1.DeviceClass](state.DeviceClassResource, nil),
		taintRules:     newTable[*resourcev1.DeviceTaintRule](state.DeviceTaintRuleResource, nil),
	}
}

// Objects returns the interfaces for volume plugins.
func (s *Store) Objects() objects.Storage {
	return objects.Storage{
		Claims: s, Volumes: s, Classes: s, CSINodes: s, CSIDrivers: s, Capacities: s, Attached: s, Changes: s,
	}
}

// Devices returns the interfaces for dynamic resource allocation.
func (s *Store) Devices() objects.Devices {
	return objects.Devices{Claims: s, Slices: s, Classes: s, Changes: s}
}

// Change is the result of a write.
type Change struct {
	Event  state.ClusterEvent
	Object state.Object
}

// Set stores an object, which must not be changed afterwards. It panics for any other
// kind of object.
func (s *Store) Set(object metav1.Object) Change {
	c, _ := s.write(object, false)
	return c
}

// Delete removes the object with the same kind and name; ok is false if there is none.
func (s *Store) Delete(object metav1.Object) (c Change, ok bool) { return s.write(object, true) }

func (s *Store) write(object metav1.Object, gone bool) (Change, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch x := object.(type) {
	case *v1.PersistentVolumeClaim:
		return write(s, &s.claims, x, gone)
	case *v1.PersistentVolume:
		return write(s, &s.volumes, x, gone)
	case *storagev1.StorageClass:
		return write(s, &s.classes, x, gone)
	case *storagev1.CSINode:
		return write(s, &s.nodes, x, gone)
	case *storagev1.CSIDriver:
		return write(s, &s.drivers, x, gone)
	case *storagev1.CSIStorageCapacity:
		return write(s, &s.capacities, x, gone)
	case *storagev1.VolumeAttachment:
		// The journal has attachments by node, so an attachment that moves also changes its old
		// node.
		if old, ok := s.attachments.all[nameOf(x)]; ok && !gone && old.Spec.NodeName != x.Spec.NodeName {
			s.journal.add(s.attachments.key(old))
		}
		return write(s, &s.attachments, x, gone)
	case *resourcev1.ResourceClaim:
		return write(s, &s.resourceClaims, x, gone)
	case *resourcev1.ResourceSlice:
		delete(s.tainted, s.slices.all[nameOf(x)])
		return write(s, &s.slices, x, gone)
	case *resourcev1.DeviceClass:
		return write(s, &s.deviceClasses, x, gone)
	case *resourcev1.DeviceTaintRule:
		s.tainted = nil
		return write(s, &s.taintRules, x, gone)
	}
	panic("BUG: an object of this kind is not stored")
}

func write[T metav1.Object](s *Store, t *table[T], object T, gone bool) (c Change, ok bool) {
	old, was := t.swap(object, gone)
	if was {
		c.Object.Old = old
	}
	if gone && !was {
		return c, false
	}
	c.Event = state.ClusterEvent{Resource: t.kind, Action: state.UpdateOther}
	switch {
	case gone:
		c.Event.Action = state.Delete
		s.journal.add(t.key(old))
		return c, true
	case !was:
		c.Event.Action = state.Add
	}
	c.Object.New = object
	s.journal.add(t.key(object))
	return c, true
}

// All returns the objects of all kinds, those of a kind sorted by namespace and name.
func (s *Store) All() (out []metav1.Object) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out = appendAll(out, &s.claims)
	out = appendAll(out, &s.volumes)
	out = appendAll(out, &s.classes)
	out = appendAll(out, &s.nodes)
	out = appendAll(out, &s.drivers)
	out = appendAll(out, &s.capacities)
	out = appendAll(out, &s.attachments)
	out = appendAll(out, &s.resourceClaims)
	out = appendAll(out, &s.slices)
	out = appendAll(out, &s.deviceClasses)
	return appendAll(out, &s.taintRules)
}
