package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// slowBinder binds asynchronously, fails sometimes, and has the watch confirm its bindings from
// separate goroutines.
type slowBinder struct {
	info      plugin.Info
	scheduler *scheduler.Scheduler

	rand *rand.Rand

	mu    sync.Mutex
	nodes map[types.UID]string
	tries int
}

func (b *slowBinder) Info() *plugin.Info { return &b.info }

func (b *slowBinder) Bind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{}, b.bind(p)
}

func (b *slowBinder) bind(p *plugin.Placement) *plugin.Status {
	time.Sleep(time.Duration(b.rand.IntN(1000)) * time.Microsecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries++
	if b.tries%4 == 0 {
		return plugin.Fail(errors.New("conflict"))
	}
	if node, ok := b.nodes[p.Pod.UID]; ok {
		return plugin.Fail(fmt.Errorf("is on %s", node))
	}
	b.nodes[p.Pod.UID] = p.Node.Name
	bound := p.Pod
	go func() {
		time.Sleep(time.Duration(b.rand.IntN(500)) * time.Microsecond)
		b.scheduler.SetPods(bound)
	}()
	return nil
}

// outletCount counts its calls, which come from the loop.
type outletCount struct {
	done   chan struct{}
	want   int
	placed map[types.UID]int
	failed int
	// refuses is what Binding returns.
	refuses func(context.Context) error
}

func (o *outletCount) Scheduled(pod *state.Pod, _ string, _ state.Feature) {
	o.placed[pod.UID]++
	if len(o.placed) == o.want {
		close(o.done)
	}
}

func (o *outletCount) Failed(scheduler.Failure) { o.failed++ }

func (o *outletCount) Preempted(scheduler.Preempted) {}

func (o *outletCount) Binding(ctx context.Context, _ *state.Pod) error {
	if o.refuses == nil {
		return nil
	}
	return o.refuses(ctx)
}
func (o *outletCount) NominationCleared(*state.Pod) {}

// TestRun runs the loop, binding cycles, the watch and the clock concurrently, for the race
// detector.
func TestRun(t *testing.T) {
	const pods, nodes = 300, 20
	w := newWorld(t, nil)
	w.workers = 2
	w.spawn = nil // goroutines
	b := &slowBinder{info: plugin.Info{Name: "Slow"}, nodes: map[types.UID]string{}, rand: seeded.Rand(t)}
	out := &outletCount{done: make(chan struct{}), want: pods, placed: map[types.UID]int{}}
	w.outlet, w.observer = out, nil
	w.declare("Fit", scenario.MustParse("fit=yes enforces=requests events=Pod/Delete,Node/Add reserve=ok patch=a:b"))
	w.declare("Wait", scenario.MustParse("permit=p7=wait:10s;p8=wait:10s prebind=ok postbind=ok"))
	w.profiles[0].Points[abi.Bind] = []pipeline.Entry{{Plugin: b}}
	s := w.get()
	b.scheduler = s

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	var feeders sync.WaitGroup
	feeders.Go(func() {
		for i := range nodes {
			node, _ := fake.Node(fmt.Sprintf("n%d", i), scenario.MustParse("cpu=10000"))
			s.SetNode(node)
		}
	})
	feeders.Go(func() {
		for i := range pods {
			p, _ := fake.Pod(fmt.Sprintf("p%d", i), scenario.MustParse("cpu=500"))
			s.SetPods(p)
		}
	})
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-out.done:
		case <-ticker.C:
			w.clock.Advance(200 * time.Millisecond)
			s.AllowWaiting("p7", "Wait")
			s.AllowWaiting("p8", "Wait")
			continue
		}
		break
	}
	feeders.Wait()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for uid, n := range out.placed {
		if n != 1 {
			t.Errorf("%s was scheduled %d times", uid, n)
		}
	}
	if _, binding, _, _, _ := s.CheckIdle(); binding != 0 {
		t.Errorf("%d binding cycles run after Run has returned", binding)
	}
	used := map[string]int{}
	for _, node := range b.nodes {
		if used[node]++; used[node] > 20 {
			t.Errorf("node %s has %d pods, 20 fit", node, used[node])
		}
	}
	t.Logf("%d attempts failed", out.failed)
}

// TestRunEnds: Run waits for running binding cycles when its context ends.
func TestRunEnds(t *testing.T) {
	w := newWorld(t, nil)
	w.spawn = nil
	w.observer = nil
	out := &outletCount{done: make(chan struct{}), want: 1, placed: map[types.UID]int{}}
	w.outlet = out
	begun, finish := make(chan struct{}), make(chan struct{})
	p := &blockingBinder{info: plugin.Info{Name: "Block"}, begun: begun, finish: finish}
	w.profiles[0].Points[abi.Bind] = []pipeline.Entry{{Plugin: p}}
	s := w.get()
	node, _ := fake.Node("n", scenario.Args{})
	pod, _ := fake.Pod("p", scenario.Args{})
	s.SetNode(node)
	s.SetPods(pod)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	<-begun
	cancel()
	select {
	case <-ended:
		t.Fatal("Run returned while a binding cycle ran")
	case <-time.After(20 * time.Millisecond):
	}
	close(finish)
	if err := <-ended; err != nil || out.placed["p"] != 1 {
		t.Errorf("error %v, placed %v", err, out.placed)
	}
	if err := s.Do(context.Background(), func() {}); err == nil {
		t.Error("a scheduler that has stopped answers")
	}
}

type blockingBinder struct {
	info          plugin.Info
	begun, finish chan struct{}
}

func (b *blockingBinder) Info() *plugin.Info { return &b.info }

func (b *blockingBinder) Bind(*plugin.Placement) (plugin.Directives, *plugin.Status) {
	close(b.begun)
	<-b.finish
	return plugin.Directives{}, nil
}

// TestCalledOff: a pod that the outlet does not let be bound is retried, and reported unless
// the scheduler is stopping.
func TestCalledOff(t *testing.T) {
	for name, ends := range map[string]bool{"while it runs": false, "at the end": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.spawn = nil // goroutines
			out := &outletCount{placed: map[types.UID]int{}}
			w.outlet, w.observer = out, nil
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := make(chan struct{})
			out.refuses = func(context.Context) error {
				close(asked)
				if ends {
					<-ctx.Done()
				}
				return errors.New("cancelled")
			}
			s := w.get()
			node, _ := fake.Node("n", scenario.MustParse(""))
			s.SetNode(node)
			p, _ := fake.Pod("p", scenario.MustParse(""))
			s.SetPods(p)
			ended := make(chan error)
			go func() { ended <- s.Run(ctx) }()
			<-asked
			for told := ends; !told; {
				if err := s.Do(ctx, func() { told = out.failed > 0 }); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: 1, true: 0}[ends]; out.failed != want || len(out.placed) > 0 {
				t.Errorf("%d failures were reported, want %d; placed %v", out.failed, want, out.placed)
			}
		})
	}
}

// TestEndAfterWake: if a binding ends and wakes the loop just as it is stopping, the loop
// handles it and does not wait for another wake-up.
func TestEndAfterWake(t *testing.T) {
	w := newWorld(t, nil)
	w.spawn = nil // goroutines
	w.outlet, w.observer = &outletCount{placed: map[types.UID]int{}}, nil
	s := w.get()
	node, _ := fake.Node("n", scenario.MustParse(""))
	s.SetNode(node)
	p, _ := fake.Pod("p", scenario.MustParse(""))
	s.SetPods(p)
	ctx, cancel := context.WithCancel(t.Context())
	for s.Step(ctx) {
		if _, binding, _, _, _ := s.CheckIdle(); binding > 0 {
			break
		}
	}
	for calls := 0; calls == 0; runtime.Gosched() {
		_, _, _, calls, _ = s.CheckIdle()
	}
	s.Sleep(ctx)
	cancel()
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	if err := <-ended; err != nil { // it does not wait for a result that has already arrived
		t.Fatal(err)
	}
}
