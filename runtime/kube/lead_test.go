package kube_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// elect makes a replica that holds its lease longer than a busy machine stands still.
func elect(t *testing.T, client *fake.Clientset, events *kube.Cluster) *kube.Election {
	t.Helper()
	return electFor(t, 60*time.Second, client, events)
}

func electFor(t *testing.T, lease time.Duration, client *fake.Clientset, events *kube.Cluster) *kube.Election {
	t.Helper()
	yes := true
	e, err := kube.NewElection(componentconfigv1alpha1.LeaderElectionConfiguration{
		LeaderElect: &yes, ResourceLock: "leases", ResourceNamespace: "kube-system", ResourceName: "kube-scheduler",
		LeaseDuration: metav1.Duration{Duration: lease}, RenewDeadline: metav1.Duration{Duration: lease / 2},
		RetryPeriod: metav1.Duration{Duration: 100 * time.Millisecond},
	}, &kube.Clients{Lease: client}, events)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestLead: one of two replicas leads. When it is told to end it finishes its work
// before it gives the lease back, and then the other one leads.
func TestLead(t *testing.T) {
	cluster, client := connect(t)
	var leading atomic.Int32
	began, ended := make(chan string, 2), make(chan error, 2)
	lead := func(ctx context.Context, e *kube.Election, name string, finish time.Duration) {
		ended <- e.Lead(ctx, func(ctx context.Context) error {
			if n := leading.Add(1); n != 1 {
				t.Errorf("%d replicas lead", n)
			}
			began <- name
			<-ctx.Done()
			time.Sleep(finish) // bindings are on their way
			leading.Add(-1)
			return nil
		})
	}
	one, two := elect(t, client, cluster), elect(t, client, cluster)
	if who, here := one.Leader(); who != "" || here {
		t.Errorf("%q leads before anybody does", who)
	}
	first, endFirst := context.WithCancel(context.Background())
	go lead(first, one, "first", 300*time.Millisecond)
	if who := <-began; who != "first" {
		t.Fatal(who)
	}
	second, endSecond := context.WithCancel(context.Background())
	defer endSecond()
	go lead(second, two, "second", 0)
	select {
	case <-began:
		t.Fatal("the second one leads, too")
	case <-time.After(300 * time.Millisecond):
	}
	for e, leads := range map[*kube.Election]bool{one: true, two: false} {
		if who, here := e.Leader(); who != one.Identity() || here != leads {
			t.Errorf("%q leads, here: %v", who, here)
		}
	}
	endFirst()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if who := <-began; who != "second" {
		t.Error(who)
	}
	third, endThird := context.WithCancel(context.Background())
	go lead(third, elect(t, client, cluster), "third", 0)
	time.Sleep(150 * time.Millisecond)
	endThird() // while it waits
	if err := <-ended; err != nil {
		t.Error(err)
	}
	endSecond()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLeaseLost: who cannot renew the lease stops.
func TestLeaseLost(t *testing.T) {
	cluster, client := connect(t)
	var down atomic.Bool
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return down.Load(), nil, apierrors.NewServiceUnavailable("gone")
	})
	began := make(chan struct{})
	ended := make(chan error, 1)
	e := electFor(t, 2*time.Second, client, cluster)
	go func() {
		ended <- e.Lead(context.Background(), func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return nil
		})
	}()
	<-began
	down.Store(true)
	if err := <-ended; !errors.Is(err, kube.ErrLeaseLost) {
		t.Errorf("error is %v", err)
	}
}

// TestLeaseKept: the lease is not given back while what was begun under it has not ended,
// and Lead does not return before.
func TestLeaseKept(t *testing.T) {
	cluster, client := connect(t)
	var down, released, working atomic.Bool
	client.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		lease := action.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		if holder := lease.Spec.HolderIdentity; holder == nil || *holder == "" {
			if lease.Name == "kube-scheduler" || working.Load() { // those of profiles are given back afterwards
				released.Store(true)
			}
			return false, nil, nil
		}
		return down.Load(), nil, apierrors.NewServiceUnavailable("gone")
	})
	e := electFor(t, 2*time.Second, client, cluster)
	err := e.Lead(context.Background(), func(ctx context.Context) error {
		working.Store(true)
		down.Store(true)
		<-ctx.Done()
		time.Sleep(300 * time.Millisecond) // a binding is on its way
		working.Store(false)
		return nil
	})
	if !errors.Is(err, kube.ErrLeaseLost) {
		t.Errorf("error is %v", err)
	}
	if released.Load() || working.Load() {
		t.Errorf("given back: %v; at work: %v", released.Load(), working.Load())
	}
}

// TestEndsAsItBegins: a replica that is told to end while it gets the lease keeps none, whether it has begun to lead or not.
func TestEndsAsItBegins(t *testing.T) {
	cluster, client := connect(t)
	var mu sync.Mutex
	end := func() {}
	client.PrependReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if verb := action.GetVerb(); verb == "create" || verb == "update" {
			go end() // while the answer is on its way
		}
		return false, nil, nil
	})
	for i := range 400 {
		ctx, cancel := context.WithCancel(t.Context())
		mu.Lock()
		end = func() {
			for range i { // sooner and later
				goruntime.Gosched()
			}
			cancel()
		}
		mu.Unlock()
		if err := elect(t, client, cluster).Lead(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }); err != nil {
			t.Fatal(err)
		}
		lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-scheduler", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
			t.Fatalf("the lease is kept by %s", *holder)
		}
	}
}

// TestNoElection: without election lead is called at once, and its error is what
// comes.
func TestNoElection(t *testing.T) {
	boom := errors.New("boom")
	e, err := kube.NewElection(componentconfigv1alpha1.LeaderElectionConfiguration{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Lead(context.Background(), func(context.Context) error { return boom }); !errors.Is(err, boom) || e.Check(nil) != nil || e.Identity() != "" {
		t.Errorf("error is %v", err)
	}
	if who, here := e.Leader(); who != "" || !here {
		t.Errorf("%q leads, here: %v", who, here)
	}
}
