package cycle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/scenario/scenariotest"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

func TestScenarios(t *testing.T) {
	scenariotest.Test(t, "testdata/*.txt", func(t testing.TB, log *scenario.Log) scenario.Commands { return newWorld(t, log).commands() })
}

// commands is the words of scenarios. A node's rank, by which the tie-break
// first goes, is its number times 7 modulo 5: 2, 4, 1, 3, 0 …
func (w *world) commands() scenario.Commands {
	return scenario.Commands{
		"nodes NAME… " + fake.NodeOptions: scenario.Each(w.node),
		"many INT": func(a scenario.Args) error { // nodes n000, n001 …
			for i := range scenario.Int(a.Name(0)) {
				if err := w.node(fmt.Sprintf("n%03d", i), scenario.Args{}); err != nil {
					return err
				}
			}
			return nil
		},
		"plugin NAME " + fake.Options: func(a scenario.Args) error { w.declare(a.Name(0), a); return nil },
		"profile [percentage=INT] [allow=FEATURE] [workers=INT] [tie=ORDER] [candidates=INT]": func(a scenario.Args) error {
			if a.Has("percentage") {
				p := int32(scenario.Int(a.Options["percentage"]))
				w.profile.Percentage = &p
			}
			var err error
			if w.profile.AllowUnenforced, err = fake.Allowed(a); err != nil {
				return err
			}
			if a.Has("workers") {
				w.workers = scenario.Int(a.Options["workers"])
			}
			if a.Has("tie") {
				if w.config.TieBreak, err = cycle.ParseTieBreak(a.Options["tie"]); err != nil {
					return err
				}
			}
			w.config.Candidates = scenario.Int(a.Options["candidates"])
			w.pipeline, w.cycle = nil, nil
			return nil
		},
		"pod NAME… " + fake.PodOptions: func(a scenario.Args) error { // with on= it is placed
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
		"extender " + serviceOptions: func(a scenario.Args) error { return w.services.add(w, a) },
		"native NAME…": scenario.Each(func(name string, _ scenario.Args) error { // plugins that are compiled in
			p, err := hostplugins.All(hostplugins.Deps{}).New(name, nil)
			if err != nil {
				return err
			}
			w.add(p, 0, plugin.Points(p)...)
			return nil
		}),
		"nominate POD NODE": func(a scenario.Args) error {
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
		"schedule POD… [work=yes] [seed=INT]": func(a scenario.Args) error {
			for _, name := range a.Names {
				if a.Has("seed") {
					w.seed = uint64(scenario.Int(a.Options["seed"]))
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
