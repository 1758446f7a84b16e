package scale

import (
	"runtime"
	"syscall"
	"time"
)

// Cost is what placing a pod took, on average.
type Cost struct {
	CPU  time.Duration // of all threads, garbage collection included
	Wall time.Duration
}

type stopwatch struct {
	cpu  time.Duration
	wall time.Time
}

// start begins to measure, after the garbage of what came before is gone.
func start() stopwatch {
	runtime.GC()
	return stopwatch{cpu: used(), wall: time.Now()}
}

func (s stopwatch) cost(pods int) Cost {
	n := time.Duration(pods)
	return Cost{CPU: (used() - s.cpu) / n, Wall: time.Since(s.wall) / n}
}

// used is the CPU time of the process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("BUG: getrusage: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
