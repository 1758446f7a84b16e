package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// stored is an API server with volumes and claims. It writes at once, and binds volumes as their controller does.
type stored struct {
	store               *storage.Store
	objects.ClaimWriter // what no test needs
	version             int
	bound, freed        []string
}

func (s *stored) put(o metav1.Object) {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.store.Set(o)
}

// UpdateVolume implements objects.VolumeWriter.
func (s *stored) UpdateVolume(_ context.Context, pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	s.put(pv)
	claim := s.store.Claim(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name).DeepCopy()
	claim.Spec.VolumeName, claim.Status.Phase = pv.Name, v1.ClaimBound
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	s.put(claim)
	s.bound = append(s.bound, claim.Name+" to "+pv.Name)
	return pv, nil
}

// UpdateClaim implements objects.VolumeWriter: no volume is provisioned.
func (s *stored) UpdateClaim(context.Context, *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	return nil, errors.New("forbidden")
}

// Await implements objects.StorageWaiter.
func (s *stored) Await(_ context.Context, _ time.Duration, done func() (bool, error)) error {
	if ok, err := done(); err != nil || ok {
		return err
	}
	return context.DeadlineExceeded
}

// NodeObject implements objects.Existence.
func (s *stored) NodeObject(name string) *v1.Node { return local(name).Object }

// HasPod implements objects.Existence.
func (s *stored) HasPod(string, string) bool { return true }

// Read implements objects.ClaimWriter.
func (s *stored) Read(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return s.store.ResourceClaim(claim.Namespace, claim.Name), nil
}

// Update implements objects.ClaimWriter.
func (s *stored) Update(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	s.put(claim)
	return claim, nil
}

// UpdateStatus implements objects.ClaimWriter.
func (s *stored) UpdateStatus(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	s.put(claim)
	if claim.Status.Allocation != nil {
		s.bound = append(s.bound, fmt.Sprint(claim.Name, " for ", len(claim.Status.ReservedFor)))
	}
	return claim, nil
}

// Release implements objects.ClaimWriter.
func (s *stored) Release(claim *resourcev1.ResourceClaim, pod types.UID) {
	now := s.store.ResourceClaim(claim.Namespace, claim.Name).DeepCopy()
	is := func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod }
	now.Status.ReservedFor = slices.DeleteFunc(now.Status.ReservedFor, is)
	s.put(now)
}

// Deallocate implements objects.ClaimWriter.
func (s *stored) Deallocate(claim *resourcev1.ResourceClaim, _ types.UID) {
	s.put(claim)
	s.freed = append(s.freed, claim.Namespace+"/"+claim.Name)
}

// local is a node that volumes and devices can name.
func local(name string) *state.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourcePods: resource.MustParse("110")}
	return state.NewNode(n)
}

func onNode(name string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{name}},
	}}}}
}

// holding returns a world with nodes a and b, which pods of others fill. Each node has a volume. A device on node a is
// allocated to the claim named device of namespace team, and to the one of namespace others.
func holding(t *testing.T, guest string, natives ...string) (*world, *stored) {
	w, s := newWorld(t, &scenario.Log{}), &stored{store: storage.New()}
	w.natives.Storage = hostplugins.Storage{Objects: s.store.Objects(), Writer: s, Waiter: s, Exists: s}
	w.natives.Devices = hostplugins.NewDevices(s.store.Devices(), s, s)
	w.natives.Now, w.natives.Wall = w.clock.Now, w.clock.Now
	late := storagev1.VolumeBindingWaitForFirstConsumer
	s.put(&storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &late,
	})
	class, gibi := "local", v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	for _, name := range []string{"p", "q"} {
		c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("claim-" + name)}}
		c.Spec.StorageClassName, c.Spec.AccessModes, c.Spec.Resources.Requests = &class, modes, gibi
		s.put(c)
	}
	for _, namespace := range []string{"team", "others"} {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "device", UID: types.UID(namespace + "-device")}}
		c.Finalizers = []string{resourcev1.Finalizer}
		c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: onNode("a")}
		s.put(c)
	}
	for _, name := range natives {
		if err := w.native(name); err != nil {
			t.Fatal(err)
		}
	}
	w.declare("Guest", scenario.MustParse(guest+" namespaces=team events=Pod/Delete,Pod/Add"))
	for _, name := range []string{"a", "b"} {
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}}
		pv.Spec.StorageClassName, pv.Spec.AccessModes, pv.Spec.Capacity, pv.Status.Phase = class, modes, gibi, v1.VolumeAvailable
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: onNode(name)}
		s.put(pv)
		w.get().SetNode(local(name))
	}
	w.restock(t)
	return w, s
}

// restock makes pods of others again that left the nodes.
func (w *world) restock(t *testing.T) {
	for i, node := range []string{"a", "b"} {
		if w.pods[types.UID("v-"+node)] == nil {
			w.set(pod(t, "v-"+node, fmt.Sprintf("cpu=800 priority=%d namespace=others on=%s", i+1, node)))
		}
	}
}

// using returns a pod of team that uses a persistent volume claim, or the resource claim device.
func using(t *testing.T, name, claim string) *state.Pod {
	object := pod(t, name, "cpu=500 priority=5 namespace=team").Object
	if claim == "device" {
		object.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: claim, ResourceClaimName: &claim}}
	} else {
		object.Spec.Volumes = []v1.Volume{{Name: "v"}}
		object.Spec.Volumes[0].PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}
	}
	return state.NewPod(object)
}

// TestDebtOfClaims: a plugin rejects its pod at preBind, after a volume was bound, or devices were reserved, on the node that
// others left. They leave once for it, and not for the next pod.
func TestDebtOfClaims(t *testing.T) {
	for native, test := range map[string]struct {
		claims [2]string // of the two pods
		bound  string    // and what was written for the first one
	}{
		"VolumeBinding":    {[2]string{"p", "q"}, "p to pv-a"},
		"DynamicResources": {[2]string{"device", "device"}, "device for 1"},
	} {
		w, s := holding(t, "prebind=unschedulable", native, "NodeResourcesFit", "DefaultPreemption")
		evicted := 0
		for i, claim := range test.claims {
			name := types.UID(fmt.Sprint("p", i))
			w.set(using(t, string(name), claim))
			for range 5 {
				w.run()
				evicted += 2 - len(slices.DeleteFunc([]types.UID{"v-a", "v-b"}, func(uid types.UID) bool { return w.pods[uid] == nil }))
				w.restock(t)
				w.clock.Advance(10 * time.Second)
			}
			w.gone(name)
		}
		if evicted != 1 || !slices.Contains(s.bound, test.bound) {
			t.Errorf("%s: others made room %d times, written are %q\n%s", native, evicted, s.bound, w.log.Take())
		}
	}
}

// TestDeallocateOnWord: DynamicResources takes back a claim of the pod's own namespace that no other pod uses, whatever a plugin
// answers about the nodes.
func TestDeallocateOnWord(t *testing.T) {
	for _, guest := range []string{
		"filter=unschedulable", "filter=unresolvable", "filter=a=unschedulable", "reserve=unschedulable", "prebind=unschedulable",
	} {
		for users, frees := range map[string]bool{"": true, "p": true, "u": false, "p u": false} {
			w, s := holding(t, guest, "DynamicResources", "NodeResourcesFit", "DefaultPreemption")
			claim := s.store.ResourceClaim("team", "device").DeepCopy()
			for _, user := range strings.Fields(users) {
				claim.Status.ReservedFor = append(claim.Status.ReservedFor,
					resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user, UID: types.UID(user)})
			}
			s.put(claim)
			w.set(using(t, "p", "device"))
			for range 5 {
				w.run()
				w.restock(t)
				w.clock.Advance(10 * time.Second)
			}
			for _, freed := range s.freed {
				if freed != "team/device" || !frees {
					t.Errorf("%s: claim %s is taken back, which %q uses", guest, freed, users)
				}
			}
			if frees && len(s.freed) == 0 {
				t.Errorf("%s: no claim is taken back\n%s", guest, w.log.Take())
			}
		}
	}
}
