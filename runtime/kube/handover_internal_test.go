package kube

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// busy is a loop that has events and status queued, and a binding that has begun, when it ends.
type busy struct {
	deaf
	cluster *Cluster
	pods    int
	bound   error
}

func (b *busy) Standby(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (b *busy) Run(ctx context.Context) error {
	<-ctx.Done()
	for i := range b.pods {
		pod := state.NewPod(&v1.Pod{ObjectMeta: named(fmt.Sprint("p", i)), Spec: v1.PodSpec{SchedulerName: "default-scheduler"}})
		b.cluster.Scheduled(pod, "n", 0)
		pod = state.NewPod(&v1.Pod{ObjectMeta: named(fmt.Sprint("q", i)), Spec: v1.PodSpec{SchedulerName: "default-scheduler"}})
		b.cluster.status.set(pod.Object, v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "Unschedulable"}, nil)
	}
	pod := state.NewPod(&v1.Pod{ObjectMeta: named("last"), Spec: v1.PodSpec{SchedulerName: "default-scheduler"}})
	b.bound = b.cluster.Bind(context.WithoutCancel(ctx), objects.Binding{Pod: pod, Node: "n"})
	return nil
}

// TestHandingOver: the lease is released soon after the last binding, although events and status are queued. No status is written
// from then on, and all events are.
func TestHandingOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := newRequests(clock.Real{})
		server := &refusing{requests: requests, cut: make(chan struct{}), takes: 100 * time.Millisecond, last: make(map[writeKind]time.Time)}
		client, _ := server.clients(t)
		c, err := New(Config{Profiles: []string{"default-scheduler"}}, Deps{Client: client, Requests: requests, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		leases := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "berth"}})
		var released time.Time
		leases.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if holder := a.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease).Spec.HolderIdentity; holder == nil || *holder == "" {
				released = time.Now()
			}
			return false, nil, nil
		})
		yes, duration := true, func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
		election, err := NewElection(componentconfigv1alpha1.LeaderElectionConfiguration{
			LeaderElect: &yes, ResourceLock: "leases", ResourceNamespace: "kube-system", ResourceName: "berth",
			LeaseDuration: duration(15 * time.Second), RenewDeadline: duration(10 * time.Second), RetryPeriod: duration(2 * time.Second),
		}, &Clients{Lease: leases, tenure: newTenure(clock.Real{}, 15*time.Second)}, c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		time.AfterFunc(time.Minute, stop)
		loop := &busy{cluster: c, pods: 1000}
		if err := c.Run(ctx, RunConfig{Grace: 10 * time.Second}, loop, election); err != nil || loop.bound != nil {
			t.Fatal(err, loop.bound)
		}
		binding := server.last[writeKind{"create", bindings}]
		if late := released.Sub(binding); released.IsZero() || late >= time.Second {
			t.Errorf("the lease is released %v after the last binding", late)
		}
		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c.Close(last)
		if status := server.last[writeKind{"patch", "pods/status"}]; status.After(released) {
			t.Errorf("a status is written %v after the release", status.Sub(released))
		}
		if len(server.notes) < loop.pods {
			t.Errorf("%d events are written", len(server.notes))
		}
	})
}
