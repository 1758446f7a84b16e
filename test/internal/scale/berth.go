package scale

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Module is a plugin to be added to the default profile. Natively its twin of the same name among
// the examples runs instead, compiled into this program, with the same host around it.
type Module struct {
	Name, Path, Config string
	Native             bool
}

// Berth places the pods with Berth's engine, and returns what it cost.
func Berth(ctx context.Context, w Workload, modules []Module, kept bool) (cost Cost, err error) {
	config := assembly.ModulesConfig{VerifyEvery: 1024} // as cmd/app samples
	if len(modules) > 0 {                               // what is compiled is the same each time, and not measured
		config.CacheDir = filepath.Join(filepath.Dir(modules[0].Path), "compiled")
	}
	m := assembly.NewModules(config)
	defer func() {
		if failed := m.Close(ctx); err == nil {
			err = failed
		}
	}()
	c := assembly.Config{Seed: 1, Workers: 1, Scheduler: assembly.Default(), Modules: m, Plugins: plugin.Registry{}}
	if kept {
		c.Reuse = equivalence.Default()
	}
	for _, p := range modules {
		loaded, err := m.Load(module.Reference{Path: p.Path, Config: []byte(p.Config), Weight: 1})
		if err != nil {
			return Cost{}, err
		}
		if err := loaded.Enable(c.Scheduler); err != nil {
			return Cost{}, err
		}
		if p.Native {
			if err := p.instead(&c); err != nil {
				return Cost{}, err
			}
		}
	}
	var watch stopwatch
	answered := 0
	s, err := sim.New(sim.Config{Nodes: w.Nodes, Arrivals: arrivals(w), Assembly: c, Answered: func(*state.Pod, string) {
		if answered++; answered == len(w.Leaving) {
			watch = start()
		}
	}})
	if err != nil {
		return Cost{}, err
	}
	if len(w.Leaving) == 0 {
		watch = start()
	}
	r, err := s.Run(ctx)
	if err != nil {
		return Cost{}, err
	}
	cost = watch.cost(len(w.Pods))
	if all := len(w.Leaving) + len(w.Pods); r.Summary.Scheduled != all {
		return Cost{}, fmt.Errorf("berth placed %d of %d pods", r.Summary.Scheduled, all)
	}
	for _, u := range r.Plugins {
		if u.Faults != 0 {
			return Cost{}, fmt.Errorf("plugin %s has %d faults", u.Name, u.Faults)
		}
	}
	return cost, nil
}

func arrivals(w Workload) []input.Arrival {
	var out []input.Arrival
	for i, p := range w.Leaving {
		out = append(out, input.Arrival{Pod: p, Until: time.Duration(i/w.Changes+1)*time.Second - time.Second/2})
	}
	for i, p := range w.Pods {
		a := input.Arrival{Pod: p}
		if w.Changes > 0 {
			a.At = time.Duration(i+1) * time.Second
		}
		out = append(out, a)
	}
	return out
}
