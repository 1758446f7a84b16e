package replay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world is an API server that answers late, in any order, and not always.
type world struct {
	scheduler *scheduler.Scheduler
	clock     *clock.Step
	stores    *stores.Stores

	late sync.WaitGroup // of what the server does later

	mu      sync.Mutex
	rand    *rand.Rand
	version int
	pods    map[types.UID]*v1.Pod
	objects map[string]metav1.Object
}

var (
	_ scheduler.Outlet      = (*world)(nil)
	_ objects.Binder        = (*world)(nil)
	_ objects.Evictor       = (*world)(nil)
	_ objects.VolumeWriter  = (*world)(nil)
	_ objects.StorageWaiter = (*world)(nil)
	_ objects.Existence     = (*world)(nil)
	_ objects.ClaimWriter   = (*world)(nil)
)

func (w *world) n(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rand.IntN(n)
}

func (w *world) one(in int) bool { return w.n(in) == 0 }

func (w *world) wait() { time.Sleep(time.Duration(w.n(1500)) * time.Microsecond) }

var errLater = errors.New("the server asks to try again later")

func (w *world) Binding(context.Context, *state.Pod) error { w.wait(); return nil }

func (w *world) Bind(ctx context.Context, b objects.Binding) error {
	w.wait()
	if w.one(8) {
		return errLater
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[b.Pod.UID]
	if p == nil {
		return errors.New("the pod is gone")
	}
	p = state.NewPod(p).On(b.Node, b.Patch).Object.DeepCopy()
	w.pods[p.UID] = p
	w.late.Go(func() {
		w.wait()
		w.scheduler.SetPods(state.NewPod(p))
	})
	return nil
}

func (w *world) Evict(ctx context.Context, e objects.Eviction) error {
	w.wait()
	if w.one(6) {
		return errLater
	}
	w.terminate(e.Victim.UID)
	return nil
}

// terminate lets a pod end, now or later.
func (w *world) terminate(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[uid]
	if p == nil {
		return
	}
	p = p.DeepCopy()
	p.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	w.pods[uid] = p
	w.scheduler.SetPods(state.NewPod(p))
	w.late.Go(func() {
		w.wait()
		w.wait()
		w.mu.Lock()
		delete(w.pods, uid)
		w.mu.Unlock()
		w.scheduler.DeletePod(uid)
	})
}

func (w *world) Scheduled(*state.Pod, string, state.Feature) {}
func (w *world) Failed(f scheduler.Failure) {
	if f.Override {
		w.nominate(f.Pod.UID, f.Nominated)
	}
}
func (w *world) Preempted(scheduler.Preempted)  {}
func (w *world) NominationCleared(p *state.Pod) { w.nominate(p.UID, "") }

func (w *world) nominate(uid types.UID, node string) {
	w.late.Go(func() {
		w.wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		p := w.pods[uid]
		if p == nil || p.Spec.NodeName != "" {
			return
		}
		p = p.DeepCopy()
		p.Status.NominatedNodeName = node
		w.pods[uid] = p
		w.scheduler.SetPods(state.NewPod(p))
	})
}

func key(o metav1.Object) string { return fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName()) }

// put stores an object and tells the scheduler. The caller holds w.mu.
func (w *world) put(o metav1.Object) {
	w.version++
	o.SetResourceVersion(strconv.Itoa(w.version))
	w.objects[key(o)] = o
	w.scheduler.SetObject(o)
}

func (w *world) update(o metav1.Object) error {
	w.wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.objects[key(o)]
	if was == nil || was.GetResourceVersion() != o.GetResourceVersion() || w.rand.IntN(10) == 0 {
		return errors.New("conflict")
	}
	w.put(o)
	return nil
}

func (w *world) UpdateVolume(_ context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	volume = volume.DeepCopy()
	if err := w.update(volume); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ref := volume.Spec.ClaimRef; ref != nil {
		w.bindClaim(ref.Namespace, ref.Name, volume.Name)
	}
	return volume, nil
}

// bindClaim is the controller. The caller holds w.mu.
func (w *world) bindClaim(namespace, name, volume string) {
	o := w.objects[key(&v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})]
	if o == nil {
		return
	}
	claim := o.(*v1.PersistentVolumeClaim).DeepCopy()
	claim.Spec.VolumeName, claim.Status.Phase = volume, v1.ClaimBound
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	w.put(claim)
}

func (w *world) UpdateClaim(_ context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	claim = claim.DeepCopy()
	if err := w.update(claim); err != nil {
		return nil, err
	}
	w.late.Go(func() {
		w.wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		node := claim.Annotations["volume.kubernetes.io/selected-node"]
		if node == "" {
			return
		}
		if w.rand.IntN(5) == 0 { // it cannot be provisioned there
			c := claim.DeepCopy()
			delete(c.Annotations, "volume.kubernetes.io/selected-node")
			w.put(c)
			return
		}
		pv := volumeOn("pv-"+claim.Name, node)
		pv.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		pv.Status.Phase = v1.VolumeBound
		w.put(pv)
		w.bindClaim(claim.Namespace, claim.Name, pv.Name)
	})
	return claim, nil
}

func volumeOn(name, node string) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	pv.Spec.StorageClassName = "late"
	pv.Status.Phase = v1.VolumeAvailable
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}},
	}}}}}
	return pv
}

func (w *world) Await(ctx context.Context, timeout time.Duration, done func() (bool, error)) error {
	for range 60 {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return context.DeadlineExceeded
}

func (w *world) NodeObject(name string) *v1.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, _ := w.objects["*v1.Node /"+name].(*v1.Node)
	return n
}

func (w *world) HasPod(namespace, name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pods[types.UID(name)] != nil
}
