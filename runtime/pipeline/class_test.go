package pipeline_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// picky is a plugin of scope cluster that rejects odd rows, and scores the others by their number.
type picky struct {
	moody
	failing uint32 // a row whose verdict is an error; 0 for none
}

func (p *picky) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	p.asked += len(rows)
	for i, row := range rows {
		switch {
		case p.failing != 0 && row == p.failing:
			out.Reject(i, abi.Error, out.Reason("broken"))
		case row%2 == 1:
			out.Reject(i, abi.Unschedulable, out.Reason("odd"))
		}
	}
}

func (p *picky) Score(_ *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	p.asked += len(rows)
	for i, row := range rows {
		out[i] = int64(row)
	}
	return nil
}

// steep scores rows by their number, scaled to the highest.
type steep struct{ moody }

func (s *steep) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	s.asked += len(rows)
	for i, row := range rows {
		if row%10 == 8 {
			out.Reject(i, abi.Unschedulable, out.Reason("eight"))
		}
	}
}

func (s *steep) Score(_ *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	s.asked += len(rows)
	for i, row := range rows {
		out[i] = 10 * int64(row)
	}
	return nil
}

func (*steep) Scaling() (plugin.Scaling, bool) { return plugin.ToMax, true }

func (*steep) Normalize(_ *plugin.Cycle, _ []uint32, scores []int64) *plugin.Status {
	plugin.NormalizeMax(scores, false)
	return nil
}

// TestClassBeforeOthers: with a filter and a score of scope cluster, a plugin of scope node is asked about no row that it knows,
// and the others only about rows that passed it. What comes of it is what a run without kept answers finds.
func TestClassBeforeOthers(t *testing.T) {
	const nodes = 40
	var infos []*state.NodeInfo
	for i := range nodes {
		n := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
		infos = append(infos, &state.NodeInfo{Name: n.Name, Node: n, ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1)})
	}
	snapshot := state.NewSnapshot()
	snapshot.Rebuild(infos)
	native := &steep{moody{info: plugin.Info{Name: "Steep", Reads: plugin.Whole(abi.NodeLabels), NodeScoped: []abi.Point{abi.Filter, abi.Score}}}}
	other := &picky{moody: moody{info: plugin.Info{Name: "Picky"}}}
	points := map[abi.Point][]pipeline.Entry{abi.QueueSort: {{Plugin: other}}, abi.Bind: {{Plugin: other}}}
	for _, point := range []abi.Point{abi.Filter, abi.Score} {
		points[point] = []pipeline.Entry{{Plugin: compiled{native}, Weight: 3}, {Plugin: other, Weight: 2}}
	}
	workers, err := pipeline.NewWorkers(1)
	if err != nil {
		t.Fatal(err)
	}
	defer workers.Close()
	p, err := pipeline.New(pipeline.Config{Points: points}, pipeline.Deps{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	kept, plain := p.NewRun(equivalence.New(equivalence.Default())), p.NewRun(nil)
	cycle := plugin.Cycle{
		Context: t.Context(), Snapshot: snapshot, State: &state.CycleState{}, Seed: 2,
		Pod: state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}),
	}
	var class *pipeline.Class
	var rows []uint32
	for range 4 { // of the first ones nothing is kept
		kept.Begin(cycle)
		native.asked, other.asked = 0, 0
		if class = kept.Class(); class == nil {
			continue
		}
		if rows = class.Feasible(); !class.Sum() || class.Decides() {
			t.Fatal("no sum, or one that decides")
		}
		if status := class.Score(rows); !status.Success() {
			t.Fatal(status)
		}
	}
	if class == nil {
		t.Fatal("no class")
	}
	if native.asked != 0 || other.asked != 36+len(rows) {
		t.Errorf("%d and %d rows were asked, want 0 and %d", native.asked, other.asked, 36+len(rows))
	}
	groups := ""
	class.Groups(false, func(by *plugin.Info, _ abi.Code, reasons []string, size int, rows []uint32) {
		groups += fmt.Sprintln(by.Name, reasons, size, rows)
	})
	const want = "Picky [odd] 20 [1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 31]\nSteep [eight] 4 [8 18 28 38]\n"
	if groups != want {
		t.Errorf("rejections are\n%swant\n%s", groups, want)
	}
	plain.Begin(cycle)
	feasible, _, status := plain.Filter(plain.Rows(nodes), 0, nodes)
	if !status.Success() || fmt.Sprint(feasible) != fmt.Sprint(rows) {
		t.Fatalf("%v pass, want %v (%v)", rows, feasible, status)
	}
	if status := plain.Score(feasible); !status.Success() || fmt.Sprint(kept.Scores.Totals) != fmt.Sprint(plain.Scores.Totals) {
		t.Errorf("totals are %v, want %v (%v)", kept.Scores.Totals, plain.Scores.Totals, status)
	}
	for i := range plain.Scores.Len() {
		for position := range rows {
			name, raw, normalized, weighted := kept.Scores.At(i, position)
			if n, r, s, w := plain.Scores.At(i, position); name != n || raw != r || normalized != s || weighted != w {
				t.Errorf("%s gave row %d %d, %d, %d; want %s %d, %d, %d", name, rows[position], raw, normalized, weighted, n, r, s, w)
			}
		}
	}
	other.failing = 6 // after an error no row passes, and the search tells it
	kept.Begin(cycle)
	if class = kept.Class(); class == nil || len(class.Feasible()) > 0 {
		t.Error("rows pass although a filter failed")
	}
	if _, looked, status := kept.Filter(kept.Rows(nodes), 0, nodes); status.Success() || looked != nodes {
		t.Errorf("%v after %d rows", status, looked)
	}
}

// compiled hides that a plugin can fail to answer.
type compiled struct{ of *steep }

func (c compiled) Info() *plugin.Info              { return c.of.Info() }
func (c compiled) Scaling() (plugin.Scaling, bool) { return c.of.Scaling() }
func (c compiled) Filter(cycle *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	c.of.Filter(cycle, rows, out)
}

func (c compiled) Score(cycle *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	return c.of.Score(cycle, rows, out)
}

func (c compiled) Normalize(cycle *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	return c.of.Normalize(cycle, rows, scores)
}
