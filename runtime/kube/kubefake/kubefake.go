// Package kubefake is an in-memory API server for tests of packages that use a cluster. Pods
// that are bound get their node, and tests can hold up writes.
package kubefake

import (
	"context"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// API is the API server.
type API struct{ client *fake.Clientset }

// New returns an API server without objects.
func New() *API {
	a := &API{client: fake.NewClientset()}
	a.client.Resources = []*metav1.APIResourceList{{GroupVersion: "events.k8s.io/v1"}} // otherwise events are the old ones
	a.client.PrependReactor("create", "pods", a.bind)
	return a
}

// Clients returns what speaks to the server.
func (a *API) Clients() *kube.Clients {
	return &kube.Clients{Main: a.client, Events: a.client, Lease: a.client, Reviews: a.client, REST: &rest.Config{Host: "memory"}}
}

// AddNode creates a node.
func (a *API) AddNode(ctx context.Context, n *v1.Node) error {
	_, err := a.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	return err
}

// AddPod creates a pod.
func (a *API) AddPod(ctx context.Context, p *v1.Pod) error {
	_, err := a.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
	return err
}

// bind does what an API server does with a binding.
func (a *API) bind(action testing.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	b := action.(testing.CreateAction).GetObject().(*v1.Binding)
	tracker, pods := a.client.Tracker(), v1.SchemeGroupVersion.WithResource("pods")
	now, err := tracker.Get(pods, b.Namespace, b.Name)
	if err != nil {
		return true, nil, err
	}
	bound := now.(*v1.Pod).DeepCopy()
	bound.Spec.NodeName = b.Target.Name
	return true, b, tracker.Update(pods, bound, b.Namespace)
}

// Hold holds up writes with a verb to pods or one of their subresources, such as
// pods/binding, for pods with a name prefix. Call it before the scheduler writes.
func (a *API) Hold(verb, resource, name string) (release func()) {
	until := make(chan struct{})
	resource, sub, _ := strings.Cut(resource, "/")
	a.client.PrependReactor(verb, resource, func(action testing.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() == sub && strings.HasPrefix(named(action), name) {
			a.client.Unlock() // a client does one thing at a time
			<-until
			a.client.Lock()
		}
		return false, nil, nil
	})
	return sync.OnceFunc(func() { close(until) })
}

// named returns the name of the pod that a write is about.
func named(action testing.Action) string {
	switch write := action.(type) {
	case testing.CreateAction:
		if b, ok := write.GetObject().(metav1.Object); ok {
			return b.GetName()
		}
	case testing.PatchAction:
		return write.GetName()
	case testing.DeleteAction:
		return write.GetName()
	}
	return ""
}
