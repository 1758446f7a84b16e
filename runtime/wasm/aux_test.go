package wasm_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// seen is what a guest finds in its memory.
type seen struct {
	*wire.CallView
	snap *wire.Snapshot
	pod  map[string]string // of the pod to be placed
	pods []map[string]string
}

func look(g *tiny, call uint32) seen {
	c, err := wire.DecodeCall(g.memory, call)
	if err != nil {
		panic(err)
	}
	s := seen{CallView: c}
	if s.snap, err = wire.DecodeSnapshot(g.memory, c.Header); err != nil {
		panic(err)
	}
	if c.Pod != 0 {
		s.pod = s.record(g.memory[c.Pod : c.Pod+c.PodSize])
	}
	for _, record := range c.Pods {
		s.pods = append(s.pods, s.record(record))
	}
	return s
}

func (s *seen) record(record []byte) map[string]string {
	view, err := wire.DecodePod(record)
	if err != nil {
		panic(err)
	}
	out, err := view.Text(s.snap)
	if err != nil {
		panic(err)
	}
	return out
}

// scratch is where tiny guests put directives, below what they allocate.
const scratch = 256

// ask writes a directive into a call: kind, first text, second text.
func (g *tiny) ask(call uint32, kind abi.DirectiveKind, texts ...string) {
	n := g.u32(call + abi.CallDirectiveN)
	at := scratch + abi.DirectiveSize*n
	g.put32(at, uint32(kind))
	free := scratch + 1024 + 256*n
	for i, text := range texts {
		copy(g.memory[free:], text)
		g.put32(at+8+8*uint32(i), free)
		g.put32(at+12+8*uint32(i), uint32(len(text)))
		free += uint32(len(text))
	}
	g.put32(call+abi.CallDirectives, scratch)
	g.put32(call+abi.CallDirectiveN, n+1)
}

// all grants everything below example.com.
func all() wire.ManifestDirectives {
	return wire.ManifestDirectives{
		Annotations: []string{"example.com/"}, Labels: []string{"example.com/"}, Nominate: true, Bind: true, Waiting: true, Activate: true,
	}
}

// binder records bindings.
type binder struct {
	mu  sync.Mutex
	got []objects.Binding
}

func (b *binder) Bind(_ context.Context, binding objects.Binding) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, binding)
	return nil
}

// auxPlugin makes a plugin with one function for the given points.
func auxPlugin(t testing.TB, point func(g *tiny, export string, call, lo, hi uint32) int32, reads wire.ManifestReads, d wasm.Deps, points ...abi.Point) *wasm.Plugin {
	t.Helper()
	m := &wire.Manifest{Name: "guest", Reads: reads, Directives: all(), Events: []wire.ManifestEvent{{Resource: "Node", Actions: []string{"Add"}}}}
	var exports []string
	for _, p := range points {
		name, _ := wire.ExportOf(p)
		exports = append(exports, name)
		m.Points.Set(p, &wire.ManifestPoint{})
	}
	d.Factory, d.Manifest = native(point, exports...), m
	if d.Binder == nil {
		d.Binder = &binder{}
	}
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Grants: all(), VerifyEvery: 1, Breaker: breaker.Config{Faults: -1}, Limits: sandbox.Limits{FuelRestarts: 1 << 50}}, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// placement puts a pod on a node of a world.
func (w *world) placement(pod *state.Pod, node string) *plugin.Placement {
	info, _ := w.cache.Node(node)
	return &plugin.Placement{
		Context: context.Background(), Pod: pod.On(node, state.Patch{}), Node: info.Node, Info: info.Clone(), State: &state.CycleState{}, Seed: 7,
	}
}

// TestPlacedPointsSee: from reserve on a guest sees only the chosen node with its pods, and
// its own pod on it, in calls on changing nodes.
func TestPlacedPointsSee(t *testing.T) {
	w := newWorld(40)
	for i := range 300 {
		w.place(t, podObject([]string{"a", "b"}[i%2], fmt.Sprint("p", i), nodeName(i%13)))
	}
	m := &mirror{reads: everything()}
	m.reads.Pod = []string{"name", "nodeName", "namespaceLabels", "uid", "schedulingGates", "annotations"}
	var got seen
	p := auxPlugin(t, func(g *tiny, _ string, call, _, _ uint32) int32 {
		got = look(g, call)
		got.snap.Tables = slices.Clone(got.snap.Tables)
		return 0
	}, m.reads, wasm.Deps{}, abi.Reserve, abi.PostBind)
	for i := range 30 {
		name := nodeName(i * 7 % 40)
		pl := w.placement(incoming("a", fmt.Sprint("new", i), 0), name)
		pl.Namespace = state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"team": fmt.Sprint(i)}}})
		if _, status := p.Reserve(pl); status != nil {
			t.Fatal(status.Message())
		}
		nodes := got.snap.Table(abi.TableNodes)
		if nodes.Rows != 1 || got.snap.Table(abi.TableNamespaces).Rows != 0 || got.Point != uint32(abi.Reserve) || got.snap.Seed != 7 {
			t.Fatalf("%d nodes, %d namespaces, point %d, seed %d", nodes.Rows, got.snap.Table(abi.TableNamespaces).Rows, got.Point, got.snap.Seed)
		}
		var on []*state.Pod
		for j := range pl.Info.Pods {
			on = append(on, pl.Info.Pods[j].Pod)
		}
		if cells, want := decoded(t, got.snap, 0), m.node(pl.Node, on, nominatedTo(pl.Info)); !maps.Equal(cells, want) {
			t.Fatalf("node\n got %v\nwant %v", cells, want)
		}
		if left := orphans(t, got.snap); len(left) > 0 {
			t.Fatalf("slots without a row: %v", left)
		}
		want := map[string]string{
			"128.0": text(fmt.Sprint("new", i)), "129.0": text(name), "134.0": "[]", "144.0": "[-]",
			"151.0": `["team"="` + fmt.Sprint(i) + `"]`, "152.0": text(string(pl.Pod.UID)),
		}
		if !maps.Equal(got.pod, want) {
			t.Fatalf("pod\n got %v\nwant %v", got.pod, want)
		}
		if p.PostBind(pl); got.Point != uint32(abi.PostBind) {
			t.Fatal("post_bind was not called")
		}
	}
	if n := p.Faults(); n > 0 {
		t.Errorf("%d faults", n)
	}
}

// TestBatches: many pods take few calls, whose answers are by position, however many fit.
func TestBatches(t *testing.T) {
	for _, c := range []struct {
		name       string
		pods, size int // size of a label in bytes
		calls      int64
	}{
		{"one", 1, 1, 1}, {"a batch", 1024, 1, 1}, {"three", 2500, 1, 3}, {"ten thousand", 10_000, 1, 10},
		{"large records", 100, 10_000, 1}, // labels are strings of the dictionary: the records stay small
	} {
		t.Run(c.name, func(t *testing.T) {
			gate := func(g *tiny, _ string, call, lo, hi uint32) int32 {
				s := look(g, call)
				if int(hi) != len(s.pods) || lo != 0 || s.N != hi || s.Pod != 0 {
					panic("bounds")
				}
				const sets, texts, bytes = scratch, scratch + 8, scratch + 16
				copy(g.memory[bytes:], "odd")
				g.put32(sets, texts)
				g.put32(sets+4, 1)
				g.put32(texts, bytes)
				g.put32(texts+4, 3)
				g.put32(call+abi.CallReasonSets, sets)
				g.put32(call+abi.CallReasonCount, 1)
				for i, pod := range s.pods {
					name := strings.Trim(pod["128.0"], `"`)
					if n := name[len(name)-1]; n%2 == 1 {
						g.memory[g.u32(call+abi.CallCodes)+uint32(i)] = byte(abi.Unschedulable)
						g.memory[g.u32(call+abi.CallReasons)+2*uint32(i)] = 1
					}
				}
				return 0
			}
			p := auxPlugin(t, gate, wire.ManifestReads{Pod: []string{"name", "labels"}}, wasm.Deps{}, abi.PreEnqueue)
			var pods []*state.Pod
			for i := range c.pods {
				object := podObject("a", fmt.Sprint("p", i), "")
				object.Labels["big"] = strings.Repeat(fmt.Sprint(i%10), c.size)
				pods = append(pods, state.NewPod(object))
			}
			for range 2 {
				before := p.Calls()
				out := make([]*plugin.Status, len(pods))
				p.PreEnqueue(pods, out)
				for i, status := range out {
					if want := i%2 == 1; (status != nil) != want || want && status.Message() != "odd" {
						t.Fatalf("pod %d: %v", i, status.AllReasons())
					}
				}
				if calls := p.Calls() - before; calls != c.calls {
					t.Errorf("%d calls for %d pods, want %d", calls, c.pods, c.calls)
				}
			}
		})
	}
}

// TestQueueKeys: keys order the queue, the guest sees time and attempts, and a pod whose call is
// faulted keeps its key.
func TestQueueKeys(t *testing.T) {
	broken := false
	p := auxPlugin(t, func(g *tiny, _ string, call, _, _ uint32) int32 {
		if broken {
			panic("no keys today")
		}
		s := look(g, call)
		for i, q := range s.Queue {
			at := g.u32(call+abi.CallKeys) + abi.KeySize*uint32(i)
			g.put32(at, 8)
			binary.BigEndian.PutUint64(g.memory[at+4:], uint64(q.Attempts)<<32|uint64(q.Time%1000))
		}
		return 0
	}, wire.ManifestReads{Pod: []string{"name"}}, wasm.Deps{}, abi.QueueSort)
	start := time.Unix(0, 0)
	queued := func(name string, ns, attempts int) *state.QueuedPod {
		return &state.QueuedPod{Pod: incoming("a", name, 0), Timestamp: start.Add(time.Duration(ns)), Attempts: attempts}
	}
	pods := []*state.QueuedPod{queued("d", 9, 2), queued("b", 2, 1), queued("c", 1, 2), queued("a", 1, 1)}
	p.Keys(pods)
	order := func() (names string) {
		slices.SortFunc(pods, func(a, b *state.QueuedPod) int {
			switch {
			case p.Less(a, b):
				return -1
			case p.Less(b, a):
				return 1
			}
			return 0
		})
		for _, q := range pods {
			names += q.Pod.Name
		}
		return names
	}
	if got := order(); got != "abcd" {
		t.Errorf("order %s", got)
	}
	broken = true
	pods = append(pods, queued("y", 5, 0), &state.QueuedPod{Pod: incoming("a", "x", 9), Timestamp: start})
	p.Keys(pods)
	if got := order(); got != "abcdxy" {
		t.Errorf("order after a fault %s, want those without a key last, by priority", got)
	}
	if p.Faults() != 1 {
		t.Errorf("%d faults", p.Faults())
	}
}

// TestHintSees: a guest is called once for all pods, and sees the event.
func TestHintSees(t *testing.T) {
	var got seen
	p := auxPlugin(t, func(g *tiny, _ string, call, _, _ uint32) int32 {
		got = look(g, call)
		for i := range got.pods {
			g.memory[g.u32(call+abi.CallCodes)+uint32(i)] = byte(abi.Skip)
		}
		g.memory[g.u32(call+abi.CallCodes)] = byte(abi.Success)
		return 0
	}, wire.ManifestReads{Node: []string{"name"}, NodeLabels: []string{"zone"}, Pod: []string{"name", "nodeName"}}, wasm.Deps{}, abi.Hint)
	pods := []*state.Pod{incoming("a", "p0", 0), incoming("a", "p1", 0)}
	out := []state.Hint{state.Queue, state.Queue}
	before, after := state.NewNode(nodeObject("n1")), nodeObject("n1")
	after.Labels["zone"] = "new"
	event := state.ClusterEvent{Resource: state.NodeResource, Action: state.UpdateNodeLabel}
	p.Hint(event, state.Object{OldNode: before, NewNode: state.NewNode(after)}, pods, out)
	if !slices.Equal(out, []state.Hint{state.Queue, state.QueueSkip}) || p.Calls() != 1 {
		t.Errorf("hints %v in %d calls", out, p.Calls())
	}
	e := got.Event
	if e.Resource != abi.EventNode || e.Actions != abi.ActionUpdateNodeLabel || e.OldNode != 0 || e.NewNode != 1 || e.NewPod != nil {
		t.Errorf("event %+v", e)
	}
	for row, zone := range []string{`"z1"`, `"new"`} {
		if cells := decoded(t, got.snap, uint32(row)); cells["14.0"] != zone || cells["1.0"] != `"n1"` {
			t.Errorf("row %d is %v", row, cells)
		}
	}
	gone := w1(t).place(t, podObject("b", "gone", "n0"))
	p.Hint(state.EventAssignedPodDelete(), state.Object{OldPod: gone}, pods, out)
	if e := got.Event; e.Resource != abi.EventPlacedPod || e.Actions != abi.ActionDelete || e.NewNode != abi.EventNoNode || e.NewPod != nil {
		t.Errorf("event %+v", e)
	} else if pod := got.record(e.OldPod); pod["128.0"] != `"gone"` || pod["129.0"] != `"n0"` {
		t.Errorf("pod of the event %v", pod)
	}
	if rows := got.snap.Table(abi.TableNodes).Rows; rows != 0 {
		t.Errorf("%d nodes of another event", rows)
	}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "claim"}}
	p.Hint(state.ClusterEvent{Resource: state.PersistentVolumeClaimResource, Action: state.Add}, state.Object{New: claim}, pods, out)
	if e := got.Event; e.Resource != abi.EventPersistentVolumeClaim || e.Namespace != "a" || e.Name != "claim" {
		t.Errorf("event %+v", e)
	}
}

func w1(testing.TB) *world { return newWorld(1) }

// TestDirectives: allowed directives reach the scheduler, and others are a fault without any
// effect.
func TestDirectives(t *testing.T) {
	w := newWorld(2)
	var ask func(g *tiny, call uint32)
	b := &binder{}
	code := abi.Success
	p := auxPlugin(t, func(g *tiny, _ string, call, _, _ uint32) int32 {
		ask(g, call)
		return int32(code)
	}, wire.ManifestReads{Pod: []string{"name"}}, wasm.Deps{Binder: b}, abi.Reserve, abi.Permit, abi.PreBind, abi.Bind, abi.PostBind, abi.Unreserve)
	pl := w.placement(incoming("a", "p", 0), "n0")
	pl.Patch.Annotations = map[string]string{"example.com/earlier": "1"}

	ask = func(g *tiny, call uint32) {
		g.ask(call, abi.Annotate, "example.com/gpu", "0,1")
		g.ask(call, abi.Annotate, "example.com/gpu", "2")
		g.ask(call, abi.Label, "example.com/x", "y")
		g.ask(call, abi.Allow, "uid-1")
		g.ask(call, abi.Reject, "uid-2", "for a\nreason")
		g.ask(call, abi.Activate, "uid-3")
	}
	d, status := p.Reserve(pl)
	if status != nil || d.Patch.Annotations["example.com/gpu"] != "2" || d.Patch.Labels["example.com/x"] != "y" ||
		!slices.Equal(d.Allow, []types.UID{"uid-1"}) || len(d.Reject) != 1 || d.Reject[0].Reason != "for a reason" || !slices.Equal(d.Activate, []types.UID{"uid-3"}) {
		t.Errorf("%+v, %v", d, status.AllReasons())
	}
	code = abi.Unschedulable // directives of a rejection do not count, and are not looked at
	ask = func(g *tiny, call uint32) { g.ask(call, 99) }
	if d, status := p.Reserve(pl); !status.Is(abi.Unschedulable) || !d.Patch.Empty() {
		t.Errorf("%+v, %v", d, status.AllReasons())
	}
	code = abi.Wait
	ask = func(g *tiny, call uint32) {
		binary.LittleEndian.PutUint64(g.memory[call+abi.CallWait:], 2500)
		g.ask(call, abi.Allow, "uid-1")
	}
	if wait, d, status := p.Permit(pl); !status.Is(abi.Wait) || wait != 2500*time.Millisecond || len(d.Allow) != 1 {
		t.Errorf("%v, %+v, %v", wait, d, status.AllReasons())
	}
	code = abi.Success
	ask = func(g *tiny, call uint32) {
		g.ask(call, abi.BindPod)
		g.ask(call, abi.Annotate, "example.com/late", "")
	}
	if _, status := p.Bind(pl); status != nil || len(b.got) != 1 || b.got[0].Node != "n0" ||
		!maps.Equal(b.got[0].Patch.Annotations, map[string]string{"example.com/earlier": "1", "example.com/late": ""}) {
		t.Errorf("%v, bound %+v", status.AllReasons(), b.got)
	}
	code = abi.Skip
	if _, status := p.Bind(pl); !status.Is(abi.Skip) || len(b.got) != 1 {
		t.Errorf("%v, bound %+v", status.AllReasons(), b.got)
	}
	code = abi.Success
	for _, c := range []struct {
		kind fault.Kind
		want string
		ask  func(g *tiny, call uint32)
	}{
		{fault.Output, "unknown directive 99", func(g *tiny, call uint32) { g.ask(call, 99) }},
		{fault.Output, "directive 0 is nominate, which Reserve may not return", func(g *tiny, call uint32) { g.ask(call, abi.Nominate, "n1") }},
		{fault.Output, "directive 0 is bind, which Reserve may not return", func(g *tiny, call uint32) { g.ask(call, abi.BindPod) }},
		{fault.Denied, "directive 1, annotate example.org/a, is not declared", func(g *tiny, call uint32) {
			g.ask(call, abi.Annotate, "example.com/a", "1")
			g.ask(call, abi.Annotate, "example.org/a", "1")
		}},
		{fault.Output, `"example.com/" is not a key`, func(g *tiny, call uint32) { g.ask(call, abi.Annotate, "example.com/", "1") }},
		{fault.Output, `"a b" is not a value of label example.com/l`, func(g *tiny, call uint32) { g.ask(call, abi.Label, "example.com/l", "a b") }},
		{fault.Output, "is not UTF-8", func(g *tiny, call uint32) { g.ask(call, abi.Annotate, "example.com/l", "\xff") }},
		{fault.Output, "257 directives, the limit is 256", func(g *tiny, call uint32) { g.put32(call+abi.CallDirectiveN, 257) }},
		{fault.Output, "beyond the memory", func(g *tiny, call uint32) {
			g.put32(call+abi.CallDirectives, 0xfffffff0)
			g.put32(call+abi.CallDirectiveN, 1)
		}},
	} {
		ask = c.ask
		d, status := p.Reserve(pl)
		f, ok := fault.As(status.AsError())
		if !ok || f.Kind != c.kind || f.Point != abi.Reserve || !strings.Contains(f.Detail, c.want) || !d.Patch.Empty() {
			t.Errorf("want %q, got %v and %+v", c.want, status.AllReasons(), d)
		}
	}
	ask = func(*tiny, uint32) {}
	if _, status := p.Bind(pl); !strings.Contains(status.Message(), "without a directive bind") || len(b.got) != 1 {
		t.Errorf("bind of nothing: %v", status.AllReasons())
	}
}

// TestHugePods: a pod whose record no instance can take is not asked about, and costs nothing
// afterwards: the other pods, and later ones, get their answers. Pods that fit are all seen.
func TestHugePods(t *testing.T) {
	for _, c := range []struct {
		name        string
		tolerations int // of each pod of the event; the record has 20 bytes for one
		faults      int64
	}{{"fits", 60_000, 0}, {"fits, but not twice", 150_000, 0}, {"too large", 300_000, 1}} {
		t.Run(c.name, func(t *testing.T) {
			records, asked := 0, 0
			p := auxPlugin(t, func(g *tiny, _ string, call, _, _ uint32) int32 {
				view, err := wire.DecodeCall(g.memory, call)
				if err != nil {
					panic(err)
				}
				if view.Event == nil {
					asked += len(view.Pods)
					return 0
				}
				records = len(view.Event.OldPod) + len(view.Event.NewPod)
				for i := range view.Pods {
					g.memory[g.u32(call+abi.CallCodes)+uint32(i)] = byte(abi.Skip)
				}
				return 0
			}, wire.ManifestReads{Pod: []string{"name", "tolerations"}}, wasm.Deps{}, abi.Hint, abi.PreEnqueue)
			pod := func(name string, tolerations int) *state.Pod {
				object := podObject("a", name, "n0")
				object.Spec.Tolerations = slices.Repeat([]v1.Toleration{{Operator: v1.TolerationOpExists}}, tolerations)
				return state.NewPod(object)
			}
			hint := func(tolerations int) state.Hint {
				out := []state.Hint{state.Queue}
				p.Hint(state.ClusterEvent{Resource: state.AssignedPodResource, Action: state.UpdatePodLabel},
					state.Object{OldPod: pod("x", tolerations), NewPod: pod("x", tolerations)}, []*state.Pod{incoming("a", "p", 0)}, out)
				return out[0]
			}
			if hint(1) != state.QueueSkip {
				t.Fatal("a small event was not asked about")
			}
			want := state.QueueSkip
			if c.faults > 0 {
				want = state.Queue
			}
			if got := hint(c.tolerations); got != want || p.Faults() != c.faults {
				t.Errorf("hint %v after %d faults, the event had %d bytes", got, p.Faults(), records)
			} else if c.faults == 0 && records < 40*c.tolerations {
				t.Errorf("the event had %d bytes", records)
			}
			if hint(1) != state.QueueSkip || p.Faults() != c.faults {
				t.Error("a small event was not asked about after the huge one")
			}
			pods := make([]*state.Pod, 60)
			for i := range pods {
				pods[i] = pod(fmt.Sprint("p", i), c.tolerations/30)
			}
			before := p.Calls()
			p.PreEnqueue(pods, make([]*plugin.Status, len(pods)))
			if calls := p.Calls() - before; asked != len(pods) || calls > 8 || p.Faults() != c.faults {
				t.Errorf("%d calls for %d of %d pods, and %d faults", calls, asked, len(pods), p.Faults())
			}
		})
	}
}

// TestLongStrings: pods whose strings do not fit into one instance are asked about in several
// calls, and do not keep the others of the batch from their answers.
func TestLongStrings(t *testing.T) {
	asked := 0
	p := auxPlugin(t, func(g *tiny, _ string, call, _, _ uint32) int32 {
		s := look(g, call)
		for i, pod := range s.pods {
			if got, want := len(pod["144.0"]), 200<<10+9; (asked+i)%2 == 0 && got != want {
				panic(fmt.Sprintf("an annotation of %d bytes, want %d: %.100v", got, want, pod))
			}
		}
		asked += len(s.pods)
		return 0
	}, wire.ManifestReads{Pod: []string{"name", "annotations"}, PodAnnotations: []string{"a"}}, wasm.Deps{}, abi.PreEnqueue)
	pods := make([]*state.Pod, 100)
	for i := range pods {
		object := podObject("a", fmt.Sprint("p", i), "")
		if i%2 == 0 {
			object.Annotations = map[string]string{"a": fmt.Sprintf("%05d", i) + strings.Repeat("a", 200<<10)}
		}
		pods[i] = state.NewPod(object)
	}
	for range 2 {
		asked = 0
		out := make([]*plugin.Status, len(pods))
		before := p.Calls()
		p.PreEnqueue(pods, out)
		if calls := p.Calls() - before; asked != len(pods) || calls > 16 || p.Faults() > 0 || slices.ContainsFunc(out, func(s *plugin.Status) bool { return s != nil }) {
			t.Errorf("%d calls for %d of %d pods, and %d faults: %.200s", calls, asked, len(pods), p.Faults(), out[1].Message())
		}
	}
}
