package compare

import (
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// placement compares the points after a node was chosen. PreBind is not called:
// it waits for controllers.
func (r *run) placement(a, b *plugin.Cycle, row uint32) {
	points := r.theirs.Points()
	node := r.world.Snapshot.Nodes.Node[row]
	on := func(c *plugin.Cycle) *plugin.Placement {
		return &plugin.Placement{Context: context.Background(), Pod: r.pod.On(node.Name, state.Patch{}), Node: node, State: c.State}
	}
	x, y := on(a), on(b)
	r.node = node.Name
	defer func() { r.node = "" }()
	if ours, ok := r.ours.(plugin.Reserve); ok && slices.Contains(points, abi.Reserve) {
		theirs := r.theirs
		_, xs := ours.Reserve(x)
		_, ys := theirs.Reserve(y)
		r.counts.Placements++
		r.status("Reserve", xs, ys)
		defer func() {
			ours.Unreserve(x)
			theirs.Unreserve(y)
		}()
	}
	if ours, ok := r.ours.(plugin.PreBind); ok && slices.Contains(points, abi.PreBind) {
		r.counts.Placements++
		r.status("PreBindPreFlight", ours.PreBindPreFlight(x), r.theirs.PreBindPreFlight(y))
	}
	if ours, ok := r.ours.(plugin.Bind); ok && slices.Contains(points, abi.Bind) {
		r.bound.reset()
		_, xs := ours.Bind(x)
		_, ys := r.theirs.Bind(y)
		r.counts.Placements++
		r.status("Bind", xs, ys)
		same(r, "Binding", r.bound.ours, r.bound.theirs)
	}
}

// bindings records which side bound what.
type bindings struct {
	mu           sync.Mutex
	ours, theirs string
}

func (b *bindings) reset() { b.ours, b.theirs = "", "" }

// note is our binder. Bindings of some pods fail.
func (b *bindings) note(binding objects.Binding) error {
	b.ours = bindingText(binding.Pod.Namespace, binding.Pod.Name, string(binding.Pod.UID), binding.Node)
	return refuse(binding.Pod.Name)
}

func refuse(pod string) error {
	if len(pod)%4 == 0 {
		return fmt.Errorf("pod %s cannot be bound", pod)
	}
	return nil
}

func bindingText(namespace, name, uid, node string) string {
	return fmt.Sprintf("pod %s/%s (%s) to %s", namespace, name, uid, node)
}

// client is the API server of kube-scheduler's binder; nil for other plugins, which do not need
// it.
func (b *bindings) client(plugin string) kubernetes.Interface {
	if plugin != "DefaultBinder" {
		return nil
	}
	c := fake.NewSimpleClientset()
	c.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateAction)
		if !ok || create.GetSubresource() != "binding" {
			return false, nil, nil
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		binding := create.GetObject().(*v1.Binding)
		b.theirs = bindingText(binding.Namespace, binding.Name, string(binding.UID), binding.Target.Name)
		return true, nil, refuse(binding.Name)
	})
	return c
}
