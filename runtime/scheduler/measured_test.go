package scheduler_test

import (
	"maps"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// endings records how bindings ended, with copies of the data that the loop reuses.
type endings struct {
	scheduler.Observer
	all []report.Ending
}

func (e *endings) Ended(end *report.Ending) {
	kept := *end
	kept.Points = append([]report.PointTiming(nil), end.Points...)
	e.all = append(e.all, kept)
}

// TestMeasured: events are measured under their names, new pods one by one. An ending says how
// the pod waited at Permit and that no event had woken it.
func TestMeasured(t *testing.T) {
	w := newWorld(t, &scenario.Log{})
	seen := &endings{Observer: w}
	w.observer = seen
	handled := make(map[string]int)
	w.handled = func(event state.ClusterEvent, took time.Duration) {
		handled[event.Name()]++
		if took < 0 {
			t.Errorf("%s took %v", event.Name(), took)
		}
	}
	w.declare("A", scenario.MustParse("filter=n0=unschedulable:no permit=wait:10s"))
	set := func(name string) {
		node, err := fake.Node(name, scenario.Args{})
		if err != nil {
			t.Fatal(err)
		}
		w.get().SetNode(node)
	}
	set("n0")
	first, err := fake.Pod("p0", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := fake.Pod("p1", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	w.set(first, second)
	w.run()
	set("n1") // which A has not registered
	w.run()
	w.clock.Advance(6 * time.Minute) // they are flushed
	w.run()
	w.get().AllowWaiting(first.UID, "A")
	w.run()
	w.clock.Advance(11 * time.Second) // the second one has waited for too long
	w.run()
	pending := state.ClusterEvent{Resource: state.UnscheduledPodResource, Action: state.Add}
	want := map[string]int{"NodeAdd": 2, pending.Name(): 2, state.EventAssignedPodAdd().Name(): 1}
	if !maps.Equal(handled, want) {
		t.Errorf("events %v, want %v", handled, want)
	}
	if len(seen.all) != 2 {
		t.Fatalf("%d placements ended: %+v", len(seen.all), seen.all)
	}
	for i, want := range []struct{ wait, code abi.Code }{{abi.Success, abi.Success}, {abi.Unschedulable, abi.Unschedulable}} {
		e := &seen.all[i]
		if e.Code != want.code || !e.Flushed || e.Wait == nil || e.Wait.Code != want.wait {
			t.Errorf("%s: %+v, wait %+v", e.Pod, e, e.Wait)
		}
		if len(e.Points) < 2 || e.Points[0].Point != abi.Reserve || e.Points[1].Point != abi.Permit || e.Points[1].Code != abi.Wait {
			t.Errorf("%s: points %+v", e.Pod, e.Points)
		}
	}
}
