package cycle_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// idle is a plugin that does nothing but reject every n-th row with one reason,
// so that what is measured is the engine.
type idle struct {
	info  plugin.Info
	every uint32
	texts []string
}

func (p *idle) Info() *plugin.Info { return &p.info }

func (p *idle) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	if p.every == 0 {
		return
	}
	reason := out.Reason(p.texts...)
	for i, row := range rows {
		if row%p.every == 0 {
			out.Reject(i, abi.Unschedulable, reason)
		}
	}
}

func (p *idle) PreScore(*plugin.Cycle, []uint32) *plugin.Status       { return nil }
func (p *idle) Score(*plugin.Cycle, []uint32, []int64) *plugin.Status { return nil }

// engine is a profile as long as the default one, over n nodes: six filters, of
// which three reject a row in two, in three and in five, and five scores.
func engine(t testing.TB, n int) (schedule func() cycle.Decision) {
	w := newWorld(t, nil)
	for i := range n {
		if err := w.node(fmt.Sprintf("n%05d", i), scenario.Args{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, every := range []uint32{0, 2, 3, 5, 0, 0} {
		p := &idle{info: plugin.Info{Name: fmt.Sprintf("P%d", i), NodeScoped: []abi.Point{abi.Filter, abi.Score}}, every: every, texts: []string{"no"}}
		w.add(p, 1, abi.Filter)
		if i > 0 {
			w.add(p, 1, abi.PreScore, abi.Score)
		}
	}
	pod, err := fake.Pod("p", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	s := w.snapshot()
	w.decide(s, pod)
	in := cycle.Input{
		Context: context.Background(), Snapshot: s, Pod: &state.QueuedPod{Pod: pod}, Pipeline: w.pipeline,
		Nominations: &nominations{}, Seed: 1,
	}
	return func() cycle.Decision { in.Sequence++; return w.cycle.Schedule(in) }
}

// TestAllocs: a decision allocates little, and the same whatever the number of
// nodes.
func TestAllocs(t *testing.T) {
	const most = 10
	for _, n := range []int{100, 1000, 5000} {
		schedule := engine(t, n)
		if got := testing.AllocsPerRun(100, func() { schedule() }); got > most {
			t.Errorf("%d nodes: %v allocations a decision, want at most %d", n, got, most)
		} else {
			t.Logf("%d nodes: %v allocations", n, got)
		}
	}
}

// TestRowsEvaluated counts the work of one decision instead of timing it.
func TestRowsEvaluated(t *testing.T) {
	d := engine(t, 3000)()
	want := map[string][3]int64{ // filter calls and rows, scored rows
		"P0": {3, 3000, 0}, "P1": {3, 3000, 800}, "P2": {3, 1500, 800}, "P3": {3, 1000, 800}, "P4": {3, 800, 800}, "P5": {3, 800, 800},
	}
	for _, timing := range d.Attempt.Timings {
		w := want[timing.Plugin]
		switch timing.Point {
		case abi.Filter:
			if timing.Calls != w[0] || timing.Rows != w[1] {
				t.Errorf("%s filters %d rows in %d calls, want %d in %d", timing.Plugin, timing.Rows, timing.Calls, w[1], w[0])
			}
		case abi.Score:
			if timing.Rows != w[2] {
				t.Errorf("%s scores %d rows, want %d", timing.Plugin, timing.Rows, w[2])
			}
		}
	}
	if a := d.Attempt; a.Evaluated != 3000 || a.Feasible != 800 || len(a.Rejections) != 3 {
		t.Errorf("evaluated %d, feasible %d, %d rejections", a.Evaluated, a.Feasible, len(a.Rejections))
	}
}

// BenchmarkSchedule measures the engine: one decision with plugins that do
// nothing.
func BenchmarkSchedule(b *testing.B) {
	for _, n := range []int{100, 1000, 5000, 15000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			schedule := engine(b, n)
			b.ReportAllocs()
			for b.Loop() {
				schedule()
			}
		})
	}
}
