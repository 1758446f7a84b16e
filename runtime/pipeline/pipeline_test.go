package pipeline_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/golden"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world is a profile of fake plugins.
type world struct {
	t        testing.TB
	log      *fake.Log
	config   pipeline.Config
	pipeline *pipeline.Pipeline
}

func newWorld(t testing.TB, log *fake.Log) *world {
	return &world{t: t, log: log, config: pipeline.Config{Profile: "default", Points: map[abi.Point][]pipeline.Entry{}}}
}

func (w *world) declare(name string, a fake.Args) plugin.Plugin {
	w.t.Helper()
	p, err := fake.Declare(name, a, fake.Deps{Log: w.log})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, point := range fake.Of(p).Points {
		w.config.Points[point] = append(w.config.Points[point], pipeline.Entry{Plugin: p, Weight: fake.Of(p).Weight})
	}
	return p
}

func (w *world) build() (*pipeline.Pipeline, error) {
	workers, err := pipeline.NewWorkers(1)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(workers.Close)
	return pipeline.New(w.config, pipeline.Deps{Workers: workers})
}

func (w *world) get() *pipeline.Pipeline {
	w.t.Helper()
	if w.pipeline == nil {
		var err error
		if w.pipeline, err = w.build(); err != nil {
			w.t.Fatal(err)
		}
	}
	return w.pipeline
}

func TestScenarios(t *testing.T) {
	for _, name := range []string{"hints", "gates", "placement", "errors"} {
		t.Run(name, func(t *testing.T) {
			path := "testdata/" + name + ".txt"
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			log := &fake.Log{}
			got, err := fake.Run(string(text), log, func() map[string]fake.Command { return newWorld(t, log).commands() })
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, path, []byte(got))
		})
	}
}

// commands is the vocabulary of scenarios.
func (w *world) commands() map[string]fake.Command {
	return map[string]fake.Command{
		"plugin": func(a fake.Args) error { w.declare(a.Name(0), a); return nil }, // NAME and what fake.Declare takes
		"build": func(fake.Args) error { // and print what is wrong
			if _, err := w.build(); err != nil {
				w.log.Printf("%v", err)
			}
			return nil
		},
		"profile": func(a fake.Args) error { w.config.Profile = a.Name(0); return nil },
		"hint": func(a fake.Args) error { // POD EVENT [rejectors=] [pending=] [gate=] [about=POD]
			pod, err := fake.Pod(a.Name(0), fake.Args{})
			if err != nil {
				return err
			}
			q := &state.QueuedPod{Pod: pod, GatedBy: a.Options["gate"], Rejectors: split(a, "rejectors"), Pending: split(a, "pending")}
			event, ok := fake.ParseEvent(a.Name(1))
			if !ok {
				w.t.Fatalf("no event %q", a.Name(1))
			}
			var object state.Object
			if a.Has("about") {
				if object.NewPod, err = fake.Pod(a.Options["about"], fake.Args{}); err != nil {
					return err
				}
			}
			answers := []string{"leave", "after backoff", "immediately"}
			out := make([]state.Requeue, 1)
			w.get().Hint(event, object, []*state.QueuedPod{q}, out)
			w.log.Printf("%s, wanted %v", answers[out[0]], w.get().Wants(event))
			return nil
		},
		"gate": func(a fake.Args) error { // POD… [held=PLUGIN, of the first]
			var pods []*state.QueuedPod
			for i, name := range a.Names {
				pod, err := fake.Pod(name, fake.Args{})
				if err != nil {
					return err
				}
				pods = append(pods, &state.QueuedPod{Pod: pod})
				if i == 0 {
					pods[0].GatedBy = a.Options["held"]
				}
			}
			out := make([]pipeline.Gate, len(pods))
			w.get().PreEnqueue(pods, out)
			for i, g := range out {
				w.log.Printf("%s: %q %q", pods[i].Pod.Name, g.Plugin, g.Reason)
			}
			return nil
		},
		"place": func(a fake.Args) error { return w.place(a) }, // POD: from Reserve to PostBind
	}
}

func split(a fake.Args, key string) []string {
	if !a.Has(key) {
		return nil
	}
	return strings.Split(a.Options[key], ",")
}

func (w *world) place(a fake.Args) error {
	pod, err := fake.Pod(a.Name(0), fake.Parse("on=a"))
	if err != nil {
		return err
	}
	node, err := fake.Node("a", fake.Args{})
	if err != nil {
		return err
	}
	b := w.get().NewBinding(plugin.Placement{Context: context.Background(), Pod: pod, Node: node, State: &state.CycleState{}})
	status := b.Reserve(func(asked pipeline.Asked) error {
		w.asked([]pipeline.Asked{asked})
		if !asked.Patch.Empty() {
			b.Placement.Pod = b.Placement.Pod.On("a", asked.Patch)
		}
		return nil
	})
	w.status("reserve", status)
	if status.Success() {
		var waits []pipeline.Wait
		var asked []pipeline.Asked
		waits, asked, status = b.Permit()
		for _, wait := range waits {
			w.log.Printf("wait for %s, %v", wait.Plugin, wait.Timeout)
		}
		w.asked(asked)
		w.status("permit", status)
	}
	if status.Success() {
		var asked []pipeline.Asked
		asked, status = b.Bind()
		w.asked(asked)
		w.status("bind", status)
	}
	if !status.Success() {
		w.asked(b.Unreserve())
	}
	timings, points := b.Release(nil, nil)
	for _, t := range timings {
		w.log.Printf("  %s %s: %d calls, %s", t.Plugin, t.Point, t.Calls, t.Code)
	}
	for _, p := range points {
		w.log.Printf("  %s: %s", p.Point, p.Code)
	}
	return nil
}

func (w *world) asked(all []pipeline.Asked) {
	for _, a := range all {
		if !a.Patch.Empty() || len(a.Allow)+len(a.Reject)+len(a.Activate) > 0 {
			w.log.Printf("%s asks: patch %v, allow %v, reject %v, activate %v", a.Plugin, a.Patch.Annotations, a.Allow, a.Reject, a.Activate)
		}
	}
}

func (w *world) status(point string, s *plugin.Status) {
	w.log.Printf("%s: %s %q by %q", point, s.CodeOf(), s.Message(), pluginOf(s))
}

func pluginOf(s *plugin.Status) string {
	if s == nil {
		return ""
	}
	return s.Plugin
}

// TestBindingReuse: a released binding keeps nothing of the pod before.
func TestBindingReuse(t *testing.T) {
	w := newWorld(t, nil)
	w.declare("A", fake.Parse("sort= reserve=ok bind=ok"))
	p := w.get()
	pod, _ := fake.Pod("p", fake.Args{})
	node, _ := fake.Node("a", fake.Args{})
	b := p.NewBinding(plugin.Placement{Pod: pod, Node: node, Patch: state.Patch{Labels: map[string]string{"a": "b"}}})
	b.Unreserve()
	if timings, points := b.Release(nil, nil); len(timings) != 1 || timings[0].Point != abi.Unreserve ||
		len(points) != 1 || points[0].Point != abi.Unreserve {
		t.Errorf("timings %+v", timings)
	}
	if b.Placement.Pod != nil || !b.Placement.Patch.Empty() {
		t.Error("a released binding keeps its pod")
	}
	again := p.NewBinding(plugin.Placement{Pod: pod, Node: node})
	if again != b {
		t.Error("the binding is not used again")
	}
	if timings, points := again.Release(nil, nil); len(timings)+len(points) != 0 {
		t.Errorf("what was measured before is measured again: %+v", timings)
	}
	if other := p.NewBinding(plugin.Placement{}); other != b {
		t.Error("the binding is not used a third time")
	} else if p.NewBinding(plugin.Placement{}) == other {
		t.Error("two pods share a binding")
	}
}

// TestInfo: what a profile says of itself.
func TestInfo(t *testing.T) {
	w := newWorld(t, nil)
	w.declare("A", fake.Parse("sort= prefilter= filter= bind= enforces=requests,host-ports digest=sha256:1"))
	w.declare("B", fake.Parse("score=1 postfilter="))
	w.config.AllowUnenforced = state.FeatureTopologySpread
	percentage := int32(30)
	w.config.Percentage = &percentage
	p := w.get()
	var names []string
	for _, info := range p.Plugins() {
		names = append(names, info.Name)
	}
	if !slices.Equal(names, []string{"A", "B"}) || p.Profile() != "default" || p.QueueSort().Info().Name != "A" ||
		!p.Scores() || !p.PostFilters() || *p.Percentage() != 30 {
		t.Errorf("plugins %v, profile %q, sort %q, scores %v, post-filters %v", names, p.Profile(), p.QueueSort().Info().Name, p.Scores(), p.PostFilters())
	}
	pod := &state.Pod{Features: state.FeatureRequests | state.FeatureTopologySpread | state.FeatureVolumeClaims}
	if f := p.Unenforced(pod); f != state.FeatureVolumeClaims {
		t.Errorf("unenforced: %v", f)
	}
	var timings []report.Timing
	p.PreEnqueue(nil, nil)
	if timings = p.Timings(timings); len(timings) != 0 {
		t.Errorf("nobody was called, but timings are %+v", timings)
	}
}
