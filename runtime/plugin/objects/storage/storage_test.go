package storage_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// draw draws an object of any kind.
func draw(t *rapid.T) metav1.Object {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	name := pick("name", "a", "b", "c")
	switch pick("kind", "claim", "volume", "class", "node", "driver", "capacity", "attachment", "resource claim", "slice", "device class") {
	case "claim":
		return &v1.PersistentVolumeClaim{ObjectMeta: named(pick("namespace", "x", "y"), name)}
	case "volume":
		pv := &v1.PersistentVolume{ObjectMeta: named("", name), Spec: v1.PersistentVolumeSpec{StorageClassName: pick("class", "", "s")}}
		if rapid.Bool().Draw(t, "beta") {
			pv.Annotations = map[string]string{v1.BetaStorageClassAnnotation: pick("beta class", "s", "t")}
		}
		return pv
	case "class":
		return &storagev1.StorageClass{ObjectMeta: named("", name)}
	case "node":
		return &storagev1.CSINode{ObjectMeta: named("", name)}
	case "driver":
		return &storagev1.CSIDriver{ObjectMeta: named("", name)}
	case "capacity":
		return &storagev1.CSIStorageCapacity{ObjectMeta: named(pick("namespace", "x", "y"), name), StorageClassName: pick("class", "s", "t")}
	case "resource claim":
		return &resourcev1.ResourceClaim{ObjectMeta: named(pick("namespace", "x", "y"), name)}
	case "slice":
		return &resourcev1.ResourceSlice{ObjectMeta: named("", name)}
	case "device class":
		return &resourcev1.DeviceClass{ObjectMeta: named("", name)}
	}
	return &storagev1.VolumeAttachment{ObjectMeta: named("", name), Spec: storagev1.VolumeAttachmentSpec{NodeName: pick("node", "n", "m")}}
}

// model is the store as a list.
type model []metav1.Object

func (m model) find(o metav1.Object) int {
	return slices.IndexFunc(m, func(p metav1.Object) bool {
		return fmt.Sprintf("%T", p) == fmt.Sprintf("%T", o) && p.GetNamespace() == o.GetNamespace() && p.GetName() == o.GetName()
	})
}

// keys returns the journal's keys of an object; for an attachment that moves, both nodes.
func keys(versions ...any) []objects.StorageKey {
	last := versions[len(versions)-1].(metav1.Object)
	k := objects.StorageKey{Namespace: last.GetNamespace(), Name: last.GetName()}
	switch x := last.(type) {
	case *v1.PersistentVolumeClaim:
		k.Kind = state.PersistentVolumeClaimResource
	case *v1.PersistentVolume:
		k.Kind = state.PersistentVolumeResource
	case *storagev1.StorageClass:
		k.Kind = state.StorageClassResource
	case *storagev1.CSINode:
		k.Kind = state.CSINodeResource
	case *storagev1.CSIDriver:
		k.Kind = state.CSIDriverResource
	case *storagev1.CSIStorageCapacity:
		k.Kind = state.CSIStorageCapacityResource
	case *resourcev1.ResourceClaim:
		k.Kind = state.ResourceClaimResource
	case *resourcev1.ResourceSlice:
		k.Kind = state.ResourceSliceResource
	case *resourcev1.DeviceClass:
		k.Kind = state.DeviceClassResource
	case *storagev1.VolumeAttachment:
		k.Kind, k.Name = state.VolumeAttachmentResource, x.Spec.NodeName
		if old, ok := versions[0].(*storagev1.VolumeAttachment); ok && old.Spec.NodeName != k.Name {
			return []objects.StorageKey{{Kind: k.Kind, Name: old.Spec.NodeName}, k}
		}
	}
	return []objects.StorageKey{k}
}

// those returns the names of objects for which keep is true, in order.
func those[T metav1.Object](m model, keep func(T) bool) []string {
	var out []string
	for _, o := range m {
		if x, ok := o.(T); ok && keep(x) {
			out = append(out, x.GetNamespace()+"/"+x.GetName())
		}
	}
	slices.Sort(out)
	return out
}

func names[T metav1.Object](list []T) []string {
	var out []string
	for _, o := range list {
		out = append(out, o.GetNamespace()+"/"+o.GetName())
	}
	return out
}

// TestStore compares the store with a list, and its journal with the differences.
func TestStore(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		s, m := storage.New(), model{}
		var told []objects.StorageKey // since generation
		generation := uint64(0)
		for range 40 {
			o := draw(rt)
			at := m.find(o)
			if rapid.IntRange(0, 3).Draw(rt, "deleted") == 0 {
				change, ok := s.Delete(o)
				if ok != (at >= 0) || ok && (change.Event.Action != state.Delete || change.Object.Old != m[at] || change.Object.New != nil) {
					rt.Fatalf("delete %T %s: %v, %+v", o, o.GetName(), ok, change)
				}
				if ok {
					told = append(told, keys(m[at])...)
					m = slices.Delete(m, at, at+1)
				}
			} else {
				change := s.Set(o)
				want := state.Add
				if at >= 0 {
					want = state.UpdateOther
					if change.Object.Old != m[at] {
						rt.Fatalf("set %T %s: old is %v", o, o.GetName(), change.Object.Old)
					}
					m = slices.Delete(m, at, at+1)
				} else if change.Object.Old != nil {
					rt.Fatalf("set %T %s: old is %v", o, o.GetName(), change.Object.Old)
				}
				if change.Event.Action != want || change.Object.New != o {
					rt.Fatalf("set %T %s: %+v", o, o.GetName(), change)
				}
				told = append(told, keys(change.Object.Old, o)...)
				m = append(m, o)
			}
			changed, now, known := s.Since(generation)
			if !known || !slices.Equal(changed, told) {
				rt.Fatalf("changed since %d: %v, want %v", generation, changed, told)
			}
			if rapid.Bool().Draw(rt, "read") {
				generation, told = now, nil
			}
			compare(rt, s, m)
		}
		_, now, _ := s.Since(0)
		if _, _, known := s.Since(now + 1); known {
			rt.Fatal("the journal knows future changes")
		}
	})
}

func compare(rt *rapid.T, s *storage.Store, m model) {
	for _, o := range m {
		var got metav1.Object
		switch x := o.(type) {
		case *v1.PersistentVolumeClaim:
			got = s.Claim(x.Namespace, x.Name)
		case *v1.PersistentVolume:
			got = s.Volume(x.Name)
		case *storagev1.StorageClass:
			got = s.StorageClass(x.Name)
		case *storagev1.CSINode:
			got = s.CSINode(x.Name)
		case *storagev1.CSIDriver:
			got = s.CSIDriver(x.Name)
		case *storagev1.CSIStorageCapacity:
			got = s.Capacity(x.Namespace, x.Name)
		case *resourcev1.ResourceClaim:
			got = s.ResourceClaim(x.Namespace, x.Name)
		case *resourcev1.DeviceClass:
			got = s.DeviceClass(x.Name)
		case *resourcev1.ResourceSlice, *storagev1.VolumeAttachment:
			continue // in lists only
		}
		if got != o {
			rt.Fatalf("%T %s/%s is %v", o, o.GetNamespace(), o.GetName(), got)
		}
	}
	for kind, lists := range map[string][2][]string{
		"resource claims": {names(s.ResourceClaims()), those(m, func(*resourcev1.ResourceClaim) bool { return true })},
		"slices":          {names(s.ResourceSlices()), those(m, func(*resourcev1.ResourceSlice) bool { return true })},
		"device classes":  {names(s.DeviceClasses()), those(m, func(*resourcev1.DeviceClass) bool { return true })},
	} {
		if !slices.Equal(lists[0], lists[1]) {
			rt.Fatalf("%s are %v, want %v", kind, lists[0], lists[1])
		}
	}
	for _, group := range []string{"", "s", "t", "n", "m"} {
		for kind, lists := range map[string][2][]string{
			"volumes": {names(s.VolumesOf(group)), those(m, func(pv *v1.PersistentVolume) bool {
				if class, ok := pv.Annotations[v1.BetaStorageClassAnnotation]; ok {
					return class == group
				}
				return pv.Spec.StorageClassName == group
			})},
			"capacities":  {names(s.CapacitiesOf(group)), those(m, func(c *storagev1.CSIStorageCapacity) bool { return c.StorageClassName == group })},
			"attachments": {names(s.AttachmentsTo(group)), those(m, func(a *storagev1.VolumeAttachment) bool { return a.Spec.NodeName == group })},
		} {
			if !slices.Equal(lists[0], lists[1]) {
				rt.Fatalf("%s of %q are %v, want %v", kind, group, lists[0], lists[1])
			}
		}
	}
	if s.Claim("x", "none") != nil || s.Volume("none") != nil || s.StorageClass("none") != nil || s.CSINode("none") != nil {
		rt.Fatal("a missing object was found")
	}
}

// TestJournal: a change is recorded by kind and name, an attachment by both of its nodes, and
// old changes are not known.
func TestJournal(t *testing.T) {
	s := storage.New()
	attached := func(node string) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{ObjectMeta: named("", "a"), Spec: storagev1.VolumeAttachmentSpec{NodeName: node}}
	}
	s.Set(&v1.PersistentVolumeClaim{ObjectMeta: named("x", "c")})
	s.Set(attached("n"))
	s.Set(attached("m"))
	s.Delete(attached("elsewhere"))
	s.Delete(attached("gone already"))
	changed, now, known := s.Since(0)
	var got []string
	for _, key := range changed {
		got = append(got, fmt.Sprintf("%s %s/%s", key.Kind, key.Namespace, key.Name))
	}
	const attachment = "storage.k8s.io/VolumeAttachment /"
	want := []string{"PersistentVolumeClaim x/c", attachment + "n", attachment + "n", attachment + "m", attachment + "m"}
	if !known || now != 5 || !slices.Equal(got, want) {
		t.Errorf("generation %d, known %v, got %q, want %q", now, known, got, want)
	}
	for i := range 20000 {
		s.Set(&v1.PersistentVolumeClaim{ObjectMeta: named("x", fmt.Sprint(i))})
	}
	if _, _, known := s.Since(now); known {
		t.Error("the journal keeps all changes")
	}
	_, last, _ := s.Since(0)
	if changed, _, known := s.Since(last - 4096); !known || len(changed) != 4096 || changed[4095].Name != "19999" {
		t.Errorf("of the last 4,096 changes %d are known (%v)", len(changed), known)
	}
}

// TestConcurrentUse: results stay unchanged while others write.
func TestConcurrentUse(t *testing.T) {
	s := storage.New()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for j := range 500 {
				s.Set(&v1.PersistentVolume{ObjectMeta: named("", fmt.Sprint(i, "-", j)), Spec: v1.PersistentVolumeSpec{StorageClassName: "s"}})
				list := s.VolumesOf("s")
				if len(list) <= j {
					t.Errorf("%d volumes after %d writes", len(list), j+1)
				}
				s.Since(0)
			}
		})
	}
	group.Wait()
	if len(s.VolumesOf("s")) != 2000 {
		t.Errorf("%d volumes, want 2000", len(s.VolumesOf("s")))
	}
}
