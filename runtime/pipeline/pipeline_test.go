package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/scenario/scenariotest"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world is a profile of fake plugins.
type world struct {
	t        testing.TB
	log      *scenario.Log
	config   pipeline.Config
	pipeline *pipeline.Pipeline
}

func newWorld(t testing.TB, log *scenario.Log) *world {
	return &world{t: t, log: log, config: pipeline.Config{Profile: "default", Points: map[abi.Point][]pipeline.Entry{}}}
}

func (w *world) declare(name string, a scenario.Args) plugin.Plugin {
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
	scenariotest.Test(t, "testdata/*.txt", func(t testing.TB, log *scenario.Log) scenario.Commands { return newWorld(t, log).commands() })
}

// commands is the words of scenarios.
func (w *world) commands() scenario.Commands {
	return scenario.Commands{
		"plugin NAME " + fake.Options: func(a scenario.Args) error { w.declare(a.Name(0), a); return nil },
		"build": func(scenario.Args) error { // and print what is wrong
			if _, err := w.build(); err != nil {
				w.log.Printf("%v", err)
			}
			return nil
		},
		"profile [NAME]": func(a scenario.Args) error { w.config.Profile = a.Name(0); return nil },
		"hint POD EVENT [rejectors=PLUGIN,…] [pending=PLUGIN,…] [gate=PLUGIN] [about=POD] [was=CPU]": func(a scenario.Args) error {
			pod, err := fake.Pod(a.Name(0), scenario.Args{})
			if err != nil {
				return err
			}
			q := &state.QueuedPod{Pod: pod, GatedBy: a.Options["gate"], Rejectors: a.List("rejectors"), Pending: a.List("pending")}
			event, ok := fake.ParseEvent(a.Name(1))
			if !ok {
				return fmt.Errorf("no event %q", a.Name(1))
			}
			var object state.Object
			if a.Has("about") {
				if object.NewPod, err = fake.Pod(a.Options["about"], scenario.MustParse("cpu=1")); err != nil {
					return err
				}
			}
			if a.Has("was") {
				if object.OldPod, err = fake.Pod(a.Options["about"], scenario.MustParse("cpu="+a.Options["was"])); err != nil {
					return err
				}
			}
			answers := []string{"leave", "after backoff", "immediately"}
			out := make([]state.Requeue, 1)
			w.get().Hint(event, object, []*state.QueuedPod{q}, out)
			own := object.NewPod != nil && object.NewPod.UID == pod.UID
			if out[0] != state.Leave && !own && !event.WildCard() && !w.get().Helps(event, q.GatedBy, q.Rejectors, q.Pending) {
				return fmt.Errorf("%s helps nobody who waits for the same, but it helped %s", a.Name(1), a.Name(0))
			}
			w.log.Printf("%s, wanted %v", answers[out[0]], w.get().Wants(event))
			return nil
		},
		"gate POD… [held=PLUGIN]": func(a scenario.Args) error { // held the first
			var pods []*state.QueuedPod
			for i, name := range a.Names {
				pod, err := fake.Pod(name, scenario.Args{})
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
		"place POD": w.place, // from Reserve to PostBind
	}
}

func (w *world) place(a scenario.Args) error {
	pod, err := fake.Pod(a.Name(0), scenario.MustParse("on=a"))
	if err != nil {
		return err
	}
	node, err := fake.Node("a", scenario.Args{})
	if err != nil {
		return err
	}
	b := w.get().NewBinding(plugin.Placement{Context: context.Background(), Pod: pod, Node: node, State: &state.CycleState{}}, pipeline.Try{})
	status := b.Reserve(func(directives plugin.Directives) error {
		w.directives([]plugin.Directives{directives})
		if !directives.Patch.Empty() {
			b.Placement.Pod = b.Placement.Pod.On("a", directives.Patch)
		}
		return nil
	})
	w.status("reserve", status)
	if status.Success() {
		var waits []pipeline.Wait
		var directives []plugin.Directives
		waits, directives, status = b.Permit()
		for _, wait := range waits {
			w.log.Printf("wait for %s, %v", wait.Plugin, wait.Timeout)
		}
		w.directives(directives)
		w.status("permit", status)
	}
	if status.Success() {
		var directives []plugin.Directives
		directives, status = b.Bind()
		w.directives(directives)
		w.status("bind", status)
	}
	if !status.Success() {
		w.directives(b.Unreserve())
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

func (w *world) directives(all []plugin.Directives) {
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
	w.declare("A", scenario.MustParse("sort= reserve=ok bind=ok"))
	p := w.get()
	pod, _ := fake.Pod("p", scenario.Args{})
	node, _ := fake.Node("a", scenario.Args{})
	b := p.NewBinding(plugin.Placement{Pod: pod, Node: node, Patch: state.Patch{Labels: map[string]string{"a": "b"}}}, pipeline.Try{Sequence: 1})
	b.Unreserve()
	if timings, points := b.Release(nil, nil); len(timings) != 1 || timings[0].Point != abi.Unreserve ||
		len(points) != 1 || points[0].Point != abi.Unreserve {
		t.Errorf("timings %+v", timings)
	}
	if b.Placement.Pod != nil || !b.Placement.Patch.Empty() || b.Try != (pipeline.Try{}) {
		t.Error("a released binding keeps its pod or its try")
	}
	again := p.NewBinding(plugin.Placement{Pod: pod, Node: node}, pipeline.Try{})
	if again != b {
		t.Error("the binding is not used again")
	}
	if timings, points := again.Release(nil, nil); len(timings)+len(points) != 0 {
		t.Errorf("what was measured before is measured again: %+v", timings)
	}
	if other := p.NewBinding(plugin.Placement{Pod: pod}, pipeline.Try{}); other != b {
		t.Error("the binding is not used a third time")
	} else if p.NewBinding(plugin.Placement{Pod: pod}, pipeline.Try{}) == other {
		t.Error("two pods share a binding")
	}
}

// kept is a value that counts while its pod waits or is being bound.
type kept struct {
	keeps, drops int
	err          error
}

func (k *kept) Clone() state.Value { return k }
func (k *kept) Keep() error        { k.keeps++; return k.err }
func (k *kept) Drop()              { k.drops++ }

// TestKept: what plugins keep for a pod counts from Permit until the binding ends. A pod for which there is no
// room fails at Permit, and its room is given back.
func TestKept(t *testing.T) {
	w := newWorld(t, nil)
	w.declare("A", scenario.MustParse("sort= permit=wait:1s bind=ok"))
	pod, _ := fake.Pod("p", scenario.Args{})
	node, _ := fake.Node("a", scenario.Args{})
	for _, full := range []error{nil, errors.New("no room")} {
		k := &kept{err: full}
		s := &state.CycleState{}
		s.Write("A", "k", k)
		b := w.get().NewBinding(plugin.Placement{Context: t.Context(), Pod: pod, Node: node, State: s}, pipeline.Try{})
		waits, _, status := b.Permit()
		if k.keeps != 1 || k.drops != 0 || (full == nil) != status.Success() || full != nil && (len(waits) > 0 || !errors.Is(status.AsError(), full)) {
			t.Errorf("%v: %+v, waits %v, status %v", full, k, waits, status)
		}
		if b.Release(nil, nil); k.drops != 1 {
			t.Errorf("%v: %d drops at the end", full, k.drops)
		}
	}
}

// TestInfo: what a profile says of itself.
func TestInfo(t *testing.T) {
	w := newWorld(t, nil)
	w.declare("A", scenario.MustParse("sort= prefilter= filter= bind= enforces=requests,host-ports digest=sha256:1"))
	w.declare("B", scenario.MustParse("score=1 postfilter="))
	w.config.AllowUnenforced = state.FeatureTopologySpread
	percentage := int32(30)
	w.config.Percentage = &percentage
	p := w.get()
	var names []string
	for _, info := range p.Plugins() {
		names = append(names, info.Name)
	}
	if !slices.Equal(names, []string{"A", "B"}) || p.Profile() != "default" || p.QueueSort().Info().Name != "A" ||
		!p.HasScore() || !p.HasPostFilter() || *p.Percentage() != 30 {
		t.Errorf("plugins %v, profile %q, sort %q, scores %v, post-filters %v", names, p.Profile(), p.QueueSort().Info().Name, p.HasScore(), p.HasPostFilter())
	}
	pod := &state.Pod{Features: state.FeatureRequests | state.FeatureTopologySpread | state.FeatureVolumeClaims}
	if f := p.Unenforced(pod); f != state.FeatureVolumeClaims {
		t.Errorf("unenforced: %v", f)
	}
	if b := p.NewBinding(plugin.Placement{Pod: pod}, pipeline.Try{}); b.LeftToOthers != state.FeatureTopologySpread {
		t.Errorf("left to others: %v", b.LeftToOthers)
	}
	var timings []report.Timing
	p.PreEnqueue(nil, nil)
	if timings = p.Timings(timings); len(timings) != 0 {
		t.Errorf("nobody was called, but timings are %+v", timings)
	}
}

// delegator leaves everything to plugins that enforce resource claims and host ports.
type delegator struct{ filter }

type filter = plugin.Filter // a field named Filter would hide the method

func (delegator) Delegates(*plugin.Placement) state.Feature {
	return state.FeatureResourceClaims | state.FeatureHostPorts
}

// TestDelegated: what a plugin delegates counts as what the pod asks for, where the profile leaves it to others.
func TestDelegated(t *testing.T) {
	for allowed, want := range map[state.Feature]state.Feature{
		state.FeatureResourceClaims | state.FeatureHostPorts: state.FeatureResourceClaims,
		state.FeatureVolumeClaims:                            0,
		0:                                                    0,
	} {
		w := newWorld(t, nil)
		w.declare("A", scenario.MustParse("sort= filter= bind= enforces=host-ports digest=sha256:1"))
		b := w.declare("B", scenario.MustParse("filter= digest=sha256:2"))
		w.config.Points[abi.Filter][1].Plugin = delegator{b.(plugin.Filter)}
		w.config.AllowUnenforced = allowed
		if b := w.get().NewBinding(plugin.Placement{Pod: &state.Pod{}}, pipeline.Try{}); b.LeftToOthers != want {
			t.Errorf("%v left to others: got %v, want %v", allowed, b.LeftToOthers, want)
		}
	}
}
