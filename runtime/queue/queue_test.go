package queue_test

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

func TestConfigIsValidated(t *testing.T) {
	deps := queue.Deps{
		Clock: clock.Real{}, Less: byPriority,
		Gate: func([]*state.QueuedPod, []queue.GateResult) {},
		Hint: func(state.ClusterEvent, state.Object, []*state.QueuedPod, []state.Requeue) {},
	}
	for _, c := range []struct {
		name string
		edit func(*queue.Config, *queue.Deps)
		want string
	}{
		{"default", func(*queue.Config, *queue.Deps) {}, ""},
		{"no backoff", func(c *queue.Config, _ *queue.Deps) { c.InitialBackoff, c.MaxBackoff = 0, 0 }, ""},
		{"negative max", func(c *queue.Config, _ *queue.Deps) { c.MaxBackoff = -1 }, "queue: max backoff -1ns is negative"},
		{"no initial", func(c *queue.Config, _ *queue.Deps) { c.InitialBackoff = 0 }, "queue: initial backoff 0s is not positive"},
		{"initial above max", func(c *queue.Config, _ *queue.Deps) { c.InitialBackoff = time.Minute }, "queue: initial backoff 1m0s exceeds max backoff 10s"},
		{"no max unschedulable", func(c *queue.Config, _ *queue.Deps) { c.MaxUnschedulable = 0 }, "queue: max time unschedulable 0s is not positive"},
		{"no interval", func(c *queue.Config, _ *queue.Deps) { c.LeftoverInterval = 0 }, "queue: leftover interval 0s is not positive"},
		{"no clock", func(_ *queue.Config, d *queue.Deps) { d.Clock = nil }, "queue: Clock, Less, Gate and Hint are required"},
		{"no hint", func(_ *queue.Config, d *queue.Deps) { d.Hint = nil }, "queue: Clock, Less, Gate and Hint are required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, deps := queue.DefaultConfig(), deps
			c.edit(&config, &deps)
			got := ""
			if _, err := queue.New(config, deps); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("error %q, want %q", got, c.want)
			}
		})
	}
}

// TestBackoffNeverOverflows tries a pod more often than durations have bits.
func TestBackoffNeverOverflows(t *testing.T) {
	config := queue.DefaultConfig()
	config.InitialBackoff, config.MaxBackoff = 1, 1<<63-1
	w := newWorld(t, config, nil)
	w.Add(newPod("a", nil))
	last := time.Time{}
	for range 70 {
		p, ok := w.Pop()
		if !ok {
			t.Fatal("the pod is gone")
		}
		w.AddFailed(p)
		if p.BackoffUntil.Before(last) {
			t.Fatalf("after %d errors the backoff ends at %v, before that before, %v", p.Errors, p.BackoffUntil, last)
		}
		last = p.BackoffUntil
		w.Activate([]types.UID{"a"})
	}
	if want := w.start.Add(1<<63 - 1).Truncate(queue.BackoffWindow); !last.Equal(want) {
		t.Errorf("the last backoff ends at %v, want %v", last, want)
	}
}

// TestRecreatedPod updates a pod to one with the same name and another UID, as informers do
// that missed the deletion.
func TestRecreatedPod(t *testing.T) {
	w := newWorld(t, queue.DefaultConfig(), nil)
	old, recreated := newPod("a", nil), newPod("b", nil)
	w.Add(old)
	popped, _ := w.Pop()
	w.Nominate("a", "n1")
	w.Update(old, recreated)
	if w.Has("a") || !w.Has("b") || w.Nominations().Len() != 0 {
		t.Error("the new pod did not take the old one's place")
	}
	if w.AddUnschedulable(popped) || w.Len() != 1 {
		t.Error("the old pod came back")
	}
	if p, ok := w.Pop(); !ok || p.Attempts != 1 {
		t.Errorf("popped %v: the new pod should start from zero", p)
	}
}

func TestUpdateWithoutOldVersion(t *testing.T) {
	w := newWorld(t, queue.DefaultConfig(), nil)
	w.Add(newPod("a", nil))
	w.Update(nil, newPod("a", func(p *v1.Pod) { p.Labels = map[string]string{"x": "y"} }))
	if p, place := w.Get("a"); place != queue.Active || p.Pod.Object.Labels["x"] != "y" {
		t.Errorf("at %v with labels %v", place, p.Pod.Object.Labels)
	}
	if p, place := w.Get("b"); p != nil || place != queue.Nowhere {
		t.Errorf("an unknown pod is at %v", place)
	}
}

// TestWildcardForOnePod: a wildcard event whose new object is a pod moves only that pod.
func TestWildcardForOnePod(t *testing.T) {
	w := newWorld(t, queue.DefaultConfig(), nil)
	a, b := newPod("a", nil), newPod("b", nil)
	w.Add(a, b)
	for range 2 {
		p, _ := w.Pop()
		p.Rejectors = []string{"Fit"}
		w.AddUnschedulable(p)
	}
	w.clock.Advance(5 * time.Second)
	w.Move(state.EventForceActivate(), state.Object{New: "something else"}, nil)
	if c := w.Pending(); c.Unschedulable != 2 {
		t.Errorf("%+v: moved by a wildcard for something else", c)
	}
	w.Move(state.EventForceActivate(), state.Object{NewPod: b}, nil)
	if _, place := w.Get("b"); place != queue.Active || w.Pending().Unschedulable != 1 {
		t.Errorf("b is at %v, %+v", place, w.Pending())
	}
}

// TestRejectorsAreNotShared: a gate adds itself to the rejectors of a pod, but must not change
// a shared slice.
func TestRejectorsAreNotShared(t *testing.T) {
	w := newWorld(t, queue.DefaultConfig(), nil)
	w.Add(newPod("a", nil))
	p, _ := w.Pop()
	shared := append(make([]string, 0, 8), "Fit")
	p.Rejectors = shared
	w.Move(state.EventForceActivate(), state.Object{}, nil)
	w.gates["a"] = queue.GateResult{Plugin: "Gate", Reason: "no"}
	w.AddUnschedulable(p)
	if !slices.Equal(p.Rejectors, []string{"Fit", "Gate"}) || shared[:2][1] != "" {
		t.Errorf("rejectors %v, the caller's slice %v", p.Rejectors, shared[:2])
	}
}

// TestKeys: sort keys are computed when pods enter Active or a backoff, when they are updated
// there and by Rebuild, but not when a backoff ends.
func TestKeys(t *testing.T) {
	var asked []string
	c := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	q, err := queue.New(queue.DefaultConfig(), queue.Deps{
		Clock: c, Less: byPriority,
		Gate: func(pods []*state.QueuedPod, out []queue.GateResult) {
			for i, p := range pods {
				if p.Pod.Name == "gated" {
					out[i].Plugin = "G"
				}
			}
		},
		Hint: func(state.ClusterEvent, state.Object, []*state.QueuedPod, []state.Requeue) {},
		Key: func(pods []*state.QueuedPod) {
			for _, p := range pods {
				asked = append(asked, p.Pod.Name)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(asked, want) {
			t.Errorf("%s: keys computed for %v, want %v", what, asked, want)
		}
		asked = nil
	}
	q.Add(newPod("a", nil), newPod("gated", nil), newPod("b", nil))
	expect("add", "a", "b")
	q.Update(nil, newPod("b", nil))
	expect("update", "b")
	p, _ := q.Pop()
	q.AddFailed(p)
	expect("pop and fail", "a")
	q.Rebuild(nil)
	expect("rebuild", "b", "a")
	c.Advance(3 * time.Second)
	q.Tick()
	expect("tick")
}

func TestPlaceNames(t *testing.T) {
	var got []string
	for p := queue.Nowhere; p <= queue.Binding+1; p++ {
		got = append(got, p.String())
	}
	want := []string{"nowhere", "active", "backoff", "error-backoff", "unschedulable", "gated", "in-flight", "binding", "unknown"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestManyEventsInFlight keeps a pod in flight while others come and go with events in between,
// so that the log grows, shrinks from the front and empties.
func TestManyEventsInFlight(t *testing.T) {
	w := newWorld(t, queue.DefaultConfig(), nil)
	names := []string{"a", "b", "c", "d"}
	var out []*state.QueuedPod
	for i, name := range names {
		w.Add(newPod(name, nil))
		p, _ := w.Pop()
		out = append(out, p)
		for range 1000 * (i + 1) {
			w.Move(state.EventAssignedPodAdd(), state.Object{}, nil)
		}
	}
	for i, want := range []int{9000, 7000, 4000, 0} {
		w.Delete(out[i].Pod.UID)
		if got := w.InFlightEvents(); got != want {
			t.Errorf("without %s %d events are kept, want %d", out[i].Pod.Name, got, want)
		}
	}
	w.Add(newPod("e", nil))
	p, _ := w.Pop()
	w.hints["e AssignedPod/Add"] = state.AfterBackoff
	w.Move(state.EventAssignedPodAdd(), state.Object{}, nil)
	p.Rejectors = []string{"Fit"}
	w.AddUnschedulable(p)
	if _, place := w.Get("e"); place != queue.Backoff {
		t.Errorf("e is at %v: its event was lost", place)
	}
}
