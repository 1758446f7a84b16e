package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// mine is a plugin at all points, and all that a scheduler calls besides. It panics at one place, for one pod.
type mine struct {
	info      plugin.Info
	at        string // the place
	scheduler *scheduler.Scheduler
	failures  map[string]string // last message by pod
	bound     map[string]string // node by pod
	caught    []*plugin.Panic
	events    []string // that entered the loop
	decisions []string
}

// bad is the name of the pod.
const bad = "bad"

func (m *mine) step(at, pod string) {
	if m.at == at && (pod == bad || pod == "ns/"+bad) {
		panic("as a bug does with " + pod)
	}
}

func (m *mine) Info() *plugin.Info { return &m.info }

func (m *mine) PreEnqueue(pods []*state.Pod, _ []*plugin.Status) {
	for _, pod := range pods {
		m.step("PreEnqueue", pod.Name)
	}
}

func (m *mine) Less(a, b *state.QueuedPod) bool {
	m.step("QueueSort", a.Pod.Name)
	m.step("QueueSort", b.Pod.Name)
	return a.Timestamp.Before(b.Timestamp)
}

func (m *mine) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	m.step("PreFilter", c.Pod.Name)
	return nil, nil
}

func (m *mine) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	out.Reject(0, abi.Error, out.Reason("never seen")) // what a call has answered before it panics does not count
	m.step("Filter", c.Pod.Name)
	out.Reset(len(rows))
	if c.Pod.Name == bad && slices.Contains([]string{"PostFilter", "eviction", "Hint"}, m.at) {
		for i := range rows {
			out.Reject(i, abi.Unschedulable, out.Reason("no room"))
		}
	}
}

func (m *mine) PostFilter(c *plugin.Cycle, _ *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	m.step("PostFilter", c.Pod.Name)
	for _, pod := range c.Snapshot.Pods.Pod {
		if pod != nil && pod.Name == "victim" && m.at == "eviction" {
			return plugin.PostFilterResult{Override: true, NominatedNode: pod.NodeName(), Preemption: plugin.Preemption{Victims: []*state.Pod{pod}}}, nil
		}
	}
	return plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable, "nobody to evict")
}

func (m *mine) PreScore(c *plugin.Cycle, _ []uint32) *plugin.Status {
	m.step("PreScore", c.Pod.Name)
	return nil
}

func (m *mine) Score(c *plugin.Cycle, _ []uint32, _ []int64) *plugin.Status {
	m.step("Score", c.Pod.Name)
	return nil
}

func (m *mine) Normalize(c *plugin.Cycle, _ []uint32, _ []int64) *plugin.Status {
	m.step("Normalize", c.Pod.Name)
	return nil
}

func (m *mine) Reserve(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	m.step("Reserve", p.Pod.Name)
	return plugin.Directives{}, nil
}

func (m *mine) Unreserve(p *plugin.Placement) plugin.Directives {
	m.step("Unreserve", p.Pod.Name)
	return plugin.Directives{}
}

func (m *mine) Permit(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	m.step("Permit", p.Pod.Name)
	if m.at == "Unreserve" && p.Pod.Name == bad {
		return 0, plugin.Directives{}, plugin.Fail(errors.New("no permit"))
	}
	return 0, plugin.Directives{}, nil
}

func (m *mine) PreBindPreFlight(p *plugin.Placement) *plugin.Status {
	m.step("PreBindPreFlight", p.Pod.Name)
	return nil
}

func (m *mine) PreBind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	m.step("PreBind", p.Pod.Name)
	return plugin.Directives{}, nil
}

func (m *mine) Bind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	m.step("Bind", p.Pod.Name)
	m.bound[p.Pod.Name] = p.Node.Name
	m.scheduler.SetPods(p.Pod)
	return plugin.Directives{}, nil
}

func (m *mine) PostBind(p *plugin.Placement) plugin.Directives {
	m.step("PostBind", p.Pod.Name)
	return plugin.Directives{}
}

func (m *mine) hint(pod *state.Pod, _ state.Object) (state.Hint, error) {
	m.step("Hint", pod.Name)
	return state.QueueSkip, nil
}

// Binding, Scheduled, Failed, Preempted and NominationCleared implement scheduler.Outlet.
func (m *mine) Binding(_ context.Context, pod *state.Pod) error {
	m.step("Outlet.Binding", pod.Name)
	return nil
}
func (m *mine) Scheduled(pod *state.Pod, _ string, _ state.Feature) {
	m.step("Outlet.Scheduled", pod.Name)
}
func (m *mine) Failed(f scheduler.Failure) {
	m.failures[f.Pod.Name] = f.Message
	m.step("Outlet.Failed", f.Pod.Name)
}
func (m *mine) Preempted(scheduler.Preempted)    {}
func (m *mine) NominationCleared(pod *state.Pod) {}

// Attempted and Ended implement scheduler.Observer.
func (m *mine) Attempted(a *report.Attempt, _ func(uint32) string) {
	m.step("Observer.Attempted", a.Pod)
}
func (m *mine) Ended(e *report.Ending) { m.step("Observer.Ended", e.Pod) }

func (m *mine) Evict(context.Context, objects.Eviction) error { return nil }

// Enter implements inbox.Recorder.
func (m *mine) Enter(e inbox.Event) {
	line, err := inbox.Format(e)
	if err != nil {
		panic(err)
	}
	if _, ok := e.(*inbox.Decision); ok {
		m.decisions = append(m.decisions, line)
		return
	}
	m.events = append(m.events, line)
}

// fault panics where no plugin is called.
func (m *mine) fault(at, what string) {
	if at == "eviction" {
		what = bad // it is its preemption
	}
	m.step(at, what)
}

// start makes a scheduler in which a place is mined.
func start(t *testing.T, at string, suspects *scheduler.Suspects) *mine {
	t.Helper()
	m := &mine{at: at, failures: map[string]string{}, bound: map[string]string{}}
	m.info = plugin.Info{Name: "Mine", Events: []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add}, Hint: m.hint}}}
	pool, err := pipeline.NewWorkers(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	points := map[abi.Point][]pipeline.Entry{}
	for _, point := range plugin.Points(m) {
		points[point] = []pipeline.Entry{{Plugin: m}}
	}
	tell := func(p *plugin.Panic) { m.caught = append(m.caught, p) }
	p, err := pipeline.New(pipeline.Config{Profile: "default", Points: points, AllowUnenforced: ^state.Feature(0)}, pipeline.Deps{Workers: pool, Panicked: tell})
	if err != nil {
		t.Fatal(err)
	}
	m.scheduler, err = scheduler.New(
		scheduler.Config{Seed: 1, Queue: queue.DefaultConfig(), Cycle: cycle.Config{TieBreak: cycle.First}},
		scheduler.Deps{
			Clock: clock.NewHeld(clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))), Pipelines: []*pipeline.Pipeline{p}, Outlet: m, Observer: m, Evictor: m,
			Recorder: m, Panicked: tell, Suspects: suspects, Fault: m.fault, Spawn: func(run func()) { run() },
			Moved: func(tr queue.Transition) { m.step("Moved", tr.Pod.Pod.Name) },
			Tried: func(in cycle.Input, _ *cycle.Decision) { m.step("Tried", in.Pod.Pod.Name) },
		})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func minedPod(name, node string) *state.Pod {
	return state.NewPod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec:       v1.PodSpec{SchedulerName: "default", NodeName: node},
	})
}

func minedNode(name string) *state.Node {
	return state.NewNode(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourcePods: resource.MustParse("100")}},
	})
}

// play lets pods arrive before, with and after the bad one.
func (m *mine) play(t *testing.T) {
	s := m.scheduler
	turns := func() {
		for range 20 {
			s.Step(t.Context())
		}
	}
	s.SetNode(minedNode("n0"))
	s.SetNode(minedNode("n1"))
	s.SetPods(minedPod("victim", "n1"), minedPod("before", ""))
	turns()
	s.SetPods(minedPod(bad, ""), minedPod("with", ""))
	turns()
	s.SetNode(minedNode("n2")) // raises the event of the hint
	s.SetPods(minedPod("after", ""))
	turns()
}

// TestPanics: wherever something panics about a pod, that pod alone is affected. The panic is counted, with its stack, a
// repetition of what entered the loop has the same decisions, and the loop goes on.
func TestPanics(t *testing.T) {
	for _, test := range []struct {
		at    string
		place plugin.Place
		binds bool // the bad pod is bound all the same
		says  string
	}{
		{"PreEnqueue", plugin.InPlugin, false, ""},
		{"QueueSort", plugin.InHint, true, ""},
		{"PreFilter", plugin.InPlugin, false, "PreFilter of plugin Mine"},
		{"Filter", plugin.InPlugin, false, "Filter of plugin Mine"},
		{"PostFilter", plugin.InPlugin, false, ""},
		{"PreScore", plugin.InPlugin, false, "PreScore of plugin Mine"},
		{"Score", plugin.InPlugin, false, "Score of plugin Mine"},
		{"Normalize", plugin.InPlugin, false, "Normalize of plugin Mine"},
		{"Reserve", plugin.InPlugin, false, "Reserve of plugin Mine"},
		{"Unreserve", plugin.InPlugin, false, "no permit"},
		{"Permit", plugin.InPlugin, false, "Permit of plugin Mine"},
		{"PreBindPreFlight", plugin.InPlugin, false, "PreBindPreFlight of plugin Mine"},
		{"PreBind", plugin.InPlugin, false, "PreBind of plugin Mine"},
		{"Bind", plugin.InPlugin, false, "Bind of plugin Mine"},
		{"PostBind", plugin.InPlugin, true, ""},
		{"Hint", plugin.InHint, false, "no room"},
		{"attempt", plugin.InAttempt, false, "a scheduling cycle of pod ns/bad"},
		{"binding", plugin.InBinding, false, "the binding cycle of pod ns/bad"},
		{"Outlet.Binding", plugin.InBinding, false, "the binding cycle of pod ns/bad"},
		{"eviction", plugin.InEviction, false, ""},
		{"Outlet.Scheduled", plugin.InWrite, true, ""},
		{"Outlet.Failed", plugin.InWrite, true, ""},
		{"Observer.Attempted", plugin.InWrite, true, ""},
		{"Observer.Ended", plugin.InWrite, true, ""},
		{"Moved", plugin.InWrite, true, ""},
		{"Tried", plugin.InShadow, true, ""},
	} {
		t.Run(test.at, func(t *testing.T) {
			m := start(t, test.at, nil)
			m.play(t)
			if err := m.scheduler.Broken(); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"before", "with", "after"} {
				if m.bound[name] == "" {
					t.Errorf("pod %s is not bound: %s", name, m.failures[name])
				}
			}
			if bound := m.bound[bad] != ""; bound != test.binds {
				t.Errorf("the bad pod is bound: %v, want %v: %s", bound, test.binds, m.failures[bad])
			}
			if got := m.failures[bad]; !strings.Contains(got, test.says) || strings.Contains(got, "goroutine") {
				t.Errorf("the reason is %q, want one with %q", got, test.says)
			}
			if len(m.caught) == 0 && test.at != "Outlet.Failed" {
				t.Fatal("no panic was told")
			}
			for _, p := range m.caught {
				if p.Place != test.place || !strings.Contains(string(p.Stack), "scheduler_test.(*mine).step") || !strings.Contains(p.Value, "as a bug does") {
					t.Errorf("place %q, panic %q, stack:\n%s", p.Place, p.Value, p.Stack)
				}
			}
			again := start(t, test.at, nil)
			again.repeat(t, m.events)
			if !slices.Equal(again.decisions, m.decisions) {
				t.Errorf("repeated: %v\nwant %v", again.decisions, m.decisions)
			}
		})
	}
}

// repeat handles what has entered another loop.
func (m *mine) repeat(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		e, err := inbox.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		m.scheduler.Handle(t.Context(), e)
	}
	if err := m.scheduler.Broken(); err != nil {
		t.Fatal(err)
	}
}

// TestBrokenLoop: after a panic in queue or cache the loop ends, and the next scheduler begins anew. The third one holds the
// pod back, says so, and places the others. A pod that has changed is tried again.
func TestBrokenLoop(t *testing.T) {
	for _, at := range []string{"queue", "cache"} {
		t.Run(at, func(t *testing.T) {
			var suspects scheduler.Suspects
			broken := 0
			for round := 1; ; round++ {
				m := start(t, at, &suspects)
				m.play(t)
				if err := m.scheduler.Broken(); err != nil {
					if broken++; broken > 3 || !errors.Is(err, scheduler.ErrBroken) || m.bound["after"] != "" {
						t.Fatalf("round %d: %v, bound %v", round, err, m.bound)
					}
					if last := m.caught[len(m.caught)-1]; last.Place != plugin.InLoop || !strings.Contains(string(last.Stack), "(*mine).step") {
						t.Errorf("place %q, stack:\n%s", last.Place, last.Stack)
					}
					if err := m.scheduler.Run(t.Context()); !errors.Is(err, scheduler.ErrBroken) {
						t.Errorf("a broken loop runs: %v", err)
					}
					if err := m.scheduler.Standby(t.Context()); !errors.Is(err, scheduler.ErrBroken) {
						t.Errorf("a broken loop stands by: %v", err)
					}
					// As a scrape of metrics does, with a context that never ends.
					if err := m.scheduler.Do(t.Context(), func() { t.Error("it was called") }); !errors.Is(err, scheduler.ErrBroken) {
						t.Errorf("a broken loop answers: %v", err)
					}
					continue
				}
				if broken < 2 {
					t.Fatalf("the loop broke %d times", broken)
				}
				for _, name := range []string{"before", "with", "after"} {
					if m.bound[name] == "" {
						t.Errorf("pod %s is not bound", name)
					}
				}
				if got := m.failures[bad]; !strings.HasPrefix(got, "held back: the scheduling loop panicked 2 times while it handled pod ns/bad") {
					t.Errorf("the reason is %q", got)
				}
				m.at = ""
				changed := minedPod(bad, "")
				changed.Object.Labels = map[string]string{"changed": "yes"}
				m.scheduler.SetPods(changed)
				for range 5 {
					m.scheduler.Step(t.Context())
				}
				if m.bound[bad] == "" {
					t.Errorf("the changed pod is not bound: %s", m.failures[bad])
				}
				return
			}
		})
	}
}

// TestQuestionPanics: a question that panics is an error for who asks, and the loop goes on.
func TestQuestionPanics(t *testing.T) {
	m := start(t, "", nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.scheduler.Run(ctx)
	}()
	err := m.scheduler.Do(ctx, func() { panic("no answer") })
	var caught *plugin.Panic
	if !errors.As(err, &caught) || caught.Place != plugin.InQuestion {
		t.Errorf("the answer is %v", err)
	}
	if err := m.scheduler.Do(ctx, func() {}); err != nil {
		t.Errorf("the next answer is %v", err)
	}
	stop()
	<-done
	if fmt.Sprint(m.scheduler.Broken()) != "<nil>" {
		t.Error(m.scheduler.Broken())
	}
}
