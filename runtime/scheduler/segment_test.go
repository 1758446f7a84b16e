package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
)

// segmented notes the types of the events of each segment.
type segmented struct {
	full     bool
	segments [][]string
}

func (s *segmented) Full() bool { return s.full }

func (s *segmented) Begin() {
	s.full = false
	s.segments = append(s.segments, nil)
}

func (s *segmented) Enter(e inbox.Event) {
	if n := len(s.segments); n > 0 {
		s.segments[n-1] = append(s.segments[n-1], strings.TrimPrefix(fmt.Sprintf("%T", e), "*inbox."))
	}
}

// TestSegment: while a pod is in flight with a plugin that cannot say what it keeps for it, no segment begins. For a
// moment no pod is tried, so that bindings can end; if they do not, the loop goes on, and holds again a minute later.
func TestSegment(t *testing.T) {
	w, r := newWorld(t, nil), &segmented{}
	w.observer, w.recorder, w.objects = nil, r, &keeper{}
	w.declare("Keeps", scenario.MustParse("reserve="))
	s := w.get()
	node, err := fake.Node("n", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	s.SetNode(node)
	pods := func(names ...string) {
		for _, name := range names {
			p := made(t, name, "")
			w.pods[p.UID] = p
			s.SetPods(p)
		}
	}
	w.held = true
	pods("first", "second")
	if !s.Step(t.Context()) || len(w.spawned) != 1 {
		t.Fatalf("%d bindings", len(w.spawned))
	}
	r.full = true
	for range 3 {
		if s.Step(t.Context()) || len(w.spawned) != 1 || len(r.segments) > 0 {
			t.Fatal("a pod was tried, or a segment was begun")
		}
	}
	if at, ok := s.NextDeadline(); !ok || !at.Equal(w.clock.Now().Add(200*time.Millisecond)) {
		t.Errorf("the next deadline is %v", at)
	}
	w.clock.Advance(time.Second)
	if !s.Step(t.Context()) || len(w.spawned) != 2 {
		t.Errorf("%d bindings after the hold", len(w.spawned))
	}
	pods("third")
	if !s.Step(t.Context()) || len(w.spawned) != 3 {
		t.Errorf("held again at once: %d bindings", len(w.spawned))
	}
	pods("fourth")
	w.clock.Advance(time.Minute)
	if s.Step(t.Context()) || len(w.spawned) != 3 {
		t.Errorf("not held again: %d bindings", len(w.spawned))
	}
	for _, run := range w.spawned {
		run()
	}
	w.spawned, w.held = nil, false
	s.Step(t.Context())
	if len(r.segments) != 1 {
		t.Fatalf("%d segments", len(r.segments))
	}
	if got, want := strings.Join(r.segments[0][:6], " "), "Clock Object Node Pods Carried Queued"; got != want {
		t.Errorf("it begins with %s, want %s", got, want)
	}
}

// TestSegmentInFlight: pods in flight with plugins that keep nothing, or can say what, hold nothing up.
func TestSegmentInFlight(t *testing.T) {
	w, r := newWorld(t, nil), &segmented{}
	w.observer, w.recorder, w.objects, w.held = nil, r, &keeper{}, true
	w.declare("Waits", scenario.MustParse("permit=waits=wait:1m"))
	s := w.get()
	node, err := fake.Node("n", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	s.SetNode(node)
	for _, name := range []string{"waits", "binds", "last"} {
		p := made(t, name, "")
		w.pods[p.UID] = p
		s.SetPods(p)
	}
	s.Step(t.Context())
	s.Step(t.Context())
	r.full = true
	s.Step(t.Context())
	const want = "Clock Object Node Assumed Assumed Carried Queued Queued Queued InFlight InFlight"
	if len(r.segments) != 1 || !strings.HasPrefix(strings.Join(r.segments[0], " "), want) {
		t.Errorf("%v, want %s", r.segments, want)
	}
	if at, ok := s.NextDeadline(); ok && at.Before(w.clock.Now()) {
		t.Errorf("held until %v", at)
	}
}
