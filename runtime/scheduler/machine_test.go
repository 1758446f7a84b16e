package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// modes are what can happen to a pod that has found a node.
func modes() []string {
	return []string{
		"ok", "ok", "ok", "wait", "wait", "reserve-reject", "reserve-error", "permit-reject", "permit-error",
		"prebind-reject", "prebind-error", "bind-reject", "bind-error", "bind-lies",
	}
}

// evictions are what can happen to a pod that is to be evicted.
func evictions() []string { return []string{"goes", "goes", "lingers", "refuses", "went"} }

// actor is a plugin that treats each pod according to its mode.
type actor struct {
	info plugin.Info
	m    *machine
}

func (a *actor) Info() *plugin.Info { return &a.info }

func (a *actor) answer(p *plugin.Placement, point string) *plugin.Status {
	switch a.m.modes[p.Pod.UID] {
	case point + "-reject":
		return plugin.NewStatus(abi.Unschedulable, point)
	case point + "-error":
		return plugin.Fail(errors.New(point))
	}
	return nil
}

func (a *actor) Reserve(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	a.m.reserved[p.Pod.UID] = true
	return plugin.Directives{Patch: state.Patch{Annotations: map[string]string{"on": p.Node.Name}}}, a.answer(p, "reserve")
}

func (a *actor) Unreserve(p *plugin.Placement) plugin.Directives {
	delete(a.m.reserved, p.Pod.UID)
	return plugin.Directives{}
}

func (a *actor) Permit(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	if a.m.modes[p.Pod.UID] == "wait" {
		const wait = 7 * time.Second
		a.m.waits[p.Pod.UID] = a.m.world.clock.Now().Add(wait)
		return wait, plugin.Directives{}, plugin.NewStatus(abi.Wait)
	}
	return 0, plugin.Directives{}, a.answer(p, "permit")
}

func (a *actor) PreBindPreFlight(*plugin.Placement) *plugin.Status { return nil }

func (a *actor) PreBind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{}, a.answer(p, "prebind")
}

// Bind makes the binding durable; with the mode bind-lies it returns an error nevertheless.
func (a *actor) Bind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{}, a.bind(p)
}

func (a *actor) bind(p *plugin.Placement) *plugin.Status {
	if status := a.answer(p, "bind"); status != nil {
		return status
	}
	m := a.m
	known, ok := m.world.pods[p.Pod.UID]
	switch {
	case !ok:
		return plugin.Fail(errors.New("not found"))
	case known.Object.DeletionTimestamp != nil:
		return plugin.Fail(errors.New("is being deleted"))
	case known.NodeName() != "":
		if !m.outside[p.Pod.UID] {
			m.t.Fatalf("%s is bound to %s and now to %s", p.Pod.Name, known.NodeName(), p.Node.Name)
		}
		return plugin.Fail(errors.New("is bound"))
	}
	m.world.pods[p.Pod.UID] = known.On(p.Node.Name, p.Patch)
	m.unconfirmed = append(m.unconfirmed, p.Pod.UID)
	if m.modes[p.Pod.UID] == "bind-lies" { // until the watch confirms it, its resources look free
		m.outside[p.Pod.UID], m.crowded = true, true
		return plugin.Fail(errors.New("timeout"))
	}
	return nil
}

// machine makes random changes to a cluster and checks what must hold once the scheduler has
// handled them:
//
//   - every unbound pod is in the queue or on its way to a node, in one place;
//   - of the bound pods, those are in the queue whose resize is deferred;
//   - no pod is bound twice, or reported as scheduled twice;
//   - an assumed pod waits, is being bound, or is bound and not confirmed yet;
//   - no node is overcommitted, unless by pods that someone else bound;
//   - no pod waits beyond its deadline;
//   - reserved pods are the pods that are assumed or were bound.
type machine struct {
	t           *rapid.T
	world       *world
	modes       map[types.UID]string
	waits       map[types.UID]time.Time
	reserved    map[types.UID]bool
	outside     map[types.UID]bool // bound without the scheduler's knowledge
	evictions   map[types.UID]string
	scheduled   map[types.UID]bool
	unconfirmed []types.UID
	crowded     bool // others bind pods too
	n           int
}

func newMachine(t *rapid.T, tb testing.TB) *machine {
	m := &machine{
		t: t, world: newWorld(tb, nil), modes: map[types.UID]string{}, waits: map[types.UID]time.Time{},
		reserved: map[types.UID]bool{}, outside: map[types.UID]bool{}, scheduled: map[types.UID]bool{},
		evictions: map[types.UID]string{},
		crowded:   rapid.Bool().Draw(t, "crowded"),
	}
	w := m.world
	w.held = true
	w.seed = rapid.Uint64().Draw(t, "seed")
	w.declare("Fit", scenario.MustParse("fit=yes enforces=requests events=Pod/Delete,Node/Add,Node/UpdateNodeAllocatable"))
	a := &actor{info: plugin.Info{Name: "Actor", Events: []plugin.Event{{ClusterEvent: state.EventAssignedPodDelete()}}}, m: m}
	for _, point := range []abi.Point{abi.Reserve, abi.Permit, abi.PreBind, abi.Bind} {
		w.profiles[0].Points[point] = []pipeline.Entry{{Plugin: a}}
	}
	for _, name := range []string{"NodeName", "DeferredPodScheduling", "NodeResourcesFit", "DefaultPreemption"} {
		if err := w.native(name); err != nil {
			t.Fatal(err)
		}
	}
	w.outlet, w.evictor = m, m
	for i := range 3 {
		m.setNode(i)
	}
	return m
}

// Scheduled implements scheduler.Outlet.
func (m *machine) Scheduled(pod *state.Pod, _ string, _ state.Feature) {
	if m.scheduled[pod.UID] {
		m.t.Fatalf("%s is scheduled twice", pod.Name)
	}
	m.scheduled[pod.UID] = true
}

// Failed implements scheduler.Outlet.
func (m *machine) Failed(f scheduler.Failure) {
	if f.Override {
		m.nominate(f.Pod.UID, f.Nominated)
	}
}

func (m *machine) nominate(uid types.UID, node string) {
	if p := m.world.pods[uid]; p != nil && unbound(p) && p.NominatedNode() != node {
		m.world.nominate(p, node)
	}
}

// Preempted implements scheduler.Outlet.
func (m *machine) Preempted(p scheduler.Preempted) {
	if p.Victim.Priority >= p.Preemptor.Priority {
		m.t.Fatalf("%s of priority %d makes room for %s of %d", p.Victim.Name, p.Victim.Priority, p.Preemptor.Name, p.Preemptor.Priority)
	}
}

// Binding implements scheduler.Outlet.
func (*machine) Binding(context.Context, *state.Pod) error { return nil }

// NominationCleared implements scheduler.Outlet.
func (m *machine) NominationCleared(pod *state.Pod) { m.nominate(pod.UID, "") }

// Evict implements objects.Evictor.
func (m *machine) Evict(_ context.Context, e objects.Eviction) error {
	uid := e.Victim.UID
	known := m.world.pods[uid]
	switch mode := m.evictions[uid]; {
	case mode == "refuses":
		return errors.New("forbidden")
	case known == nil:
		return nil
	case mode == "lingers" && !unbound(known):
		m.world.set(m.change(known, "deleting=yes on="+known.NodeName()))
		return nil
	}
	m.forget(uid)
	return nil
}

// forget removes a pod.
func (m *machine) forget(uid types.UID) {
	m.unconfirmed = slices.DeleteFunc(m.unconfirmed, func(other types.UID) bool { return other == uid })
	m.world.gone(uid)
}

func (m *machine) setNode(i int) {
	node, _ := fake.Node(fmt.Sprintf("n%d", i), scenario.MustParse("cpu=1000"))
	m.world.get().SetNode(node)
}

// pick draws a pod of the API server for which ok is true.
func (m *machine) pick(ok func(p *state.Pod) bool) *state.Pod {
	var uids []types.UID
	for _, uid := range slices.Sorted(maps.Keys(m.world.pods)) {
		if ok(m.world.pods[uid]) {
			uids = append(uids, uid)
		}
	}
	if len(uids) == 0 {
		m.t.Skip("no pod")
	}
	return m.world.pods[rapid.SampledFrom(uids).Draw(m.t, "pod")]
}

func unbound(p *state.Pod) bool { return p.NodeName() == "" }

// running reports whether the scheduler knows that the pod is on a node.
func (m *machine) running(p *state.Pod) bool {
	return !unbound(p) && !slices.Contains(m.unconfirmed, p.UID)
}

func (m *machine) change(p *state.Pod, options string) *state.Pod {
	return m.resize(p, p.Requests.MilliCPU, options)
}

func (m *machine) resize(p *state.Pod, cpu int64, options string) *state.Pod {
	m.n++
	out, err := fake.Pod(p.Name, scenario.MustParse(fmt.Sprintf("cpu=%d priority=%d version=%d %s", cpu, p.Priority, m.n, options)))
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

func (m *machine) actions() map[string]func(*rapid.T) {
	s := m.world.get()
	return map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			var pods []*state.Pod
			for range rapid.IntRange(1, 3).Draw(t, "count") {
				m.n++
				name := fmt.Sprintf("p%03d", m.n)
				p, _ := fake.Pod(name, scenario.MustParse(fmt.Sprintf("cpu=%d priority=%d",
					rapid.SampledFrom([]int{0, 100, 300, 600, 1100}).Draw(t, "cpu"), rapid.IntRange(0, 2).Draw(t, "priority"))))
				m.modes[p.UID] = rapid.SampledFrom(modes()).Draw(t, "mode")
				m.evictions[p.UID] = rapid.SampledFrom(evictions()).Draw(t, "eviction")
				pods = append(pods, p)
			}
			m.world.set(pods...)
		},
		"mode": func(t *rapid.T) { m.modes[m.pick(unbound).UID] = rapid.SampledFrom(modes()).Draw(t, "mode") },
		"update": func(*rapid.T) {
			p := m.pick(func(p *state.Pod) bool { return unbound(p) && p.Object.DeletionTimestamp == nil })
			m.world.set(m.change(p, "label=x nominated="+rapid.SampledFrom([]string{"", "n0", "n1", "gone"}).Draw(m.t, "node")))
		},
		"deleting": func(*rapid.T) { m.world.set(m.change(m.pick(unbound), "deleting=yes")) },
		"delete": func(*rapid.T) {
			m.forget(m.pick(func(*state.Pod) bool { return true }).UID)
		},
		"defer a resize": func(t *rapid.T) {
			p := m.pick(m.running)
			m.crowded = true
			cpu := rapid.SampledFrom([]int64{100, 300, 600, 1100}).Draw(t, "cpu")
			m.world.set(m.resize(p, cpu, fmt.Sprintf("on=%s deferred=%d", p.NodeName(), p.Requests.MilliCPU)))
		},
		"resized": func(*rapid.T) {
			p := m.pick(func(p *state.Pod) bool { return m.running(p) && p.ResizeDeferred() })
			m.world.set(m.change(p, "on="+p.NodeName()))
		},
		"end": func(*rapid.T) {
			p := m.pick(m.running)
			delete(m.world.pods, p.UID)
			s.SetPods(m.change(p, "phase=Succeeded on="+p.NodeName()))
		},
		"outside": func(*rapid.T) {
			if !m.crowded {
				m.t.Skip("alone")
			}
			p := m.pick(unbound)
			m.outside[p.UID] = true
			m.world.set(m.change(p, "on="+rapid.SampledFrom([]string{"n0", "n1", "n2", "gone"}).Draw(m.t, "node")))
		},
		"node":   func(t *rapid.T) { m.setNode(rapid.IntRange(0, 4).Draw(t, "node")) },
		"unnode": func(t *rapid.T) { s.DeleteNode(fmt.Sprintf("n%d", rapid.IntRange(0, 4).Draw(t, "node"))) },
		"bind": func(t *rapid.T) {
			if len(m.world.spawned) == 0 {
				t.Skip("no binding")
			}
			i := rapid.IntRange(0, len(m.world.spawned)-1).Draw(t, "binding")
			run := m.world.spawned[i]
			m.world.spawned = slices.Delete(m.world.spawned, i, i+1)
			run()
		},
		"confirm": func(t *rapid.T) {
			if len(m.unconfirmed) == 0 {
				t.Skip("nothing to confirm")
			}
			i := rapid.IntRange(0, len(m.unconfirmed)-1).Draw(t, "binding")
			s.SetPods(m.world.pods[m.unconfirmed[i]])
			m.unconfirmed = slices.Delete(m.unconfirmed, i, i+1)
		},
		"allow":  func(*rapid.T) { s.AllowWaiting(m.pick(unbound).UID, "Actor") },
		"reject": func(*rapid.T) { s.RejectWaiting(m.pick(unbound).UID, "Actor", "no") },
		"step":   func(*rapid.T) { s.Step(context.Background()) },
		"run":    func(*rapid.T) { m.world.run() },
		"advance": func(t *rapid.T) {
			m.world.clock.Advance(time.Duration(rapid.IntRange(1, 400_000).Draw(t, "ms")) * time.Millisecond)
		},
		"": func(*rapid.T) { m.check() },
	}
}

// check compares the scheduler with the API server, after all events are handled.
func (m *machine) check() {
	s := m.world.get()
	m.world.run()
	now := m.world.clock.Now()
	places := map[types.UID]queue.Place{}
	for place, p := range s.Queued() {
		if _, twice := places[p.Pod.UID]; twice {
			m.t.Fatalf("%s is in the queue twice", p.Pod.Name)
		}
		places[p.Pod.UID] = place
		if until, ok := m.waits[p.Pod.UID]; place == queue.InFlight && (!ok || !until.After(now)) {
			m.t.Fatalf("%s waits at %v, but not after %v", p.Pod.Name, now, until)
		}
	}
	cached := map[types.UID]bool{} // assumed?
	used := map[string]int64{}
	for p, assumed := range s.Cached() {
		cached[p.UID] = assumed
		used[p.NodeName()] += p.Requests.MilliCPU
	}
	for name, cpu := range used {
		if cpu > 1000 && !m.crowded {
			m.t.Fatalf("node %s has %dm of 1000m in use", name, cpu)
		}
	}
	for uid, p := range m.world.pods {
		place, queued := places[uid]
		assumed, placed := cached[uid]
		switch {
		case !unbound(p) && slices.Contains(m.unconfirmed, uid):
			// Assumed until the watch confirms it, unless the binder lied: then it is queued.
			if !placed && !queued {
				m.t.Fatalf("%s is bound, not confirmed, and unknown", p.Name)
			}
		case !unbound(p):
			if !placed || assumed || queued != p.ResizeDeferred() {
				m.t.Fatalf("%s is bound, but in the cache %v, assumed %v, in the queue %v", p.Name, placed, assumed, place)
			}
		case !queued && p.Object.DeletionTimestamp == nil:
			m.t.Fatalf("%s is lost", p.Name)
		case placed != (place == queue.InFlight || place == queue.Binding) && p.Object.DeletionTimestamp == nil:
			m.t.Fatalf("%s is %v in the queue, in the cache %v", p.Name, place, placed)
		case placed && !m.reserved[uid]:
			m.t.Fatalf("%s is assumed, but nothing is reserved", p.Name)
		case queued && place != queue.InFlight && place != queue.Binding && m.reserved[uid]:
			m.t.Fatalf("%s is %v in the queue, but still has its reservation", p.Name, place)
		}
	}
	for uid := range places {
		if m.world.pods[uid] == nil {
			m.t.Fatalf("%s is in the queue, but deleted", uid)
		}
	}
	for uid := range cached {
		if m.world.pods[uid] == nil {
			m.t.Fatalf("%s is in the cache, but deleted", uid)
		}
	}
	waiting, binding, evicting, calls, _ := s.CheckIdle()
	if p := s.Pending().Queue; p.InFlight != waiting || p.Binding > binding || calls != 0 || binding+evicting != len(m.world.spawned) {
		m.t.Fatalf("%d waiting, %d binding, %d evicting, %d held, %d calls; the queue has %+v",
			waiting, binding, evicting, len(m.world.spawned), calls, p)
	}
}

// settle lets everything that has begun end.
func (m *machine) settle() {
	w := m.world
	for uid := range m.modes {
		m.modes[uid], m.evictions[uid] = "ok", "goes"
	}
	w.held = false
	m.setNode(0) // without nodes, pods back off forever
	for range 1000 {
		for _, run := range w.spawned {
			run()
		}
		w.spawned = nil
		for _, uid := range m.unconfirmed {
			w.get().SetPods(w.pods[uid])
		}
		m.unconfirmed = nil
		m.check()
		p := w.get().Pending()
		if p.Queue.Active+p.Queue.Backoff+p.Queue.ErrorBackoff+p.Waiting+p.Binding+len(m.unconfirmed) == 0 {
			break
		}
		if at, ok := w.get().NextDeadline(); ok {
			w.clock.Set(at)
		}
	}
	waiting, binding, evicting, calls, events := w.get().CheckIdle()
	if p := w.get().Pending(); p.Queue.Active+p.Queue.Backoff+p.Queue.ErrorBackoff+p.Queue.Gated+p.Preempting+waiting+binding+evicting+calls+events != 0 {
		m.t.Fatalf("not idle: %+v, %d waiting, %d binding, %d evicting, %d calls, %d events", p, waiting, binding, evicting, calls, events)
	}
	for p, assumed := range w.get().Cached() {
		if assumed {
			m.t.Fatalf("%s stays assumed", p.Name)
		}
	}
}

func TestMachine(t *testing.T) {
	seeded.Check(t, func(r *rapid.T) {
		m := newMachine(r, t)
		r.Repeat(m.actions())
		m.settle()
	})
}
