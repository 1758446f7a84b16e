package cycle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world is a snapshot, a profile of fake plugins and a cycle over them.
type world struct {
	t        testing.TB
	log      *scenario.Log
	config   cycle.Config
	cycle    *cycle.Cycle
	profile  pipeline.Config
	workers  int
	pipeline *pipeline.Pipeline // nil until it is needed
	services services
	extender *extender.Extenders

	infos       []*state.NodeInfo
	pods        map[string]*state.Pod
	nominations nominations
	seed        uint64
	sequence    uint64
	slots       uint32
	// beside says what Decision.Tied is about; nil for nothing.
	beside func(s *state.Snapshot) *state.Node
}

func newWorld(t testing.TB, log *scenario.Log) *world {
	w := &world{t: t, log: log, workers: 1, seed: 1, pods: map[string]*state.Pod{}}
	w.profile = pipeline.Config{Profile: "default", Points: map[abi.Point][]pipeline.Entry{}}
	w.declare("Sort", scenario.MustParse("sort= bind="))
	return w
}

// nominations is by node, in the order in which nodes came.
type nominations struct {
	nodes []string
	pods  map[string][]*state.Pod
}

func (n *nominations) Len() int { return len(n.pods) }

func (n *nominations) Nodes(yield func(node string, pods []*state.Pod) bool) {
	for _, node := range slices.Sorted(slices.Values(n.nodes)) {
		if !yield(node, n.pods[node]) {
			return
		}
	}
}

func (w *world) declare(name string, a scenario.Args) {
	w.t.Helper()
	p, err := fake.Declare(name, a, fake.Deps{Log: w.log})
	if err != nil {
		w.t.Fatal(err)
	}
	w.add(p, fake.Of(p).Weight, fake.Of(p).Points...)
}

func (w *world) add(p plugin.Plugin, weight int64, points ...abi.Point) {
	for _, point := range points {
		w.profile.Points[point] = append(w.profile.Points[point], pipeline.Entry{Plugin: p, Weight: weight})
	}
	w.pipeline = nil
}

func (w *world) node(name string, a scenario.Args) error {
	node, err := fake.Node(name, a)
	if err != nil {
		return err
	}
	generation := uint64(len(w.infos) + 1)
	w.infos = append(w.infos, &state.NodeInfo{
		Name: name, Node: node, Rank: generation * 7 % 5, ObjectGeneration: generation, PodsGeneration: generation,
	})
	return nil
}

func (w *world) snapshot() *state.Snapshot {
	s := state.NewSnapshot()
	s.Rebuild(w.infos)
	return s
}

func (w *world) decide(s *state.Snapshot, pod *state.Pod) cycle.Decision {
	w.t.Helper()
	if w.pipeline == nil {
		workers, err := pipeline.NewWorkers(w.workers)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(workers.Close)
		w.extend()
		if w.pipeline, err = pipeline.New(w.profile, pipeline.Deps{Workers: workers}); err != nil {
			w.t.Fatal(err)
		}
	}
	if w.cycle == nil {
		w.cycle = cycle.New(w.config)
	}
	w.sequence++
	var beside *state.Node
	if w.beside != nil {
		beside = w.beside(s)
	}
	return w.cycle.Schedule(cycle.Input{
		Beside:  beside,
		Context: context.Background(), Snapshot: s, Pod: &state.QueuedPod{Pod: pod, Attempts: 1},
		Pipeline: w.pipeline, Nominations: &w.nominations, Extenders: w.extender, Seed: w.seed, Sequence: w.sequence,
	})
}

// describe tells what there is in a decision; without candidates' scores if brief.
func describe(d cycle.Decision, name func(row uint32) string) string {
	var b strings.Builder
	a := d.Attempt.Clone(name)
	if d.Node != nil {
		fmt.Fprintf(&b, "%s goes to %s\n", a.Pod, d.Node.Name)
		if d.Tied {
			b.WriteString("another node is as good\n")
		}
	} else {
		fmt.Fprintf(&b, "%s goes nowhere: %s: %s\n", a.Pod, d.Status.CodeOf(), a.Message)
	}
	if a.Node != "" && (d.Node == nil || a.Node != d.Node.Name) || a.Code != d.Status.CodeOf() {
		fmt.Fprintf(&b, "  the attempt says %s, %s\n", a.Node, a.Code)
	}
	fmt.Fprintf(&b, "  nodes %d, evaluated %d, feasible %d\n", a.Nodes, a.Evaluated, a.Feasible)
	if len(d.Rejectors)+len(d.Pending) > 0 {
		fmt.Fprintf(&b, "  rejectors %v, pending %v\n", d.Rejectors, d.Pending)
	}
	if d.Nomination.Override {
		fmt.Fprintf(&b, "  nominated: %q\n", d.Nomination.NominatedNode)
	}
	if len(a.Victims) > 0 {
		fmt.Fprintf(&b, "  victims: %s\n", strings.Join(a.Victims, " "))
	}
	if a.PreFilter != "" || a.PostFilter != "" {
		fmt.Fprintf(&b, "  prefilter %q, postfilter %q\n", a.PreFilter, a.PostFilter)
	}
	for _, r := range a.Rejections {
		fmt.Fprintf(&b, "  rejected by %s: %s %q: %s\n", r.Plugin, r.Code, r.Reasons, list(r.Nodes, r.Count))
		if !slices.IsSorted(r.Rows) {
			fmt.Fprintf(&b, "  rows are not sorted: %v\n", r.Rows)
		}
	}
	for _, c := range a.Candidates {
		fmt.Fprintf(&b, "  candidate %s: %d%s\n", c.Node, c.Total, scores(c.Scores))
	}
	return b.String()
}

func scores(all []report.Score) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "; %s %d, %d, %d", s.Plugin, s.Raw, s.Normalized, s.Weighted)
	}
	return b.String()
}

func list(names []string, count int) string {
	if count > 10 {
		return fmt.Sprintf("%s …, %d in all", names[0], count)
	}
	return strings.Join(names, " ")
}

// work prints how often each plugin was called at each point, and for how many
// rows.
func work(timings []report.Timing) string {
	var b strings.Builder
	for _, t := range timings {
		fmt.Fprintf(&b, "  %s %s: %d calls, %d rows\n", t.Plugin, t.Point, t.Calls, t.Rows)
	}
	return b.String()
}
