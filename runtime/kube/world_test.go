package kube_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// ear is a scheduler that only listens.
type ear struct {
	mu    sync.Mutex
	heard []string

	objects scheduler.Objects
}

func newEar(objects scheduler.Objects) *ear {
	return &ear{objects: objects}
}

func (e *ear) hear(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, what)
}

func (e *ear) SetPods(pods ...*state.Pod) {
	for _, p := range pods {
		e.hear("pod " + p.Key() + " " + string(p.UID) + " on " + p.NodeName())
	}
}
func (e *ear) DeletePod(uid types.UID)         { e.hear("pod gone " + string(uid)) }
func (e *ear) SetNode(n *state.Node)           { e.hear("node " + n.Name) }
func (e *ear) DeleteNode(name string)          { e.hear("node gone " + name) }
func (e *ear) SetNamespace(n *state.Namespace) { e.hear("namespace " + n.Name) }
func (e *ear) DeleteNamespace(name string)     { e.hear("namespace gone " + name) }

func (e *ear) SetObject(o metav1.Object)    { e.change(o, false) }
func (e *ear) DeleteObject(o metav1.Object) { e.change(o, true) }

func (e *ear) Written(claim *resourcev1.ResourceClaim) {
	var event state.ClusterEvent
	ok := false
	e.between(func() { event, _, ok = e.objects.Written(claim) })
	if ok {
		e.hear("event " + event.Name())
	}
}
func (e *ear) Activate(uids ...types.UID) { e.hear(fmt.Sprint("activate ", uids)) }

func (e *ear) change(o metav1.Object, gone bool) {
	var event state.ClusterEvent
	ok := false
	e.between(func() { event, _, ok = e.objects.Change(o, gone) })
	if ok {
		e.hear("event " + event.Name())
	}
}

// between calls a function when nothing is applied, as the loop calls plugins.
func (e *ear) between(call func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	call()
}

// expect waits until everything of a list was heard, in any order, and forgets what
// was heard. What is not expected is an error.
func (e *ear) expect(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	eventually.Succeeds(t, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		got := slices.Clone(e.heard)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("heard %q, want %q", got, want)
		}
		e.heard = nil
		return nil
	})
}

// never fails the test if anything is heard that was not expected.
func (e *ear) never(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.heard) > 0 {
		t.Errorf("heard %q as well", e.heard)
	}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"}
}

func pod(name, node, scheduler string) *v1.Pod {
	return &v1.Pod{ObjectMeta: meta(name), Spec: v1.PodSpec{NodeName: node, SchedulerName: scheduler}}
}

// connect makes a cluster of objects, which is closed with the test.
func connect(t *testing.T, objects ...runtime.Object) (*kube.Cluster, *fake.Clientset) {
	t.Helper()
	return connectWith(t, kube.Config{}, objects...)
}

// started is connect with an ear that has heard what there is.
func started(t *testing.T, objects ...runtime.Object) (*kube.Cluster, *fake.Clientset, *ear) {
	t.Helper()
	c, client := connect(t, objects...)
	e := newEar(c)
	if err := c.Start(e); err != nil {
		t.Fatal(err)
	}
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, client, e
}

// connectWith is connect with a configuration, of which the profile is the default one.
func connectWith(t *testing.T, config kube.Config, objects ...runtime.Object) (*kube.Cluster, *fake.Clientset) {
	t.Helper()
	config.Profiles = []string{"default-scheduler"}
	client := fake.NewClientset(objects...)
	client.Resources = []*metav1.APIResourceList{{GroupVersion: "events.k8s.io/v1"}} // otherwise events are the old ones
	c, err := kube.New(config, kube.Deps{Client: client, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close(context.Background())
	})
	return c, client
}
