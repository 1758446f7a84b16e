package bridge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// everything is a plugin of the framework with all points. It returns preset answers and keeps
// a log; where answers differ by pod, a letter of the pod's name selects one.
type everything struct {
	named
	h      framework.Handle
	log    []string
	status *framework.Status // of the point that is called
	wait   time.Duration
	nodes  sets.Set[string] // of PreFilter
	during func()           // within a point
}

func (e *everything) note(format string, args ...any) {
	e.log = append(e.log, text(format, args...))
	if e.during != nil {
		e.during()
	}
}

func (e *everything) taken() []string { log := e.log; e.log = nil; return log }

func (e *everything) PreEnqueue(_ context.Context, p *v1.Pod) *framework.Status {
	if strings.HasPrefix(p.Name, "gated") {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, "not yet")
	}
	return nil
}

func (e *everything) Less(a, b framework.QueuedEntityInfo) bool {
	return queuedName(a) > queuedName(b)
}

// queuedName is the name of a queued pod.
func queuedName(e framework.QueuedEntityInfo) string {
	return e.(interface{ GetPodInfo() framework.PodInfo }).GetPodInfo().GetPod().Name
}

func (e *everything) EventsToRegister(context.Context) ([]framework.ClusterEventWithHint, error) {
	hint := func(_ klog.Logger, p *v1.Pod, before, after any) (framework.QueueingHint, error) {
		e.note("hint %s %T %T", p.Name, before, after)
		switch p.Name {
		case "yes":
			return framework.Queue, nil
		case "broken":
			return framework.QueueSkip, errors.New("broken")
		}
		return framework.QueueSkip, nil
	}
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.Node, ActionType: framework.Add | framework.UpdateNodeLabel}, QueueingHintFn: hint},
		{Event: framework.ClusterEvent{Resource: framework.Pod, ActionType: framework.Update}},
		{Event: framework.ClusterEvent{Resource: framework.WildCard, ActionType: framework.All}},
	}, nil
}

type kept string

func (k kept) Clone() framework.StateData { return k }

func (e *everything) PreFilter(_ context.Context, s framework.CycleState, p *v1.Pod, nodes []framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	e.note("preFilter %s of %d nodes", p.Name, len(nodes))
	s.Write("kept", kept("of "+p.Name))
	return &framework.PreFilterResult{NodeNames: e.nodes}, e.status
}

func (e *everything) PreFilterExtensions() framework.PreFilterExtensions { return e }

func (e *everything) AddPod(_ context.Context, s framework.CycleState, p *v1.Pod, other framework.PodInfo, n framework.NodeInfo) *framework.Status {
	e.note("add %s to %s for %s, state %s", other.GetPod().Name, describePods(n), p.Name, read(s))
	s.Write("kept", kept("with "+other.GetPod().Name))
	return e.status
}

func (e *everything) RemovePod(_ context.Context, s framework.CycleState, p *v1.Pod, other framework.PodInfo, n framework.NodeInfo) *framework.Status {
	e.note("remove %s from %s for %s, state %s", other.GetPod().Name, describePods(n), p.Name, read(s))
	s.Write("kept", kept("without "+other.GetPod().Name))
	return e.status
}

// Filter answers by the node's name: Unschedulable for u…, and so on.
func (e *everything) Filter(_ context.Context, s framework.CycleState, _ *v1.Pod, n framework.NodeInfo) *framework.Status {
	if read(s) == "nothing" {
		return framework.AsStatus(errors.New("no state"))
	}
	switch n.Node().Name[0] {
	case 'u':
		return framework.NewStatus(framework.Unschedulable, "one", "two")
	case 'v':
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, "one", "two")
	case 'e':
		return framework.AsStatus(errors.New("failed"))
	case 'p':
		return framework.NewStatus(framework.Pending)
	}
	return framework.NewStatus(framework.Success)
}

func (e *everything) PostFilter(_ context.Context, s framework.CycleState, p *v1.Pod, m framework.NodeToStatusReader) (*framework.PostFilterResult, *framework.Status) {
	unschedulable, _ := m.NodesForStatusCode(e.h.SnapshotSharedLister().NodeInfos(), framework.Unschedulable)
	e.note("postFilter %s, unschedulable %v, v %v, nobody %v", p.Name, nodeNames(unschedulable), m.Get("v").Code(), m.Get("nobody").Code())
	return &framework.PostFilterResult{NominatingInfo: &framework.NominatingInfo{NominatedNodeName: "u", NominatingMode: framework.ModeOverride}}, e.status
}

func (e *everything) PreScore(_ context.Context, _ framework.CycleState, p *v1.Pod, nodes []framework.NodeInfo) *framework.Status {
	e.note("preScore %s %v", p.Name, nodeNames(nodes))
	return e.status
}

func (e *everything) Score(_ context.Context, _ framework.CycleState, _ *v1.Pod, n framework.NodeInfo) (int64, *framework.Status) {
	if n.Node().Name == "e" {
		return 0, framework.AsStatus(errors.New("no score"))
	}
	return int64(n.Node().Name[0]), nil
}

func (e *everything) ScoreExtensions() framework.ScoreExtensions { return e }

func (e *everything) NormalizeScore(_ context.Context, _ framework.CycleState, _ *v1.Pod, scores framework.NodeScoreList) *framework.Status {
	for i := range scores {
		scores[i].Score += int64(len(scores[i].Name))
	}
	return e.status
}

func (e *everything) Reserve(_ context.Context, s framework.CycleState, p *v1.Pod, node string) *framework.Status {
	e.note("reserve %s (%s) on %s, state %s", p.Name, p.Spec.NodeName, node, read(s))
	return e.status
}

func (e *everything) Unreserve(_ context.Context, _ framework.CycleState, p *v1.Pod, node string) {
	e.note("unreserve %s on %s", p.Name, node)
}

func (e *everything) Permit(_ context.Context, _ framework.CycleState, p *v1.Pod, node string) (*framework.Status, time.Duration) {
	e.note("permit %s on %s", p.Name, node)
	return e.status, e.wait
}

func (e *everything) PreBindPreFlight(_ context.Context, _ framework.CycleState, p *v1.Pod, node string) (*framework.PreBindPreFlightResult, *framework.Status) {
	e.note("preBindPreFlight %s on %s", p.Name, node)
	return &framework.PreBindPreFlightResult{AllowParallel: true}, e.status
}

func (e *everything) PreBind(ctx context.Context, _ framework.CycleState, p *v1.Pod, node string) *framework.Status {
	e.note("preBind %s on %s", p.Name, node)
	if ctx.Err() != nil {
		return framework.AsStatus(context.Cause(ctx))
	}
	return e.status
}

func (e *everything) Bind(_ context.Context, _ framework.CycleState, p *v1.Pod, node string) *framework.Status {
	e.note("bind %s on %s", p.Name, node)
	return e.status
}

func (e *everything) PostBind(_ context.Context, _ framework.CycleState, p *v1.Pod, node string) {
	e.note("postBind %s on %s", p.Name, node)
}

func read(s framework.CycleState) string {
	if value, err := s.Read("kept"); err == nil {
		return string(value.(kept))
	}
	return "nothing"
}

func describePods(n framework.NodeInfo) string {
	return text("%s %v", n.Node().Name, podNames(n.GetPods()))
}

func hostEverything(t *testing.T, deps bridge.Deps) (*everything, *bridge.Plugin) {
	e := &everything{named: "E"}
	p, _ := host(t, bridge.New(bridge.Config{Profile: "default"}, deps), func(h framework.Handle) framework.Plugin { e.h = h; return e })
	return e, p
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := text("%v", got), text("%v", want); g != w {
		t.Errorf("%s: got\n%s, want\n%s", what, g, w)
	}
}

func TestQueuePoints(t *testing.T) {
	e, p := hostEverything(t, bridge.Deps{})
	pods := []*state.Pod{state.NewPod(pod("gated")), state.NewPod(pod("free"))}
	out := []*plugin.Status{nil, plugin.NewStatus(abi.Error, "of an earlier call")}
	p.PreEnqueue(pods, out)
	check(t, "gates", text("%v %q, %v", out[0].CodeOf(), out[0].Message(), out[1]), `UnschedulableAndUnresolvable "not yet", <nil>`)
	a, b := &state.QueuedPod{Pod: pods[0]}, &state.QueuedPod{Pod: pods[1]}
	if !p.Less(a, b) || p.Less(b, a) {
		t.Error("the order is not the one the plugin returns")
	}

	events := p.Info().Events
	check(t, "events", len(events), 3)
	check(t, "a part of the actions", events[0].ClusterEvent, state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodeLabel})
	check(t, "Update covers what has no name", events[1].ClusterEvent, state.ClusterEvent{Resource: state.PodResource, Action: state.Update})
	check(t, "All covers everything", events[2].ClusterEvent, state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions})
	if events[1].Hint != nil {
		t.Error("found a hint that the plugin did not register")
	}
	n := state.NewNode(node("n"))
	for name, want := range map[string]state.Hint{"yes": state.Queue, "no": state.QueueSkip, "broken": state.Queue} {
		hint, err := events[0].Hint(state.NewPod(pod(name)), state.Object{NewNode: n})
		if hint != want || (err != nil) != (name == "broken") {
			t.Errorf("hint for %s is %v, %v", name, hint, err)
		}
		check(t, "objects of an added node", e.taken(), []string{"hint " + name + " <nil> *v1.Node"})
	}
	for want, object := range map[string]state.Object{
		"*v1.Node *v1.Node":       {OldNode: n, NewNode: n},
		"*v1.Pod <nil>":           {OldPod: pods[0]},
		"*v1.Pod *v1.Pod":         {OldPod: pods[0], NewPod: pods[1]},
		"<nil> *v1.Service":       {New: &v1.Service{}},
		"*v1.Service <nil>":       {Old: &v1.Service{}},
		"*v1.Service *v1.Service": {Old: &v1.Service{}, New: &v1.Service{}},
		"<nil> <nil>":             {},
	} {
		_, _ = events[0].Hint(pods[1], object)
		check(t, "objects", e.taken(), []string{"hint free " + want})
	}
}

func TestCyclePoints(t *testing.T) {
	e, p := hostEverything(t, bridge.Deps{})
	w := newWorld(node("u"), node("a"), node("v"), node("e"), node("p"), node("u2"))
	c := w.cycle(pod("incoming"))
	rows, status := p.PreFilter(c)
	check(t, "no opinion", text("%v %v %v", rows == nil, status, e.taken()), "true <nil> [preFilter incoming of 6 nodes]")
	e.nodes = sets.New("v", "a", "nobody")
	rows, status = p.PreFilter(c)
	check(t, "a set of nodes", text("%v %v", rows, status), "[1 2] <nil>")
	e.nodes = sets.New("nobody")
	rows, status = p.PreFilter(c)
	check(t, "a set of no node", text("%v %v %v", rows, rows == nil, status), "[] false <nil>")
	e.nodes, e.status = sets.New("a"), framework.NewStatus(framework.Skip)
	rows, status = p.PreFilter(c)
	check(t, "skip", text("%v %v", rows, status.CodeOf()), "[] Skip")
	e.nodes, e.status = nil, framework.NewStatus(framework.Unschedulable, "x", "y")
	_, status = p.PreFilter(c)
	check(t, "rejection", text("%v %q", status.CodeOf(), status.Reasons), `Unschedulable ["x" "y"]`)
	e.status = nil

	var v plugin.Verdicts
	all := []uint32{0, 1, 2, 3, 5}
	v.Reset(len(all))
	p.Filter(c, all, &v)
	var got []string
	for i := range all {
		got = append(got, text("%v %q", v.Codes[i], v.Texts(i)))
	}
	check(t, "verdicts", strings.Join(got, "; "), `Unschedulable ["one" "two"]; Success []; UnschedulableAndUnresolvable ["one" "two"]; Error ["failed"]; Unschedulable ["one" "two"]`)
	check(t, "reason sets", len(v.Table), 2)
	v.Reset(1)
	p.Filter(c, []uint32{4}, &v)
	check(t, "without reasons", text("%v %d", v.Codes[0], v.Reasons[0]), "Pending 0")

	e.taken()
	e.status = framework.NewStatus(framework.Unschedulable)
	result, status := p.PostFilter(c, &plugin.Diagnosis{Codes: []abi.Code{2, 0, 3, 3, 2, 2}})
	check(t, "PostFilter", text("%+v %v %v", result, status.CodeOf(), e.taken()),
		"{Override:true NominatedNode:u Preemption:{Victims:[] ClearNominations:[]} Allow:[] Reject:[]} Unschedulable [postFilter incoming, unschedulable [u p u2], v UnschedulableAndUnresolvable, nobody UnschedulableAndUnresolvable]")

	e.status = framework.NewStatus(framework.Skip)
	check(t, "PreScore", text("%v %v", p.PreScore(c, []uint32{1, 5}).CodeOf(), e.taken()), "Skip [preScore incoming [a u2]]")
	e.status = nil
	scores := make([]int64, 2)
	check(t, "Score", text("%v %v", p.Score(c, []uint32{1, 5}, scores), scores), text("<nil> [%d %d]", 'a', 'u'))
	check(t, "Normalize", text("%v %v", p.Normalize(c, []uint32{1, 5}, scores), scores), text("<nil> [%d %d]", 'a'+1, 'u'+2))
	status = p.Score(c, []uint32{1, 3}, scores)
	check(t, "a failed score", text("%v %v", status.CodeOf(), status.AsError()), "Error no score")
}

// TestManyRows takes the path with several goroutines.
func TestManyRows(t *testing.T) {
	_, p := hostEverything(t, bridge.Deps{})
	w := newWorld()
	for i := range 500 {
		w.setNode(node(text("%s%d", []string{"a", "u"}[i%2], i)))
	}
	w.update()
	c, rows := w.cycle(pod("incoming")), w.rows()
	p.PreFilter(c)
	var v plugin.Verdicts
	v.Reset(len(rows))
	p.Filter(c, rows, &v)
	scores := make([]int64, len(rows))
	if status := p.Score(c, rows, scores); status != nil {
		t.Fatal(status)
	}
	for i := range rows {
		if fits := i%2 == 0; (v.Codes[i] == abi.Success) != fits || scores[i] != int64("au"[i%2]) {
			t.Fatalf("row %d: %v, score %d", i, v.Codes[i], scores[i])
		}
	}
}

func TestBindPoints(t *testing.T) {
	e, p := hostEverything(t, bridge.Deps{})
	w := newWorld(node("a"))
	c := w.cycle(pod("incoming"))
	p.PreFilter(c)
	e.taken()
	l := &plugin.Placement{Context: context.Background(), Pod: c.Pod.On("a", state.Patch{}), Node: w.infos[0].Node, State: c.State}
	e.status = framework.NewStatus(framework.Unschedulable, "no")
	_, status := p.Reserve(l)
	p.Unreserve(l)
	check(t, "Reserve", text("%v %v", status.CodeOf(), e.taken()),
		"Unschedulable [reserve incoming (a) on a, state of incoming unreserve incoming on a]")
	e.status, e.wait = framework.NewStatus(framework.Wait, "later"), time.Minute
	wait, _, status := p.Permit(l)
	check(t, "Permit", text("%v %v %v", wait, status.CodeOf(), e.taken()), "1m0s Wait [permit incoming on a]")
	e.status = framework.NewStatus(framework.Skip)
	check(t, "PreBindPreFlight", text("%v %v", p.PreBindPreFlight(l).CodeOf(), e.taken()), "Skip [preBindPreFlight incoming on a]")
	_, status = p.Bind(l)
	check(t, "Bind", text("%v %v", status.CodeOf(), e.taken()), "Skip [bind incoming on a]")
	p.PostBind(l)
	check(t, "PostBind", e.taken(), "[postBind incoming on a]")

	e.status = nil
	_, status = p.PreBind(l)
	check(t, "PreBind", text("%v %v", status.CodeOf(), e.taken()), "Success [preBind incoming on a]")
	e.during = func() {
		if !e.h.GetPodInPreBind("incoming").CancelPod("preempted") {
			t.Error("could not cancel a pod in PreBind")
		}
	}
	_, status = p.PreBind(l)
	check(t, "PreBind that is cancelled", text("%v %v", status.CodeOf(), status.AsError()), "Error preempted")
	if e.h.GetPodInPreBind("incoming") != nil {
		t.Error("the pod is still in PreBind")
	}
}

// TestFewPoints: a plugin has the points that it implements, and returns neutral answers at the
// others.
func TestFewPoints(t *testing.T) {
	p, _ := host(t, bridge.New(bridge.Config{}, bridge.Deps{}), func(framework.Handle) framework.Plugin { return named("N") })
	w := newWorld(node("a"))
	c := w.cycle(pod("incoming"))
	l := &plugin.Placement{Context: context.Background(), Pod: c.Pod, Node: w.infos[0].Node, State: c.State}
	if points := plugin.Points(p); len(points) > 0 || len(p.Info().Events) > 0 {
		t.Errorf("points %v, events %v", points, p.Info().Events)
	}
	out := make([]*plugin.Status, 1)
	p.PreEnqueue([]*state.Pod{c.Pod}, out)
	rows, preFilter := p.PreFilter(c)
	var v plugin.Verdicts
	v.Reset(1)
	p.Filter(c, []uint32{0}, &v)
	_, reserve := p.Reserve(l)
	_, _, permit := p.Permit(l)
	_, preBind := p.PreBind(l)
	for _, status := range []*plugin.Status{out[0], preFilter, p.AddPod(c, 0, c.Pod), p.RemovePod(c, 0, c.Pod), p.PreScore(c, nil), p.Score(c, nil, nil), p.Normalize(c, nil, nil), reserve, permit, preBind} {
		if !status.Success() {
			t.Errorf("not a neutral answer: %v %v", status.Code, status.Message())
		}
	}
	if rows != nil || v.Codes[0] != abi.Success || p.Less(nil, nil) {
		t.Errorf("rows %v, verdict %v", rows, v.Codes[0])
	}
	_, post := p.PostFilter(c, &plugin.Diagnosis{})
	_, bind := p.Bind(l)
	check(t, "codes of absent points", text("%v %v %v", post.CodeOf(), bind.CodeOf(), p.PreBindPreFlight(l).CodeOf()), "Unschedulable Skip Skip")
	p.Unreserve(l)
	p.PostBind(l)

	watching, _ := host(t, bridge.New(bridge.Config{}, bridge.Deps{}), func(framework.Handle) framework.Plugin { return watcher{"W"} })
	if points := plugin.Points(watching); !slices.Equal(points, []abi.Point{abi.PreFilter}) {
		t.Errorf("points %v", points)
	}
	check(t, "events of a plugin that registers none and can reject", watching.Info().Events[0].ClusterEvent,
		state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions})
}

func TestHostErrors(t *testing.T) {
	b, ctx := bridge.New(bridge.Config{}, bridge.Deps{}), context.Background()
	factory := func(p framework.Plugin, err error) bridge.Factory {
		return func(context.Context, runtime.Object, framework.Handle) (framework.Plugin, error) { return p, err }
	}
	for want, s := range map[string]bridge.Source{
		"Factory is required":    {Name: "X"},
		"bad args":               {Name: "X", Factory: factory(nil, errors.New("bad args"))},
		"no plugin and no error": {Name: "X", Factory: factory(nil, nil)},
		"a plugin named Y":       {Name: "X", Factory: factory(named("Y"), nil)},
		"events of X: no events": {Name: "X", Factory: factory(noEvents{watcher{"X"}}, nil)},
	} {
		if _, err := b.Host(ctx, s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	var got runtime.Object
	registry := b.Registry(ctx, bridge.Source{Name: "X", Factory: func(_ context.Context, args runtime.Object, _ framework.Handle) (framework.Plugin, error) {
		got = args
		return named("X"), nil
	}})
	for _, args := range []any{nil, []byte(`{"a":1}`), &v1.Pod{}} {
		if _, err := registry.New("X", args); err != nil {
			t.Fatal(err)
		}
		switch a := args.(type) {
		case nil:
			check(t, "no args", got, nil)
		case []byte:
			check(t, "raw args", text("%s", got.(*runtime.Unknown).Raw), string(a))
		default:
			check(t, "typed args", got == a, true)
		}
	}
	if _, err := registry.New("X", 7); err == nil || !strings.Contains(err.Error(), "args of type int") {
		t.Errorf("error %v", err)
	}
}

type noEvents struct{ watcher }

func (noEvents) EventsToRegister(context.Context) ([]framework.ClusterEventWithHint, error) {
	return nil, errors.New("no events")
}
