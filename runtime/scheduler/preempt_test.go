package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// patient is a plugin whose PreBind for the pod v lasts until its context ends.
type patient struct {
	info  plugin.Info
	begun chan struct{}
}

func (p *patient) Info() *plugin.Info { return &p.info }

func (p *patient) PreBindPreFlight(*plugin.Placement) *plugin.Status { return nil }

func (p *patient) PreBind(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	if pl.Pod.Name == "v" {
		close(p.begun)
		<-pl.Context.Done()
		return plugin.Directives{}, plugin.Fail(context.Cause(pl.Context))
	}
	return plugin.Directives{}, nil
}

// told records the calls of the outlet.
type told struct {
	*world
	scheduled []string
	preempted []scheduler.Preempted
	failures  []scheduler.Failure
}

func (o *told) Scheduled(pod *state.Pod, _ string, _ state.Feature) {
	o.scheduled = append(o.scheduled, pod.Name)
}

func (o *told) Preempted(p scheduler.Preempted) { o.preempted = append(o.preempted, p) }
func (o *told) Failed(f scheduler.Failure)      { o.failures = append(o.failures, f) }

// stuck is an evictor that returns only when it is cancelled.
type stuck struct {
	begun chan struct{}
	err   error
}

func (e *stuck) Evict(ctx context.Context, _ objects.Eviction) error {
	close(e.begun)
	<-ctx.Done()
	e.err = context.Cause(ctx)
	return e.err
}

// TestPreBindIsInterrupted: a victim that is not bound yet returns to the queue, and nothing is
// deleted.
func TestPreBindIsInterrupted(t *testing.T) {
	w := newWorld(t, nil)
	w.spawn, w.observer = nil, nil
	out := &told{world: w}
	w.outlet = out
	for _, name := range []string{"NodeResourcesFit", "DefaultPreemption"} {
		if err := w.native(name); err != nil {
			t.Fatal(err)
		}
	}
	p := &patient{info: plugin.Info{Name: "Patient"}, begun: make(chan struct{})}
	w.profiles[0].Points[abi.PreBind] = []pipeline.Entry{{Plugin: p}}
	evictor := &stuck{begun: make(chan struct{})}
	w.evictor = evictor
	s := w.get()
	node, _ := fake.Node("n", scenario.MustParse("cpu=1000"))
	victim, _ := fake.Pod("v", scenario.MustParse("cpu=800 priority=1"))
	pod, _ := fake.Pod("p", scenario.MustParse("cpu=800 priority=5"))
	s.SetNode(node)
	w.set(victim)
	s.Step(t.Context())
	<-p.begun
	w.set(pod)
	eventually.Succeeds(t, func() error {
		for s.Step(t.Context()) {
		}
		if len(out.scheduled) == 0 {
			w.clock.Advance(time.Second)
			return fmt.Errorf("the pod is not bound; reported %+v, %+v", out.preempted, out.failures)
		}
		return nil
	})
	if len(out.preempted) != 1 || !strings.HasSuffix(out.preempted[0].Message, "(in kube-scheduler memory).") {
		t.Errorf("preempted: %+v", out.preempted)
	}
	found := false
	for _, f := range out.failures {
		found = found || f.Pod.Name == "v" && f.Message == "preempted by DefaultPreemption"
	}
	if !found || out.scheduled[0] != "p" || w.pods["v"] == nil || w.pods["v"].NodeName() != "" {
		t.Errorf("scheduled %v, the victim is %+v, failures %+v", out.scheduled, w.pods["v"], out.failures)
	}
	if evictor.err != nil {
		t.Error("a pod was deleted")
	}
}

// TestRunEndsEvictions: Run cancels evictions when its context ends, and waits for them.
func TestRunEndsEvictions(t *testing.T) {
	w := newWorld(t, nil)
	w.spawn, w.observer = nil, nil
	w.outlet = &told{world: w}
	for _, name := range []string{"NodeResourcesFit", "DefaultPreemption"} {
		if err := w.native(name); err != nil {
			t.Fatal(err)
		}
	}
	evictor := &stuck{begun: make(chan struct{})}
	w.evictor = evictor
	s := w.get()
	node, _ := fake.Node("n", scenario.MustParse("cpu=1000"))
	victim, _ := fake.Pod("v", scenario.MustParse("cpu=800 priority=1 on=n"))
	pod, _ := fake.Pod("p", scenario.MustParse("cpu=800 priority=5"))
	s.SetNode(node)
	w.set(victim, pod)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	<-evictor.begun
	why := errors.New("enough")
	cancel(why)
	if err := <-ended; err != nil || !errors.Is(evictor.err, why) {
		t.Errorf("Run returned %v, the eviction ended with %v", err, evictor.err)
	}
	if _, _, evicting, _, _ := s.CheckIdle(); evicting != 0 {
		t.Errorf("%d evictions run after Run has returned", evicting)
	}
}
