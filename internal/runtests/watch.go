package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// limits of a test program, with the processes that it starts. How long it takes is none: that depends on what else
// runs on the machine.
type limits struct {
	idle, cpu time.Duration // of a test program
	again     int           // how many tests may fail to be repeated
}

// least is how much CPU time counts as some: timers alone use a little.
const least = 500 * time.Millisecond

// watch ends programs that go test has started and that reach a limit.
type watch struct {
	limits   limits
	parent   int // go test
	out      io.Writer
	programs map[int]*program
	dying    map[int]string // names of processes that have had time to show their goroutines
	usage    func() (map[int]process, error)
	signal   func(pid int, sig syscall.Signal)
}

// process is what the system says of one, by its id. Its CPU time has that of children that have ended, where the
// system says it.
type process struct {
	parent int
	name   string
	cpu    time.Duration
}

// program is one that go test has started: usually a test, else a compiler.
type program struct {
	last, used time.Duration // when it was last looked at; all that was seen
	mark       time.Duration // used, when it last used some
	idle       time.Duration // since then, in intervals: a machine that stands still is no idle program
	ended      bool          // has been asked to
}

func newWatch(limits limits, parent int, out io.Writer) *watch {
	return &watch{limits: limits, parent: parent, out: out, usage: usage,
		programs: make(map[int]*program), dying: make(map[int]string),
		signal: func(pid int, sig syscall.Signal) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Signal(sig) // it may be gone
			}
		}}
}

// look measures all programs once. It is called once in each interval. A program at a limit is asked for its
// goroutines, which ends it. What is left of it and of all that it has started is killed at the next look.
func (w *watch) look() error {
	all, err := w.usage()
	if err != nil {
		return err
	}
	for pid, name := range w.dying {
		if p, alive := all[pid]; alive && p.name == name {
			w.signal(pid, syscall.SIGKILL)
		}
	}
	clear(w.dying)
	for pid := range w.programs {
		if all[pid].parent != w.parent {
			delete(w.programs, pid)
		}
	}
	for pid, process := range all {
		if process.parent != w.parent {
			continue
		}
		p := w.programs[pid]
		if p == nil {
			p = &program{}
			w.programs[pid] = p
		}
		tree := below(all, pid)
		var cpu time.Duration
		for _, pid := range tree {
			cpu += all[pid].cpu
		}
		if why := p.measure(cpu, w.limits); why != "" && !p.ended {
			p.ended = true
			for _, pid := range tree {
				w.dying[pid] = all[pid].name
			}
			fmt.Fprintf(w.out, "runtests: %s %s, so it is ended, and shows its goroutines\n", process.name, why)
			w.signal(pid, syscall.SIGQUIT)
		}
	}
	return nil
}

// measure takes the CPU time of a program at the end of an interval. It returns the limit that is reached, if any.
func (p *program) measure(cpu time.Duration, limits limits) string {
	p.used += max(0, cpu-p.last) // less than before if a child has ended
	p.last = cpu
	p.idle += interval
	if p.used >= p.mark+least {
		p.mark, p.idle = p.used, 0
	}
	switch {
	case p.idle >= limits.idle:
		return fmt.Sprintf("used no CPU for %v", limits.idle)
	case p.used >= limits.cpu:
		return fmt.Sprintf("used %v of CPU", limits.cpu)
	}
	return ""
}

// below returns a process and all that it has started, directly or not.
func below(all map[int]process, pid int) []int {
	tree := []int{pid}
	for i := 0; i < len(tree); i++ {
		for child, p := range all {
			if p.parent == tree[i] {
				tree = append(tree, child)
			}
		}
	}
	return tree
}
