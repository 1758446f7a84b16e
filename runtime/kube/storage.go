package kube

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/state"
)

// objectHandler passes on objects of other kinds than pods, nodes and namespaces.
func objectHandler(s Scheduler) cache.ResourceEventHandler {
	return handle(func(_, now metav1.Object) { s.SetObject(now) }, s.DeleteObject)
}

// Change implements scheduler.Objects.
func (c *Cluster) Change(object metav1.Object, gone bool) (event state.ClusterEvent, changed state.Object, ok bool) {
	if event, changed, ok = c.stores.Change(object, gone); ok {
		c.waiters.wake()
	}
	return event, changed, ok
}

// Written implements scheduler.Objects.
func (c *Cluster) Written(claim *resourcev1.ResourceClaim) (event state.ClusterEvent, changed state.Object, ok bool) {
	if event, changed, ok = c.stores.Written(claim); ok {
		c.waiters.wake()
	}
	return event, changed, ok
}

// UpdateVolume implements objects.VolumeWriter.
func (c *Cluster) UpdateVolume(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	watch := clock.Start()
	now, err := c.deps.Client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
	c.deps.wrote("pv_update", watch, err)
	return now, err
}

// UpdateClaim implements objects.VolumeWriter.
func (c *Cluster) UpdateClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	watch := clock.Start()
	now, err := c.deps.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
	c.deps.wrote("pvc_update", watch, err)
	return now, err
}

// NodeObject implements objects.Existence.
func (c *Cluster) NodeObject(name string) *v1.Node {
	object, ok, err := c.watches.nodes.GetStore().GetByKey(name)
	if !ok || err != nil {
		return nil
	}
	return object.(*v1.Node)
}

// HasPod implements objects.Existence.
func (c *Cluster) HasPod(namespace, name string) bool {
	_, ok, err := c.watches.pods.GetStore().GetByKey(namespace + "/" + name)
	return ok && err == nil
}

// Await implements objects.StorageWaiter. Besides after each change of storage, it calls done
// every second, because done may depend on other objects.
func (w *waiters) Await(ctx context.Context, timeout time.Duration, done func() (bool, error)) error {
	const atLeast = time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticks := time.NewTicker(atLeast) //nolint:forbidigo // a binding cycle waits for others, as long as its plugin says
	defer ticks.Stop()
	for {
		changed := w.next()
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-ticks.C:
		}
	}
}

// waiters signals changes of storage to all waiters by closing a channel.
type waiters struct {
	mu   sync.Mutex
	call chan struct{} // nil if nobody waits
}

// next returns a channel that is closed at the next change.
func (w *waiters) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call == nil {
		w.call = make(chan struct{})
	}
	return w.call
}

func (w *waiters) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call != nil {
		close(w.call)
		w.call = nil
	}
}
