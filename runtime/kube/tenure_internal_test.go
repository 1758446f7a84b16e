package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// wire answers every request well and keeps what was asked for.
type wire struct {
	mu    sync.Mutex
	calls []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, r.Method)
	body := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ns"}}`
	if r.Method == http.MethodPost || r.Method == http.MethodDelete {
		body = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": []string{"application/json"}},
		Body: io.NopCloser(bytes.NewBufferString(body)), Request: r,
	}, nil
}

func (w *wire) sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls)
}

// TestTenure: what is written goes to the API server while the lease covers it, and
// nothing does from the moment at which another replica may have it.
func TestTenure(t *testing.T) {
	step := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	tenure, wire := newTenure(step, 15*time.Second), &wire{}
	config := &rest.Config{Host: "http://api", Transport: wire}
	config.Wrap(tenure.wrap)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	events := fake.NewClientset()
	events.Resources = []*metav1.APIResourceList{{GroupVersion: "events.k8s.io/v1"}}
	c, err := New(Config{Profiles: []string{"default-scheduler"}}, Deps{Client: client, Events: events, Covered: tenure.check})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "1"}}
	pod := state.NewPod(object)
	writes := map[string]func() error{
		"bind": func() error { return c.Bind(t.Context(), objects.Binding{Pod: pod, Node: "n"}) },
		"evict": func() error {
			return c.Evict(t.Context(), objects.Eviction{Victim: pod, Preemptor: pod, Condition: v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}})
		},
		"status": func() error {
			_, err := c.status.send(&statusWrite{pod: object, condition: v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse}})
			return err
		},
		"volume": func() error {
			_, err := c.UpdateVolume(t.Context(), &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}})
			return err
		},
	}
	all := func(when string, refused bool) {
		t.Helper()
		for name, write := range writes {
			before := wire.sent()
			err := write()
			switch sent := wire.sent() - before; {
			case refused && (!errors.Is(err, ErrLeaseLost) || sent > 0):
				t.Errorf("%s, %s: error is %v, %d requests", when, name, err, sent)
			case !refused && (err != nil || sent == 0):
				t.Errorf("%s, %s: error is %v, %d requests", when, name, err, sent)
			}
		}
	}
	all("without an election", false)
	tenure.require()
	all("before the lease is got", true)
	tenure.renew(step.Now())
	all("just renewed", false)
	step.Advance(15*time.Second - 1)
	all("at the end", false)
	step.Advance(1)
	all("when it has run out", true)
	if _, err := client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{}); err != nil {
		t.Errorf("nothing may be read: %v", err)
	}
	select {
	case <-tenure.over:
	default:
		t.Error("nobody is told that the lease has run out")
	}
	c.Failed(scheduler.Failure{Pod: pod, Reason: v1.PodReasonSchedulerError, Message: "no"})
	c.Scheduled(pod, "n", 0)
	c.Preempted(scheduler.Preempted{Victim: pod, Preemptor: pod, Message: "no"})
	if err := c.Binding(t.Context(), pod); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("an extender may bind: %v", err)
	}
	eventually.Holds(t, "no refused write of status is tried again", func() bool { return c.PendingWrites() == 0 })
	c.finish(t.Context())
	for _, action := range events.Actions() {
		if action.GetVerb() != "get" {
			t.Errorf("an event was written: %v", action)
		}
	}
}

// TestReadyWhileRenewing: a leader is not ready once it has not renewed its Lease, or that of a profile, for half of its time, and again
// when it has; a replica that waits is.
func TestReadyWhileRenewing(t *testing.T) {
	step := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	tenure := newTenure(step, 15*time.Second)
	tenure.require()
	election := &Election{tenure: tenure, rights: &leaseRights{}}
	ready := func(when string, want bool) {
		t.Helper()
		if err := election.Ready(nil); (err == nil) != want {
			t.Errorf("%s: %v", when, err)
		}
	}
	ready("while another leads", true)
	tenure.renew(step.Now())
	tenure.renewProfile("p", step.Now())
	step.Advance(7 * time.Second)
	ready("before half of the time", true)
	tenure.renew(step.Now())
	step.Advance(time.Second)
	ready("with an old Lease of a profile", false)
	tenure.renewProfile("p", step.Now())
	ready("with both renewed", true)
	step.Advance(7 * time.Second)
	ready("without a renewal", false)
	step.Advance(8 * time.Second)
	tenure.renew(step.Now())
	ready("after it has expired", false)
}

// TestEventsEnd: no event is written when the lease is lost, also of what was to be told
// before; that it was given back is told of in one. A write that is refused is not tried
// again.
func TestEventsEnd(t *testing.T) {
	step := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	tenure, wire := newTenure(step, 15*time.Second), &wire{}
	config := &rest.Config{Host: "http://api", Transport: wire}
	config.Wrap(tenure.wrapEvents)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	sink := newEventSink(&events.EventSinkImpl{Interface: client.EventsV1()})
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}}
	for _, write := range []struct {
		when string
		set  func()
		sent int
	}{
		{"while it leads", func() { tenure.require(); tenure.renew(step.Now()) }, 3},
		{"when the lease was given back", func() { tenure.renew(time.Time{}) }, 3},
		{"when the lease has run out", func() { tenure.renew(step.Now()); step.Advance(time.Minute) }, 0},
	} {
		write.set()
		before := wire.sent()
		_, created := sink.Create(t.Context(), event)
		_, updated := sink.Update(t.Context(), event)
		_, patched := sink.Patch(t.Context(), event, []byte("{}"))
		if err := errors.Join(created, updated, patched); err != nil || wire.sent()-before != write.sent {
			t.Errorf("%s: %d events were sent, want %d: %v", write.when, wire.sent()-before, write.sent, err)
		}
	}
}

// TestPausedLeader: a leader that did not run while its lease ran out ends with the first
// write that it tries, and leaves the lease to who has it.
func TestPausedLeader(t *testing.T) {
	step := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	client, yes := fake.NewClientset(), true
	tenure := newTenure(step, 15*time.Second)
	cluster, err := New(Config{Profiles: []string{"default-scheduler"}}, Deps{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close(t.Context())
	e, err := NewElection(componentconfigv1alpha1.LeaderElectionConfiguration{
		LeaderElect: &yes, ResourceLock: "leases", ResourceNamespace: "kube-system", ResourceName: "kube-scheduler",
		LeaseDuration: metav1.Duration{Duration: 15 * time.Second}, RenewDeadline: metav1.Duration{Duration: 10 * time.Second},
		RetryPeriod: metav1.Duration{Duration: 5 * time.Second}, // the elector itself does not look meanwhile
	}, &Clients{Lease: client, tenure: tenure}, cluster)
	if err != nil {
		t.Fatal(err)
	}
	leases := client.CoordinationV1().Leases("kube-system")
	var lease *coordinationv1.Lease
	other := "other"
	err = e.Lead(t.Context(), func(ctx context.Context) error {
		if err := tenure.check(); err != nil {
			t.Errorf("the leader must not write: %v", err)
		}
		step.Advance(16 * time.Second) // paused
		if lease, err = leases.Get(ctx, "kube-scheduler", metav1.GetOptions{}); err != nil {
			return err
		}
		lease.Spec.HolderIdentity = &other
		if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if err := tenure.check(); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("it may write on: %v", err)
		}
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, ErrLeaseLost) {
		t.Errorf("error is %v", err)
	}
	if lease, err = leases.Get(t.Context(), "kube-scheduler", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if who := *lease.Spec.HolderIdentity; who != other {
		t.Errorf("the lease was taken from who has it, and is %q's", who)
	}
}

// TestTaken: a leader that sees another one in the lease writes nothing more, although its
// clock says that it may; a standby sees another one all the time.
func TestTaken(t *testing.T) {
	for name, leads := range map[string]bool{"leader": true, "standby": false} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			tenure := newTenure(clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), 15*time.Second)
			tenure.require()
			inner, err := resourcelock.New("leases", "kube-system", "berth", client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: "this"})
			if err != nil {
				t.Fatal(err)
			}
			lock := timedLock{Interface: inner, tenure: tenure, working: &atomic.Bool{}}
			record := resourcelock.LeaderElectionRecord{HolderIdentity: "this"}
			if leads {
				if err := lock.Create(t.Context(), record); err != nil {
					t.Fatal(err)
				}
				if _, _, err := lock.Get(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := tenure.check(); err != nil {
					t.Errorf("the leader must not write: %v", err)
				}
				record.HolderIdentity = "other"
				err = inner.Update(t.Context(), record)
			} else {
				record.HolderIdentity = "other"
				err = inner.Create(t.Context(), record)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := lock.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
			select {
			case <-tenure.over:
				if !leads {
					t.Error("a standby is told to end")
				}
			default:
				if leads {
					t.Error("the leader is not told to end")
				}
			}
			if err := tenure.check(); !errors.Is(err, ErrLeaseLost) {
				t.Errorf("it may write: %v", err)
			}
		})
	}
}

// TestWrapper: client-go finds its transport behind the wrapper.
func TestWrapper(t *testing.T) {
	inner := &http.Transport{}
	wrapped := newTenure(clock.Real{}, time.Second).wrap(inner)
	w, ok := wrapped.(utilnet.RoundTripperWrapper)
	if !ok || w.WrappedRoundTripper() != inner {
		t.Errorf("%T hides the transport", wrapped)
	}
}
