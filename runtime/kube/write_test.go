package kube_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// writes returns the writes to pods that a client has made, in words.
func writes(client *fake.Clientset) (out []string) {
	for _, action := range client.Actions() {
		if action.GetResource().Resource != "pods" {
			continue
		}
		switch a := action.(type) {
		case clienttesting.PatchAction:
			out = append(out, fmt.Sprintf("patch %s %s %s", a.GetSubresource(), a.GetName(), withoutTime(a.GetPatch())))
		case clienttesting.CreateAction:
			b := a.GetObject().(*v1.Binding)
			out = append(out, fmt.Sprintf("bind %s %s to %s with %v", b.Name, b.UID, b.Target.Name, b.Annotations))
		case clienttesting.DeleteAction:
			out = append(out, fmt.Sprintf("delete %s if %s", a.GetName(), *a.GetDeleteOptions().Preconditions.UID))
		}
	}
	return out
}

func withoutTime(patch []byte) string {
	var all map[string]any
	if err := json.Unmarshal(patch, &all); err != nil {
		return err.Error()
	}
	if status, ok := all["status"].(map[string]any); ok {
		if conditions, ok := status["conditions"].([]any); ok {
			for _, c := range conditions {
				delete(c.(map[string]any), "lastTransitionTime")
				delete(c.(map[string]any), "lastProbeTime")
			}
		}
	}
	out, _ := json.Marshal(all)
	return string(out)
}

func expectWrites(t *testing.T, client *fake.Clientset, want ...string) {
	t.Helper()
	eventually.Holds(t, fmt.Sprintf("%d writes", len(want)), func() bool { return len(writes(client)) >= len(want) })
	if got := writes(client); !slices.Equal(got, want) {
		t.Errorf("writes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	client.ClearActions()
}

func failure(p *v1.Pod, message string) scheduler.Failure {
	return scheduler.Failure{Pod: state.NewPod(p), Reason: "Unschedulable", Message: message}
}

// TestStatus: a failed try is written on the pod, once; what is there already is not
// written, and a pod that is bound has nothing written.
func TestStatus(t *testing.T) {
	p := pod("p", "", "default-scheduler")
	p.ResourceVersion = "5" // which the fake API server keeps
	c, client := connect(t, p)
	const condition = `{"metadata":{"uid":"uid-p"},"status":{"conditions":[{"message":"no %s","reason":"Unschedulable","status":"False","type":"PodScheduled"}]%s}}`
	c.Failed(failure(p, "no room"))
	expectWrites(t, client, "patch status p "+fmt.Sprintf(condition, "room", ""))

	has := p.DeepCopy()
	has.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "Unschedulable", Message: "no room"}}
	has.ResourceVersion = "3"
	c.Failed(failure(has, "no room"))
	f := failure(has, "no room")
	f.Override, f.Nominated = true, "n"
	c.Failed(f)
	expectWrites(t, client, `patch status p {"metadata":{"uid":"uid-p"},"status":{"nominatedNodeName":"n"}}`)

	// The watch has not told of the nomination, which is void again.
	c.NominationCleared(state.NewPod(has))
	expectWrites(t, client, `patch status p {"metadata":{"uid":"uid-p"},"status":{"nominatedNodeName":""}}`)
}

// gate holds back requests until it is opened.
func gate(client *fake.Clientset, verb string) (arrived <-chan struct{}, open func()) {
	came, opened := make(chan struct{}, 100), make(chan struct{})
	client.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		came <- struct{}{}
		<-opened
		return false, nil, nil
	})
	return came, sync.OnceFunc(func() { close(opened) })
}

// TestStatusMerges: of the writes for a pod that wait for an earlier one only what
// they come to is written; of a pod that was bound meanwhile nothing is.
func TestStatusMerges(t *testing.T) {
	p, q := pod("p", "", "default-scheduler"), pod("q", "", "default-scheduler")
	c, client := connectWith(t, kube.Config{StatusWriters: 1}, p, q)
	arrived, open := gate(client, "patch")
	defer open()
	c.Failed(failure(p, "first"))
	<-arrived
	for i := range 5 {
		f := failure(p, fmt.Sprint("later ", i))
		f.Override, f.Nominated = i == 2, "n"
		c.Failed(f)
		c.Failed(failure(q, fmt.Sprint("later ", i)))
	}
	c.Scheduled(state.NewPod(q), "n", 0)
	if got := c.PendingWrites(); got != 1 {
		t.Errorf("%d writes wait, want 1", got)
	}
	open()
	eventually.Holds(t, "no writes", func() bool { return c.PendingWrites() == 0 })
	got := writes(client)
	last := `patch status p {"metadata":{"uid":"uid-p"},"status":{"conditions":[{"message":"later 4","reason":"Unschedulable","status":"False","type":"PodScheduled"}],"nominatedNodeName":"n"}}`
	if len(got) != 2 || got[1] != last {
		t.Errorf("writes are\n%s", strings.Join(got, "\n"))
	}
}

// TestBindingSupersedes: a binding drops what was to be written of the pod's status, and
// waits for what is on its way, unless it is cancelled.
func TestBindingSupersedes(t *testing.T) {
	p := pod("p", "", "default-scheduler")
	client := fake.NewClientset(p)
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		now := p.DeepCopy()
		now.ResourceVersion = "2"
		now.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "Unschedulable", Message: "first"}}
		return true, now, nil
	})
	arrived, opened := make(chan struct{}, 10), make(chan struct{})
	c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: &blocked{Interface: client, patch: func() {
		arrived <- struct{}{}
		<-opened
	}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Failed(failure(p, "first"))
	<-arrived
	c.Failed(failure(p, "second"))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := c.Binding(ctx, state.NewPod(p)); err == nil || !strings.Contains(err.Error(), "cancelled while the pod's status was written") {
		t.Errorf("error is %v", err)
	}
	c.Failed(failure(p, "third"))
	settled := make(chan error, 1)
	go func() { settled <- c.Binding(context.Background(), state.NewPod(p)) }()
	eventually.Holds(t, "nothing to write", func() bool { return c.PendingWrites() == 0 })
	time.Sleep(20 * time.Millisecond)
	if len(settled) > 0 {
		t.Error("it has not waited for the status that is on its way")
	}
	close(opened)
	if err := <-settled; err != nil {
		t.Error(err)
	}
	// The binding failed before the watch has told of the first write.
	c.Failed(failure(p, "first"))
	c.Close(context.Background())
	if got := writes(client); len(got) != 1 || !strings.Contains(got[0], "first") {
		t.Errorf("writes are %q", got)
	}
}

// TestStatusOfBound: of a pod that somebody else has bound nothing is written.
func TestStatusOfBound(t *testing.T) {
	p := pod("p", "", "default-scheduler")
	c, client, e := started(t, p)
	e.expect(t, "pod ns/p uid-p on ")
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("starting") // so that it is tried again
	})
	c.Failed(failure(p, "no room"))
	on := pod("p", "n", "default-scheduler")
	on.ResourceVersion = "2"
	if err := client.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, on, "ns"); err != nil {
		t.Fatal(err)
	}
	e.expect(t, "pod ns/p uid-p on n")
	if got := c.PendingWrites(); got != 0 {
		t.Errorf("%d writes wait, want none", got)
	}
}

// TestStatusRetries: a server that is not there is asked again, one that refuses is
// not.
func TestStatusRetries(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		tries int
	}{
		"unavailable": {apierrors.NewServiceUnavailable("starting"), 4},
		"network":     {errors.New("connection reset by peer"), 4},
		"throttled":   {apierrors.NewTooManyRequestsError("slow down"), 4},
		"not found":   {apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p"), 1},
		"forbidden":   {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", nil), 1},
		"another":     {apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("uid")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("p", "", "default-scheduler")
			cluster, client := connect(t, p)
			tries := 0
			client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if tries++; tries < 4 {
					return true, nil, c.err
				}
				return false, nil, nil
			})
			cluster.Failed(failure(p, "no room"))
			eventually.Holds(t, "no writes", func() bool { return cluster.PendingWrites() == 0 })
			if got := len(writes(client)); got != c.tries {
				t.Errorf("%d tries, want %d", got, c.tries)
			}
		})
	}
}

// TestStatusPauses: a write that is refused is not tried more often because more is asked
// for, and what was asked for last is written in the end.
func TestStatusPauses(t *testing.T) {
	p := pod("p", "", "default-scheduler")
	c, client := connect(t, p)
	var open atomic.Bool
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return !open.Load(), nil, apierrors.NewTooManyRequestsError("slow down")
	})
	const times = 500
	for i := range times {
		c.Failed(failure(p, fmt.Sprint("no room ", i)))
		time.Sleep(100 * time.Microsecond)
	}
	if got := len(writes(client)); got > times/10 {
		t.Errorf("%d tries while %d writes were asked for", got, times)
	}
	open.Store(true)
	eventually.Holds(t, "no writes", func() bool { return c.PendingWrites() == 0 })
	if got := writes(client); !strings.Contains(got[len(got)-1], fmt.Sprint("no room ", times-1)) {
		t.Errorf("the last write is %s", got[len(got)-1])
	}
}

// TestCloseWrites: the write in flight ends before the end, and what waits is dropped.
func TestCloseWrites(t *testing.T) {
	p := pod("p", "", "default-scheduler")
	c, client := connect(t, p)
	arrived, open := gate(client, "patch")
	defer open()
	c.Failed(failure(p, "first"))
	<-arrived
	c.Failed(failure(p, "second"))
	go func() {
		time.Sleep(20 * time.Millisecond)
		open()
	}()
	c.Close(context.Background())
	if got := writes(client); len(got) != 1 || !strings.Contains(got[0], "first") || c.PendingWrites() != 0 {
		t.Errorf("writes are %q", got)
	}
}

// TestBindWaits: bindings wait for their turn. Those that wait are cancelled when the
// scheduler is to stop, and those that have begun are made.
func TestBindWaits(t *testing.T) {
	_, client := connect(t)
	var mu sync.Mutex
	begun, most := 0, 0
	release := make(chan struct{})
	const pods = 200
	bound := make(chan error, pods)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	counting := &blocked{Interface: client, enter: func() {
		mu.Lock()
		begun++
		most = max(most, begun)
		mu.Unlock()
		<-release
	}, leave: func() {
		mu.Lock()
		begun--
		mu.Unlock()
	}}
	c, err := kube.New(kube.Config{Profiles: []string{"default-scheduler"}}, kube.Deps{Client: counting})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		go func() { bound <- c.Bind(ctx, binding(pod(fmt.Sprint("p", i), "", "default-scheduler"), nil, nil)) }()
	}
	eventually.Holds(t, "96 bindings on their way", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return begun == 96
	})
	stop()
	calledOff := 0
	for calledOff < pods-96 {
		if err := <-bound; err == nil || !strings.Contains(err.Error(), "cancelled before it was written") {
			t.Fatalf("error is %v", err)
		}
		calledOff++
	}
	close(release)
	for range 96 {
		if err := <-bound; err != nil {
			t.Error(err)
		}
	}
	if most != 96 {
		t.Errorf("%d bindings at once", most)
	}
	c.Close(context.Background())
}

func binding(p *v1.Pod, annotations, labels map[string]string) objects.Binding {
	patch := state.Patch{Annotations: annotations, Labels: labels}
	return objects.Binding{Pod: state.NewPod(p).On("n", patch), Node: "n", Patch: patch}
}

// TestBind: annotations travel with the binding, labels before it, and are taken back
// if the server refuses the binding.
func TestBind(t *testing.T) {
	p := pod("p", "", "default-scheduler")
	p.Labels = map[string]string{"old": "1"}
	c, client := connect(t, p)
	ended, cancel := context.WithCancel(context.Background())
	cancel() // the scheduler is to stop: what has its turn is bound nevertheless
	if err := c.Bind(ended, binding(p, map[string]string{"a/x": "1"}, nil)); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, client, "bind p uid-p to n with map[a/x:1]")

	if err := c.Bind(ended, binding(p, map[string]string{"a/x": "1"}, map[string]string{"a/y": "2"})); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, client,
		`patch  p {"metadata":{"annotations":{"a/x":"1"},"labels":{"a/y":"2"},"resourceVersion":"1","uid":"uid-p"}}`,
		"bind p uid-p to n with map[]")

	refused := apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, "p", errors.New("pod p is already assigned to node m"))
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	now, err := client.CoreV1().Pods("ns").Get(context.Background(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client.ClearActions()
	if err := c.Bind(context.Background(), binding(now, nil, map[string]string{"old": "2", "new": "3"})); !apierrors.IsConflict(err) {
		t.Errorf("error is %v", err)
	}
	expectWrites(t, client,
		`patch  p {"metadata":{"labels":{"new":"3","old":"2"},"resourceVersion":"1","uid":"uid-p"}}`,
		"bind p uid-p to n with map[]",
		`patch  p {"metadata":{"labels":{"new":null,"old":"1"},"uid":"uid-p"}}`)
}

// TestEvict: the condition comes before the deletion, which is of that pod only, and a
// pod that is gone is evicted.
func TestEvict(t *testing.T) {
	p := pod("p", "n", "other")
	c, client := connect(t, p)
	e := objects.Eviction{Victim: state.NewPod(p), Preemptor: state.NewPod(pod("q", "", "default-scheduler")),
		Condition: v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "PreemptionByScheduler"}}
	for range 2 { // the second time there is no such pod
		if err := c.Evict(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	const patch = `patch status p {"metadata":{"uid":"uid-p"},"status":{"conditions":[{"reason":"PreemptionByScheduler","status":"True","type":"DisruptionTarget"}]}}`
	expectWrites(t, client, patch, "delete p if uid-p", patch)

	again := pod("p", "n", "other")
	again.UID = "uid-other"
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("precondition failed: UID"))
	if err := client.Tracker().Add(again); err != nil {
		t.Fatal(err)
	}
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, conflict })
	if err := c.Evict(context.Background(), e); err != nil {
		t.Errorf("of a pod that another took the name of: %v", err)
	}
	e.Victim = state.NewPod(again)
	if err := c.Evict(context.Background(), e); !apierrors.IsConflict(err) {
		t.Errorf("of a pod that is there and cannot be written: %v", err)
	}
}

// TestEvictInDoubt: an error says that the pod may leave nevertheless unless the server has refused each request to delete it.
func TestEvictInDoubt(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := apierrors.NewForbidden(pods, "p", errors.New("no"))
	for name, c := range map[string]struct {
		answers []error
		doubt   bool
	}{
		"refused":              {[]error{forbidden}, false},
		"no answer":            {[]error{errors.New("connection reset by peer")}, true},
		"cancelled":            {[]error{context.Canceled}, true},
		"too late":             {[]error{context.DeadlineExceeded}, true},
		"refused only at last": {[]error{apierrors.NewInternalError(errors.New("the storage timed out")), forbidden}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("p", "n", "other")
			cluster, client := connect(t, p)
			client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				err := c.answers[0]
				if len(c.answers) > 1 {
					c.answers = c.answers[1:]
				}
				return true, nil, err
			})
			err := cluster.Evict(t.Context(), objects.Eviction{Victim: state.NewPod(p), Preemptor: state.NewPod(pod("q", "", "default-scheduler"))})
			if err == nil || errors.Is(err, objects.ErrUnanswered) != c.doubt {
				t.Errorf("%v, doubt %v", err, c.doubt)
			}
		})
	}
}

// TestEvents: events have kube-scheduler's words and the profile's name.
func TestEvents(t *testing.T) {
	const placed = "Normal|Scheduled|Binding|p||default-scheduler|Successfully assigned ns/p to n"
	others := []string{
		"Normal|Preempted|Preempting|q|p|default-scheduler|Preempted by pod uid-p on node n",
		"Warning|FailedScheduling|Scheduling|p||default-scheduler|1024x ...",
	}
	t.Run("left to others", func(t *testing.T) {
		c, client := connectWith(t, kube.Config{})
		c.Scheduled(state.NewPod(pod("p", "", "default-scheduler")), "n", state.FeatureVolumeClaims)
		c.Close(t.Context())
		list, err := client.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
		if want := "Successfully assigned ns/p to n; not enforced here, but left to others: volume-claims"; err != nil || len(list.Items) != 1 || list.Items[0].Note != want {
			t.Errorf("%v, %v, want %q", list, err, want)
		}
	})
	for quiet, want := range map[bool][]string{false: append([]string{placed}, others...), true: others} {
		t.Run(fmt.Sprint("quiet ", quiet), func(t *testing.T) {
			c, client := connectWith(t, kube.Config{Quiet: quiet})
			events(t, c, client, want)
		})
	}
}

// events expects the events of a pod that was placed, of one that was not, and of a victim.
func events(t *testing.T, c *kube.Cluster, client *fake.Clientset, want []string) {
	t.Helper()
	p, q := state.NewPod(pod("p", "", "default-scheduler")), state.NewPod(pod("q", "n", "other"))
	c.Scheduled(p, "n", 0)
	c.Failed(scheduler.Failure{Pod: p, Reason: "Unschedulable", Message: strings.Repeat("x", 1100)})
	c.Preempted(scheduler.Preempted{Victim: q, Preemptor: p, Message: "Preempted by pod uid-p on node n"})
	c.Close(t.Context()) // all are written
	list, err := client.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list.Items {
		related := ""
		if e.Related != nil {
			related = e.Related.Name
		}
		note := e.Note
		if len(note) > 100 {
			note = fmt.Sprint(len(note), note[len(note)-5:])
		}
		got = append(got, strings.Join([]string{e.Type, e.Reason, e.Action, e.Regarding.Name, related, e.ReportingController, note}, "|"))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("events are %q", got)
	}
}

// TestCloseEvents: events that are on their way are written before the end, as long as
// there is time.
func TestCloseEvents(t *testing.T) {
	for name, limit := range map[string]time.Duration{"in time": time.Minute, "too late": 200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			c, client := connect(t)
			came, opened := make(chan struct{}, 1), make(chan struct{})
			client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
				came <- struct{}{}
				<-opened
				return false, nil, nil
			})
			c.Scheduled(state.NewPod(pod("p", "", "default-scheduler")), "n", 0)
			<-came
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			closed := make(chan struct{})
			go func() {
				c.Close(ctx)
				close(closed)
			}()
			if limit < time.Minute {
				<-closed
				close(opened)
				return
			}
			select {
			case <-closed:
				t.Error("it has not waited")
			case <-time.After(3 * 50 * time.Millisecond):
			}
			close(opened)
			<-closed
			list, err := client.EventsV1().Events("ns").List(context.Background(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

// TestStorageWaits: who waits for storage looks again when it changes, and ends with
// the time or the context.
func TestStorageWaits(t *testing.T) {
	c, client, _ := started(t)
	storage := c.Storage()
	waited := make(chan error)
	go func() {
		waited <- storage.Waiter.Await(t.Context(), time.Minute, func() (bool, error) { return storage.Objects.Volumes.Volume("v") != nil, nil })
	}()
	if _, err := client.CoreV1().PersistentVolumes().Create(t.Context(), &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	never := func() (bool, error) { return false, nil }
	if err := storage.Waiter.Await(t.Context(), time.Millisecond, never); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the time: %v", err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if err := storage.Waiter.Await(over, time.Minute, never); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context: %v", err)
	}
	boom := errors.New("boom")
	if err := storage.Waiter.Await(t.Context(), time.Minute, func() (bool, error) { return false, boom }); !errors.Is(err, boom) {
		t.Errorf("after a failure: %v", err)
	}
}
