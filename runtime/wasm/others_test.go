package wasm_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// memoryAt is the whole memory of a guest at one of its calls.
type memoryAt struct {
	point  abi.Point
	lo, hi uint32
	memory []byte
}

// tenanted is a world with the plugin of a tenant, and all that its guests were given.
type tenanted struct {
	*world
	plugin *wasm.Plugin
	calls  []memoryAt
}

// ofTenant is all that a tenant's plugin reads without a grant, and nothing of what nodes have
// left: that is the sum over the pods of all tenants, which any scheduler must tell.
func ofTenant() wire.ManifestReads {
	r := everything()
	r.Node = []string{"name", "flags", "allocatable", "labels", "taints", "pods", "zone"}
	r.Namespaces, r.NamespaceLabels = nil, nil
	r.Pod = []string{"name", "namespace", "priority", "requests", "labels", "annotations", "owner", "nodeSelector", "affinity", "tolerations", "hostPorts", "images", "nonZeroRequested", "namespaceLabels", "uid", "nodeName", "schedulingGates"}
	return r
}

func newTenanted(t testing.TB, nodes, shards int) *tenanted {
	w := &tenanted{world: newWorld(nodes)}
	points := []abi.Point{
		abi.PreEnqueue, abi.Hint, abi.PreFilter, abi.Filter, abi.PreScore, abi.Score, abi.Normalize, abi.Reserve, abi.Unreserve, abi.Permit, abi.PreBind, abi.PostBind,
	}
	scope := ""
	if shards == 0 {
		points = append(points, abi.AddPod, abi.RemovePod)
	} else {
		points = slices.DeleteFunc(points, func(p abi.Point) bool { return p == abi.PreScore || p == abi.Normalize })
		scope = "node"
	}
	m := &wire.Manifest{Reads: ofTenant(), Events: []wire.ManifestEvent{{Resource: "Pod", Actions: []string{"Delete"}}}}
	var exports []string
	for _, p := range points {
		name, _ := wire.ExportOf(p)
		exports = append(exports, name)
		point := &wire.ManifestPoint{}
		if p == abi.Filter || p == abi.Score {
			point.Scope = scope
		}
		m.Points.Set(p, point)
	}
	s := &spy{Factory: native(nil, exports...), before: func(g *spied, point abi.Point, _, lo, hi uint32) {
		w.calls = append(w.calls, memoryAt{point, lo, hi, bytes.Clone(g.Memory())})
	}}
	w.plugin = newPlugin(t, wasm.Config{Namespaces: []string{"mine"}, HideSeed: true, HideGeneration: true, Shards: shards, VerifyEvery: 3}, s, m)
	return w
}

// attempt takes a pod through all points, on a node.
func (w *tenanted) attempt(pod *state.Pod, node string, whatIf func(overlay uint32, c *plugin.Cycle)) {
	p := w.plugin
	p.PreEnqueue([]*state.Pod{pod}, make([]*plugin.Status, 1))
	c := w.cycle(pod)
	rows := w.rows()
	if len(rows) == 0 {
		return
	}
	p.PreFilter(c)
	filterBlocks(p, c, rows)
	if row, ok := w.snap.Row(node); ok {
		whatIf(w.snap.Overlay(row), c)
		w.snap.DropOverlays()
	}
	scores := make([]int64, len(rows))
	p.PreScore(c, rows)
	p.Score(c, rows, scores)
	p.Normalize(c, rows, scores)
	if _, ok := w.snap.Row(node); !ok {
		return
	}
	pl := w.placement(pod, node)
	p.Reserve(pl)
	p.Permit(pl)
	p.PreBind(pl)
	p.PostBind(pl)
	p.Unreserve(pl)
}

// tellOf tells the plugin of a pod that was deleted, as the queue does.
func (w *tenanted) tellOf(pod *state.Pod) state.Hint {
	out := []state.Hint{state.Queue}
	event := state.ClusterEvent{Resource: state.AssignedPodResource, Action: state.Delete}
	w.plugin.Hint(event, state.Object{OldPod: pod}, []*state.Pod{incoming("mine", "parked", 0)}, out)
	return out[0]
}

// TestNothingOfOthers: what the guests of a tenant's plugin are given is the same, byte for byte,
// whatever pods and namespaces other tenants have, create and delete meanwhile: at each point, in
// the whole memory, with the numbers of slots, the sizes of tables, and all orders.
func TestNothingOfOthers(t *testing.T)     { nothingOfOthers(t) }
func TestRestNothingOfOthers(t *testing.T) { nothingOfOthers(t) }

func nothingOfOthers(t *testing.T) {
	t.Helper()
	testrest.Checks(t, 30)
	for _, c := range []struct {
		name          string
		nodes, shards int
	}{{"scope cluster", 6, 0}, {"scope node", 1100, 2}} {
		t.Run(c.name, func(t *testing.T) {
			seeded.Check(t, func(rt *rapid.T) {
				if c.shards > 0 && rapid.IntRange(0, 19).Draw(rt, "rarely") > 0 {
					return // large clusters take time
				}
				compareWorlds(t, rt, newTenanted(t, c.nodes, c.shards), newTenanted(t, c.nodes, c.shards))
			})
		})
	}
}

// compareWorlds does the same in two worlds, and more in the second.
func compareWorlds(t testing.TB, rt *rapid.T, alone, among *tenanted) {
	both := []*tenanted{alone, among}
	mine, theirs := map[types.UID]*v1.Pod{}, map[types.UID]*v1.Pod{}
	count := 0
	draw := func(namespace string) *v1.Pod {
		count++
		p := podObject(namespace, fmt.Sprint(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "name"), count), nodeName(rapid.IntRange(0, 7).Draw(rt, "node")))
		p.Labels = drawMap(rt, "labels", "app", "zone", "team", "rare", "other")
		p.Annotations = drawMap(rt, "annotations", "gpu-index", "other")
		return p
	}
	some := func(of map[types.UID]*v1.Pod) *v1.Pod {
		if len(of) == 0 {
			return nil
		}
		return of[rapid.SampledFrom(slices.Sorted(maps.Keys(of))).Draw(rt, "pod")]
	}
	others := func() {
		for range rapid.IntRange(0, 4).Draw(rt, "others") {
			switch rapid.IntRange(0, 6).Draw(rt, "what others do") {
			case 0, 1:
				p := draw("theirs")
				theirs[p.UID] = p
				among.place(t, p)
			case 2:
				if p := some(theirs); p != nil {
					pod, _ := among.cache.RemovePod(p.UID)
					delete(theirs, p.UID)
					if among.tellOf(pod) != state.Queue {
						rt.Fatal("the plugin decided about an event that it is not asked about")
					}
				}
			case 3:
				filter(among.plugin, among.cycle(incoming("theirs", "p", 0)), among.rows())
			case 4:
				among.cache.AddNamespace(state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("ns", count), Labels: map[string]string{"app": "x", "new": fmt.Sprint(count)}}}))
			case 5: // so many that the dictionary and the slots of the host are others afterwards
				for i := range 2500 {
					p := podObject("theirs", fmt.Sprint("crowd", count, "-", i), nodeName(i%4))
					p.Labels = map[string]string{fmt.Sprint("key", count, "-", i): fmt.Sprint("value", count, "-", i)}
					among.place(t, p)
				}
				among.cache.UpdateSnapshot(among.snap)
				for i := range 2500 {
					among.cache.RemovePod(types.UID(fmt.Sprint("theirs/crowd", count, "-", i)))
				}
			case 6:
				among.cache.UpdateSnapshot(among.snap)
			}
		}
	}
	for range rapid.IntRange(1, 12).Draw(rt, "steps") {
		for range rapid.IntRange(1, 5).Draw(rt, "changes") {
			others()
			switch rapid.IntRange(0, 6).Draw(rt, "what the tenant does") {
			case 0, 1, 2:
				p := draw("mine")
				mine[p.UID] = p
				for _, w := range both {
					w.place(t, p)
				}
			case 3:
				if p := some(mine); p != nil {
					delete(mine, p.UID)
					for _, w := range both {
						pod, _ := w.cache.RemovePod(p.UID)
						w.tellOf(pod)
					}
				}
			case 4: // of the platform
				name, labels := nodeName(rapid.IntRange(0, 7).Draw(rt, "node")), drawMap(rt, "labels", "zone", "app", "pool", "rare", "other")
				gone := rapid.IntRange(0, 3).Draw(rt, "gone") == 0
				for _, w := range both {
					if gone {
						w.cache.RemoveNode(name)
						continue
					}
					n := nodeObject(name)
					n.Labels = labels
					w.cache.AddNode(state.NewNode(n))
				}
			case 5:
				for _, w := range both {
					w.snap = state.NewSnapshot()
				}
			}
		}
		others()
		pod, nominated, victim := draw("mine"), draw("mine"), some(mine)
		node := pod.Spec.NodeName
		pod.Spec.NodeName, nominated.Spec.NodeName = "", ""
		hypothetical, gone := podObject("theirs", "nominated", ""), some(theirs)
		for _, w := range both {
			w.attempt(state.NewPod(pod), node, func(overlay uint32, c *plugin.Cycle) {
				change := func(of *v1.Pod, point func(*plugin.Cycle, uint32, *state.Pod) *plugin.Status) {
					point(c, overlay, state.NewPod(of))
				}
				if w == among {
					w.snap.AddPod(overlay, state.NewPod(hypothetical))
					change(hypothetical, w.plugin.AddPod)
					if gone != nil && w.snap.RemovePod(overlay, gone.UID) {
						change(gone, w.plugin.RemovePod)
					}
				}
				if victim != nil && w.snap.RemovePod(overlay, victim.UID) {
					change(victim, w.plugin.RemovePod)
				}
				w.snap.AddPod(overlay, state.NewPod(nominated))
				change(nominated, w.plugin.AddPod)
				filter(w.plugin, c, []uint32{overlay})
			})
		}
		if len(alone.calls) == 0 && alone.snap.Len() > 0 {
			rt.Fatal("no call was made: the test looks at nothing")
		}
		sameCalls(rt, alone.calls, among.calls)
		alone.calls, among.calls = nil, nil
	}
}

// sameCalls requires two guests to have been given the same.
func sameCalls(t failer, alone, among []memoryAt) {
	t.Helper()
	for i := range min(len(alone), len(among)) {
		a, b := &alone[i], &among[i]
		switch {
		case a.point != b.point || a.lo != b.lo || a.hi != b.hi:
			t.Fatalf("call %d of %d is %s of rows %d to %d; among others %s of rows %d to %d", i, len(alone), a.point, a.lo, a.hi, b.point, b.lo, b.hi)
		case len(a.memory) != len(b.memory):
			t.Fatalf("call %d, %s: a memory of %d bytes; among others %d", i, a.point, len(a.memory), len(b.memory))
		case !bytes.Equal(a.memory, b.memory):
			at := 0
			for a.memory[at] == b.memory[at] {
				at++
			}
			from, to := at&^15, min(at&^15+64, len(a.memory))
			t.Fatalf("call %d, %s: the memory differs at %#x:\nalone  % x\nothers % x", i, a.point, at, a.memory[from:to], b.memory[from:to])
		}
	}
	if len(alone) != len(among) {
		t.Fatalf("%d calls; among others %d", len(alone), len(among))
	}
}
