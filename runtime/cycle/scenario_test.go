package cycle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/internal/golden"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestScenarios runs testdata/*.txt; fake.Run has their form.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
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

// commands is the vocabulary of scenarios. A node's rank, by which the tie-break
// first goes, is its number times 7 modulo 5: 2, 4, 1, 3, 0 …
func (w *world) commands() map[string]fake.Command {
	return map[string]fake.Command{
		"nodes": func(a fake.Args) error { // NAME… [cpu=]
			for _, name := range a.Names {
				if err := w.node(name, a); err != nil {
					return err
				}
			}
			return nil
		},
		"many": func(a fake.Args) error { // COUNT: nodes n000, n001 …
			for i := range number(a.Name(0)) {
				if err := w.node(fmt.Sprintf("n%03d", i), a); err != nil {
					return err
				}
			}
			return nil
		},
		"plugin": func(a fake.Args) error { w.declare(a.Name(0), a); return nil }, // NAME and what fake.Declare takes
		"profile": func(a fake.Args) error { // [percentage=] [allow=FEATURE] [workers=] [tie=] [candidates=]
			if a.Has("percentage") {
				p := int32(number(a.Options["percentage"]))
				w.profile.Percentage = &p
			}
			w.profile.AllowUnenforced, _ = state.ParseFeature(a.Options["allow"])
			if a.Has("workers") {
				w.workers = number(a.Options["workers"])
			}
			if a.Has("tie") {
				var err error
				if w.config.TieBreak, err = cycle.ParseTieBreak(a.Options["tie"]); err != nil {
					return err
				}
			}
			w.config.Candidates = number(a.Options["candidates"])
			w.pipeline, w.cycle = nil, nil
			return nil
		},
		"pod": func(a fake.Args) error { // NAME… and what fake.Pod takes; with on= it is placed
			for _, name := range a.Names {
				pod, err := fake.Pod(name, a)
				if err != nil {
					return err
				}
				w.pods[name] = pod
				for _, info := range w.infos {
					if info.Name == pod.NodeName() {
						info.AddPod(state.PlacedPod{Pod: pod, Slot: w.slots, Generation: 1})
						w.slots++
					}
				}
			}
			return nil
		},
		"extender": func(a fake.Args) error { w.services.add(w, a); return nil }, // and what service.ServeHTTP takes
		"native": func(a fake.Args) error { // NAME… of plugins that are compiled in
			for _, name := range a.Names {
				p, err := hostplugins.All(hostplugins.Deps{}).New(name, nil)
				if err != nil {
					return err
				}
				w.add(p, 0, plugin.Points(p)...)
			}
			return nil
		},
		"nominate": func(a fake.Args) error { // POD NODE
			n := &w.nominations
			if n.pods == nil {
				n.pods = map[string][]*state.Pod{}
			}
			if n.pods[a.Name(1)] == nil {
				n.nodes = append(n.nodes, a.Name(1))
			}
			n.pods[a.Name(1)] = append(n.pods[a.Name(1)], w.pods[a.Name(0)])
			return nil
		},
		"schedule": func(a fake.Args) error { // POD… [work=yes] [seed=]
			for _, name := range a.Names {
				if a.Has("seed") {
					w.seed = uint64(number(a.Options["seed"]))
				}
				s := w.snapshot()
				d := w.decide(s, w.pods[name])
				w.log.Printf("%s", w.services.hideURLs(strings.TrimSuffix(describe(d, s.Name), "\n")))
				if a.Has("work") {
					w.log.Printf("%s", strings.TrimSuffix(work(d.Attempt.Timings), "\n"))
				}
			}
			return nil
		},
	}
}
