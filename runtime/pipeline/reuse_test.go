package pipeline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// moody is a plugin of scope node that answers what the test says.
type moody struct {
	info       plugin.Info
	code       abi.Code
	score      int64
	err        error
	fails      bool // calls end without an answer
	open       bool // the breaker
	unanswered int64
	asked      int // rows
}

func (m *moody) Info() *plugin.Info                                           { return &m.info }
func (*moody) Less(a, b *state.QueuedPod) bool                                { return a.Pod.Name < b.Pod.Name }
func (*moody) Bind(*plugin.Placement) (d plugin.Directives, _ *plugin.Status) { return d, nil }
func (*moody) Settle(string)                                                  {}
func (*moody) Fuel() int64                                                    { return 0 }
func (*moody) Learn(string, plugin.Beside)                                    {}
func (*moody) TakeStarts() []plugin.Start                                     { return nil }
func (*moody) Charge(plugin.Start)                                            {}
func (*moody) Carried(map[string]time.Time) json.RawMessage                   { return nil }
func (*moody) Retries() []plugin.Retry                                        { return nil }

func (*moody) Resume(json.RawMessage) (map[string]time.Time, error) { return nil, nil }
func (m *moody) RetryAt(string) (time.Time, bool)                   { return time.Time{}, m.open }
func (m *moody) Unanswered(abi.Point) int64                         { return m.unanswered }

func (m *moody) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	m.asked += len(rows)
	if m.fails {
		m.unanswered++
	}
	for i, row := range rows {
		if m.code != abi.Success {
			out.Reject(i, m.code, out.Reason(fmt.Sprint("odd ", row%2)))
		}
	}
}

func (m *moody) Score(_ *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	m.asked += len(rows)
	if m.fails {
		m.unanswered++
	}
	for i := range rows {
		out[i] = m.score
	}
	return plugin.Fail(m.err)
}

// answers runs a cycle and returns what it found, and how many rows the plugin was asked
// about.
func (m *moody) answers(t *testing.T, run *pipeline.Run, c plugin.Cycle) (string, int) {
	t.Helper()
	run.Begin(c)
	m.asked = 0
	rows := run.Rows(c.Snapshot.Len())
	feasible, _, status := run.Filter(rows, 0, len(rows))
	out := fmt.Sprint(len(feasible), status.CodeOf())
	if len(feasible) > 0 {
		status = run.Score(feasible)
		out += fmt.Sprint(" ", status.CodeOf())
		if status.Success() {
			out += fmt.Sprint(" ", run.Scores.Totals[0])
		}
	} else if status.Success() {
		out += fmt.Sprint(" ", run.Outcome.Texts(0), run.Outcome.Texts(1))
	}
	return out, m.asked
}

// TestReuse: what is kept, and what is not.
func TestReuse(t *testing.T) {
	const nodes = 20
	var infos []*state.NodeInfo
	for i := range nodes {
		n := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{"i": fmt.Sprint(i)}}})
		infos = append(infos, &state.NodeInfo{Name: n.Name, Node: n, ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1)})
	}
	snapshot := state.NewSnapshot()
	snapshot.Rebuild(infos)
	pod := func(label string) *state.Pod {
		return state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": label}}})
	}
	workers, err := pipeline.NewWorkers(1)
	if err != nil {
		t.Fatal(err)
	}
	defer workers.Close()
	m := &moody{info: plugin.Info{
		Name: "Moody", Reads: plugin.Whole(abi.NodeLabels, abi.IncomingLabels), NodeScoped: []abi.Point{abi.Filter, abi.Score},
	}}
	points := map[abi.Point][]pipeline.Entry{}
	for _, point := range []abi.Point{abi.QueueSort, abi.Filter, abi.Score, abi.Bind} {
		points[point] = []pipeline.Entry{{Plugin: m}}
	}
	var broken []string
	p, err := pipeline.New(pipeline.Config{Points: points}, pipeline.Deps{
		Workers: workers, Broken: func(b pipeline.Broken) { broken = append(broken, fmt.Sprint(b.Plugin.Name, " ", b.Point, " ", b.Node)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	run := p.NewRun(equivalence.New(equivalence.Default()))
	seen := map[string]bool{}
	const calm, audit = 2, 128 // seeds: with the second one some are asked again
	for i, step := range []struct {
		what  string
		set   func()
		pod   string
		seed  uint64
		want  string
		asked int
	}{
		{"nothing is known", func() { m.score = 7 }, "a", calm, "20 Success Success 7", 2 * nodes},
		{"all is known", func() { m.score = 8 }, "a", calm, "20 Success Success 7", 0},
		{"another pod", func() {}, "b", calm, "20 Success Success 8", 2 * nodes},
		{"the breaker is open", func() { m.open, m.score = true, 50 }, "a", calm, "20 Success Success 50", 2 * nodes},
		{"and closed again", func() { m.open = false }, "a", calm, "20 Success Success 7", 0},
		{"a rejection, with reasons", func() { m.code = abi.Unschedulable }, "c", calm, "0 Success [odd 0] [odd 1]", nodes},
		{"is known", func() { m.code = abi.Success }, "c", calm, "0 Success [odd 0] [odd 1]", 0},
		{"an error", func() { m.code = abi.Error }, "d", calm, "0 Error", nodes},
		{"is not kept", func() { m.code = abi.Success }, "d", calm, "20 Success Success 50", 2 * nodes},
		{"a score that fails", func() { m.err = errors.New("no") }, "e", calm, "20 Success Error", 2 * nodes},
		{"is not kept", func() { m.err = nil }, "e", calm, "20 Success Success 50", nodes},
		{"no answer of its own", func() { m.fails, m.score = true, 1 }, "f", calm, "20 Success Success 1", 2 * nodes},
		{"is not kept", func() { m.fails, m.score = false, 2 }, "f", calm, "20 Success Success 2", 2 * nodes},
		{"some are asked again, and are the same", func() { m.score = 7 }, "a", audit, "20 Success Success 7", 16},
		{"others count, and end it at once", func() { m.code, m.score = abi.Unschedulable, 9 }, "a", audit, "12 Success Success 9", 20},
		{"so all are asked", func() { m.code, m.score = abi.Success, 3 }, "a", calm, "20 Success Success 3", 2 * nodes},
	} {
		if !seen[step.pod] { // of the first one nothing is kept
			seen[step.pod] = true
			run.Begin(plugin.Cycle{Context: t.Context(), Snapshot: snapshot, Pod: pod(step.pod), State: &state.CycleState{}, Seed: calm})
			run.Filter(run.Rows(nodes), 0, nodes)
		}
		step.set()
		got, asked := m.answers(t, run, plugin.Cycle{Context: t.Context(), Snapshot: snapshot, Pod: pod(step.pod), State: &state.CycleState{}, Seed: step.seed})
		if got != step.want || asked != step.asked {
			t.Errorf("step %d, %s: %s, %d asked, want %s, %d", i, step.what, got, asked, step.want, step.asked)
		}
	}
	if !slices.Equal(broken, []string{"Moody Filter n0"}) {
		t.Errorf("broken are %q", broken)
	}
	run.Drop()
}
