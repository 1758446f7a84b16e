package scale

import (
	"context"
	"fmt"
	"runtime"
	"syscall"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// Memory is what a simulation takes, in bytes.
type Memory struct {
	Live int64 // what is alive at its end, objects of the cluster included
	Peak int64 // the largest resident set of the process
}

// Footprint places pods of four templates, and measures memory. As the peak is the process's,
// it is to be called once in a process.
func Footprint(ctx context.Context, nodes, pods int) (Memory, error) {
	w := New(Plain, nodes, pods, 4)
	s, err := sim.New(sim.Config{Nodes: w.Nodes, Arrivals: arrivals(w), Assembly: assembly.Config{
		Seed: 1, Workers: 1, Scheduler: assembly.Default(), Reuse: equivalence.Default(),
	}})
	if err != nil {
		return Memory{}, err
	}
	r, err := s.Run(ctx)
	if err != nil {
		return Memory{}, err
	}
	if r.Summary.Scheduled != pods {
		return Memory{}, fmt.Errorf("berth placed %d of %d pods", r.Summary.Scheduled, pods)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return Memory{}, err
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(r)
	runtime.KeepAlive(w)
	return Memory{Live: int64(m.HeapAlloc), Peak: peak(&u)}, nil
}
