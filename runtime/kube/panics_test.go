package kube_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// mined is a cluster that panics at a place for the objects named bad.
func mined(t *testing.T, at string) (*kube.Cluster, *fake.Clientset, func() []*plugin.Panic) {
	t.Helper()
	client := fake.NewClientset()
	client.Resources = []*metav1.APIResourceList{{GroupVersion: "events.k8s.io/v1"}}
	var mu sync.Mutex
	var caught []*plugin.Panic
	c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{
		Client: client, Log: slog.New(slog.DiscardHandler),
		Fault: func(place, what string) {
			if place == at && strings.HasSuffix(what, "bad") {
				panic("a fault in " + what)
			}
		},
		Panicked: func(p *plugin.Panic) {
			mu.Lock()
			defer mu.Unlock()
			caught = append(caught, p)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close(context.Background())
	})
	return c, client, func() []*plugin.Panic {
		mu.Lock()
		defer mu.Unlock()
		return append([]*plugin.Panic(nil), caught...)
	}
}

// patched reports whether a pod's status was patched with a text.
func patched(client *fake.Clientset, name, text string) bool {
	for _, action := range client.Actions() {
		if p, ok := action.(clienttesting.PatchAction); ok && p.GetName() == name && strings.Contains(string(p.GetPatch()), text) {
			return true
		}
	}
	return false
}

// TestPanicOfConversion: an object that cannot be converted is left out, the version before it, too, if that is no pod on a
// node. A pod's condition says why. The other objects arrive.
func TestPanicOfConversion(t *testing.T) {
	c, client, caught := mined(t, "conversion")
	e := newEar(c)
	if err := c.Start(e); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := c.Await(ctx); err != nil {
		t.Fatal(err)
	}
	create := func(name string) {
		t.Helper()
		if _, err := client.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().Pods("ns").Create(ctx, pod(name, "", "default-scheduler"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("bad")
	create("good")
	eventually.Succeeds(t, func() error { // the pod is left out again after its condition was written
		e.mu.Lock()
		defer e.mu.Unlock()
		got := slices.Compact(slices.Sorted(slices.Values(e.heard)))
		if want := []string{"node gone bad", "node good", "pod gone uid-bad", "pod ns/good uid-good on "}; !slices.Equal(got, want) {
			return fmt.Errorf("heard %q, want %q", got, want)
		}
		return nil
	})
	for _, p := range caught() {
		if p.Place != plugin.InConversion || !strings.Contains(p.Value, "a fault in") || len(p.Stack) == 0 {
			t.Errorf("told of %+v", p)
		}
	}
	if n := len(caught()); n < 2 {
		t.Errorf("told of %d panics", n)
	}
	eventually.Holds(t, "no condition", func() bool {
		return patched(client, "bad", "a panic in pod ns/bad: a fault in pod ns/bad")
	})
}

// TestPanicOfWrites: a write that panics is one that failed. Those for other pods are made.
func TestPanicOfWrites(t *testing.T) {
	for _, at := range []string{"status", "event"} {
		t.Run(at, func(t *testing.T) {
			c, client, caught := mined(t, at)
			for _, name := range []string{"bad", "good"} {
				p := pod(name, "", "default-scheduler")
				if at == "event" {
					c.Scheduled(state.NewPod(p), "n", 0)
				} else {
					c.Failed(failure(p, "no room"))
				}
			}
			eventually.Holds(t, "no write", func() bool {
				for _, action := range client.Actions() {
					if at == "event" && action.GetResource().Resource == "events" {
						return true
					}
				}
				return at == "status" && patched(client, "good", "no room")
			})
			eventually.Holds(t, "writes are pending", func() bool { return c.PendingWrites() == 0 })
			eventually.Holds(t, "no panic is told", func() bool { return len(caught()) == 1 })
			if p := caught()[0]; p.Place != plugin.InWrite || !strings.Contains(p.What, "ns/bad") {
				t.Errorf("told of %+v", p)
			}
		})
	}
}

// brokenLoop panics at once.
type brokenLoop struct {
	*ear
	standing bool
}

func (l brokenLoop) Standby(ctx context.Context) error {
	if l.standing {
		return scheduler.ErrBroken
	}
	<-ctx.Done()
	return nil
}

func (l brokenLoop) Run(context.Context) error { return scheduler.ErrBroken }

// TestRunOfBrokenLoop: a loop that cannot go on ends Run, whether this replica leads or not.
func TestRunOfBrokenLoop(t *testing.T) {
	for _, standing := range []bool{true, false} {
		c, _, _ := mined(t, "")
		election, err := kube.NewElection(componentconfigv1alpha1.LeaderElectionConfiguration{}, &kube.Clients{}, c)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), kube.RunConfig{Grace: time.Second}, brokenLoop{newEar(c), standing}, election)
		if !errors.Is(err, scheduler.ErrBroken) {
			t.Errorf("standing by: %v; it ends with %v", standing, err)
		}
	}
}
