package scheduler_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

func TestNewErrors(t *testing.T) {
	workers, err := pipeline.NewWorkers(1)
	if err != nil {
		t.Fatal(err)
	}
	defer workers.Close()
	profile := func(name, sort string) *pipeline.Pipeline {
		s, _ := fake.Declare(sort, scenario.MustParse("sort= bind="), fake.Deps{})
		entries := []pipeline.Entry{{Plugin: s}}
		p, err := pipeline.New(pipeline.Config{Profile: name, Points: map[abi.Point][]pipeline.Entry{abi.QueueSort: entries, abi.Bind: entries}},
			pipeline.Deps{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	good := scheduler.Deps{Clock: clock.NewHeld(clock.Real{}), Outlet: &outletCount{}, Pipelines: []*pipeline.Pipeline{profile("a", "S")}}
	config := scheduler.Config{Queue: queue.DefaultConfig()}
	if _, err := scheduler.New(config, good); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(c *scheduler.Config, d *scheduler.Deps){
		"Clock":          func(_ *scheduler.Config, d *scheduler.Deps) { d.Clock = nil },
		"Outlet":         func(_ *scheduler.Config, d *scheduler.Deps) { d.Outlet = nil },
		"one pipeline":   func(_ *scheduler.Config, d *scheduler.Deps) { d.Pipelines = nil },
		`are named "a"`:  func(_ *scheduler.Config, d *scheduler.Deps) { d.Pipelines = append(d.Pipelines, profile("a", "S")) },
		"by S and T":     func(_ *scheduler.Config, d *scheduler.Deps) { d.Pipelines = append(d.Pipelines, profile("b", "T")) },
		"max backoff":    func(c *scheduler.Config, _ *scheduler.Deps) { c.Queue.MaxBackoff = -1 },
		"time unschedul": func(c *scheduler.Config, _ *scheduler.Deps) { c.Queue.MaxUnschedulable = 0 },
	} {
		c, d := config, good
		d.Pipelines = append([]*pipeline.Pipeline(nil), good.Pipelines...)
		spoil(&c, &d)
		if _, err := scheduler.New(c, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestTotals: the work of every plugin is counted, over cycles and bindings.
func TestTotals(t *testing.T) {
	w := newWorld(t, nil)
	w.observer = nil
	w.declare("A", scenario.MustParse("filter=n1=unschedulable:no reserve=ok permit=p1=unschedulable:no prebind=ok gate=ok score=1 events=Node/Add"))
	for _, name := range []string{"n0", "n1"} {
		node, _ := fake.Node(name, scenario.Args{})
		w.get().SetNode(node)
	}
	for _, name := range []string{"p0", "p1", "p2"} {
		pod, _ := fake.Pod(name, scenario.Args{})
		w.set(pod)
	}
	w.run()
	node, _ := fake.Node("n2", scenario.Args{})
	w.get().SetNode(node)
	w.run()
	want := map[abi.Point]int64{ // calls
		abi.PreEnqueue: 2, abi.Hint: 1, abi.Filter: 4, abi.Score: 1, abi.Reserve: 4, abi.Unreserve: 2, abi.Permit: 4, abi.PreBindPreFlight: 2, abi.PreBind: 2,
	}
	totals := w.get().Totals()
	for _, p := range totals.Plugins {
		if p.Plugin == "A" && (p.Calls != want[p.Point] || p.Profile != "default") {
			t.Errorf("%s: %d calls, want %d", p.Point, p.Calls, want[p.Point])
		}
		if p.Plugin == "A" {
			delete(want, p.Point)
		}
	}
	if len(want) > 0 || totals.Attempts != 4 || totals.Reconciled != 0 {
		t.Errorf("attempts %d, reconciled %d, not counted: %v", totals.Attempts, totals.Reconciled, want)
	}
	again := w.get().Totals()
	if len(again.Plugins) != len(totals.Plugins) || again.Plugins[0] != totals.Plugins[0] {
		t.Error("reading the totals changes them")
	}
}

// TestGated: the result of the gates is reported, but a pod that is held back for its own preemption counts as let in.
func TestGated(t *testing.T) {
	w := newWorld(t, nil)
	w.held = true // evictions wait
	var got []string
	w.gated = func(pod *state.Pod, by, reason string) { got = append(got, pod.Name+" "+by+": "+reason) }
	expect := func(want ...string) {
		t.Helper()
		w.run()
		if !slices.Equal(got, want) {
			t.Errorf("reported %q, want %q", got, want)
		}
		got = nil
	}
	w.declare("Quota", scenario.MustParse(`gate=p=unschedulable:"none left" events=Node/Add`))
	w.declare("Fit", scenario.MustParse("filter=unschedulable:full postfilter=ok nominate=n0 victims=v events=Node/Add"))
	node, _ := fake.Node("n0", scenario.Args{})
	w.get().SetNode(node)
	w.set(pod(t, "v", "on=n0"), pod(t, "p", ""))
	expect("p Quota: none left")
	if err := w.plugins["Quota"].Set("gate", "ok"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n1", "n2"} { // it is let in, and then held back for its preemption
		node, _ := fake.Node(name, scenario.Args{})
		w.get().SetNode(node)
		expect("p : ")
	}
	for place, p := range w.get().Queued() {
		if p.Pod.Name == "p" && (place != queue.Gated || p.GateReason == "") {
			t.Errorf("the preemptor is %v: %q", place, p.GateReason)
		}
	}
}
