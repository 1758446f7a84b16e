package scale

import (
	"context"
	"fmt"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/reuse"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// Module is a plugin to be added to the default profile.
type Module struct{ Path, Config string }

// Berth places the pods with Berth's engine, and returns what it cost.
func Berth(ctx context.Context, w Workload, modules []Module, kept bool) (cost Cost, err error) {
	m := assembly.NewModules(assembly.ModulesConfig{VerifyEvery: 1024}) // as cmd/app samples
	defer func() {
		if failed := m.Close(ctx); err == nil {
			err = failed
		}
	}()
	c := assembly.Config{Seed: 1, Workers: 1, Scheduler: assembly.Default(), Modules: m}
	if kept {
		c.Reuse = reuse.Default()
	}
	for _, p := range modules {
		loaded, err := m.Load(module.Reference{Path: p.Path, Config: []byte(p.Config), Weight: 1})
		if err != nil {
			return Cost{}, err
		}
		if err := loaded.Enable(c.Scheduler); err != nil {
			return Cost{}, err
		}
	}
	s, err := sim.New(sim.Config{Nodes: w.Nodes, Arrivals: arrivals(w), Assembly: c})
	if err != nil {
		return Cost{}, err
	}
	watch := start()
	r, err := s.Run(ctx)
	if err != nil {
		return Cost{}, err
	}
	cost = watch.cost(len(w.Pods))
	if r.Summary.Scheduled != len(w.Pods) {
		return Cost{}, fmt.Errorf("berth placed %d of %d pods", r.Summary.Scheduled, len(w.Pods))
	}
	for _, u := range r.Plugins {
		if u.Faults != 0 {
			return Cost{}, fmt.Errorf("plugin %s has %d faults", u.Name, u.Faults)
		}
	}
	return cost, nil
}

func arrivals(w Workload) []input.Arrival {
	out := make([]input.Arrival, len(w.Pods))
	for i, p := range w.Pods {
		out[i].Pod = p
	}
	return out
}
