package scheduler_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/report"
)

// recorder records attempts as text, without times.
type recorder struct {
	*world
	attempts strings.Builder
}

func (*recorder) Ended(*report.Ending) {}

func (r *recorder) Attempted(a *report.Attempt, name func(row uint32) string) {
	c := a.Clone(name)
	for i := range c.Timings {
		c.Timings[i].Duration = 0
	}
	for i := range c.Points {
		c.Points[i].Duration = 0
	}
	c.Duration = 0
	fmt.Fprintf(&r.attempts, "%+v\n", *c)
}

// play runs a fixed sequence of events with n nodes and returns the attempts.
func play(t *testing.T, nodes, workers int, spawn func(run func())) string {
	w := newWorld(t, nil)
	w.workers, w.seed, w.tie = workers, 42, cycle.Random
	r := &recorder{world: w}
	w.observer = r
	w.spawn = spawn
	w.declare("Fit", scenario.MustParse("fit=yes enforces=requests events=Pod/Delete,Node/Add"))
	w.declare("Odd", scenario.MustParse(`scope=cluster filter=n0001=unschedulable:odd score=1`))
	w.declare("Permit", scenario.MustParse("reserve=ok patch=a:b permit=p7=wait:3s;p9=wait:5s;p11=unschedulable:no events=Node/Add"))
	w.declare("Bind", scenario.MustParse("bind=p3=error:conflict;p4=unschedulable:no"))
	s := w.get()
	for i := range nodes {
		node, err := fake.Node(fmt.Sprintf("n%04d", i), scenario.MustParse("cpu=500"))
		if err != nil {
			t.Fatal(err)
		}
		s.SetNode(node)
	}
	for i := range 30 {
		p, err := fake.Pod(fmt.Sprintf("p%d", i), scenario.MustParse(fmt.Sprintf("cpu=%d priority=%d", 300+i%3*200, i%4)))
		if err != nil {
			t.Fatal(err)
		}
		w.set(p)
		switch {
		case i%5 == 4:
			w.run()
			w.clock.Advance(1500 * time.Millisecond)
		case i == 17:
			s.DeleteNode("n0003")
		case i == 18:
			s.AllowWaiting("p9", "Permit")
		case i == 22:
			s.DeletePod("p5")
		}
	}
	w.clock.Advance(10 * time.Second)
	w.run()
	return r.attempts.String()
}

// TestDeterminism: the same events and seed give the same attempts with any number of workers,
// with bindings inline or concurrent.
func TestDeterminism(t *testing.T) {
	for _, nodes := range []int{7, 4200} {
		inline := func(run func()) { run() }
		want := play(t, nodes, 1, inline)
		if n := strings.Count(want, "\n"); n < 30 {
			t.Fatalf("%d attempts:\n%s", n, want)
		}
		for _, workers := range []int{1, 2, 3, 8} {
			if got := play(t, nodes, workers, inline); got != want {
				t.Errorf("%d nodes, %d workers: attempts differ", nodes, workers)
			}
		}
		beside := func(run func()) { // in a goroutine, but one after the other
			var group sync.WaitGroup
			group.Go(run)
			group.Wait()
		}
		if got := play(t, nodes, 2, beside); got != want {
			t.Errorf("%d nodes: attempts differ when bindings run beside the loop", nodes)
		}
	}
}
