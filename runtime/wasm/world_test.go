package wasm_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// world is a cluster: a cache, and the snapshot that a scheduler takes of it.
type world struct {
	cache *cache.Cache
	snap  *state.Snapshot
	seed  uint64
}

// newWorld returns a world with nodes n0, n1 ….
func newWorld(nodes int) *world {
	w := &world{cache: cache.New(cache.Config{}), snap: state.NewSnapshot()}
	for i := range nodes {
		w.cache.AddNode(state.NewNode(nodeObject(nodeName(i))))
	}
	return w
}

func nodeName(i int) string { return fmt.Sprint("n", i) }

// cycle updates the snapshot and begins a cycle for a pod.
func (w *world) cycle(pod *state.Pod) *plugin.Cycle {
	w.cache.UpdateSnapshot(w.snap)
	return w.again(pod)
}

// again begins a cycle without updating the snapshot.
func (w *world) again(pod *state.Pod) *plugin.Cycle {
	w.seed++
	return &plugin.Cycle{Context: context.Background(), Snapshot: w.snap, Pod: pod, State: &state.CycleState{}, Seed: w.seed}
}

// rows returns all rows.
func (w *world) rows() []uint32 {
	rows := make([]uint32, w.snap.Len())
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

func nodeObject(name string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name, "zone": "z" + name[len(name)-1:]}}}
	n.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("32"), v1.ResourceMemory: resource.MustParse("128Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	return n
}

func podObject(namespace, name, node string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Labels: map[string]string{"app": name}}}
	p.Spec.NodeName = node
	p.Spec.Containers = []v1.Container{{Name: "c", Image: "nginx", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}}}}
	return p
}

// incoming returns a pod to be placed.
func incoming(namespace, name string, priority int32) *state.Pod {
	p := podObject(namespace, name, "")
	p.Spec.Priority = &priority
	return state.NewPod(p)
}

// place adds a pod to the cache.
func (w *world) place(t testing.TB, p *v1.Pod) *state.Pod {
	t.Helper()
	pod := state.NewPod(p)
	if _, err := w.cache.AddPod(pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// manifest returns a valid manifest with these parts, which are JSON values.
func manifest(t testing.TB, points, reads, host string) *wire.Manifest {
	t.Helper()
	m, err := wire.DecodeManifest([]byte(manifestJSON(points, reads, host)))
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func manifestJSON(points, reads, host string) string {
	return fmt.Sprintf(`{"name":"guest","version":"1.0.0","publisher":"berth-scheduler","license":"Apache-2.0","description":"a test","abi":"1.0",`+
		`"points":%s,"reads":%s,"host":%s,"events":[{"resource":"Node","actions":["Add"]}]}`, points, reads, host)
}

// newPlugin makes a plugin that is closed when the test ends.
func newPlugin(t testing.TB, c wasm.Config, f sandbox.Factory, m *wire.Manifest) *wasm.Plugin {
	t.Helper()
	if c.Name == "" {
		c.Name = "guest"
	}
	c.CrashOnBug = true
	p, err := wasm.New(context.Background(), c, wasm.Deps{Factory: f, Manifest: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// filter returns the verdicts of all rows, in one call.
func filter(p *wasm.Plugin, c *plugin.Cycle, rows []uint32) *plugin.Verdicts {
	var v plugin.Verdicts
	v.Reset(len(rows))
	p.Filter(c, rows, &v)
	return &v
}

// filterBlocks is filter with a call for each block of rows, like a pipeline with plugins of scope
// node.
func filterBlocks(p *wasm.Plugin, c *plugin.Cycle, rows []uint32) *plugin.Verdicts {
	var all plugin.Verdicts
	all.Reset(len(rows))
	for at := 0; at < len(rows); {
		n := 1
		for at+n < len(rows) && rows[at+n]/1024 == rows[at]/1024 {
			n++
		}
		v := filter(p, c, rows[at:at+n])
		for i := range n {
			var reason uint16
			if texts := v.Texts(i); texts != nil {
				reason = all.Reason(texts...)
			}
			all.Reject(at+i, v.Codes[i], reason)
		}
		at += n
	}
	return &all
}

// spy is a factory that records the guests of another one.
type spy struct {
	sandbox.Factory
	guests []*spied
	// before (optional) is called before each call of a point.
	before func(g *spied, point abi.Point, call, lo, hi uint32)
}

// spied is a recorded guest.
type spied struct {
	sandbox.Guest
	spy    *spy
	closed bool
	failed bool // a call was a trap
	calls  int
	call   uint32 // address of the call record of the last call
	region uint32 // size of the last allocation
	base   uint32
}

func (s *spy) New(ctx context.Context, region uint32, env *sandbox.Env) (sandbox.Guest, error) {
	g, err := s.Factory.New(ctx, region, env)
	if err != nil {
		return nil, err
	}
	watched := &spied{Guest: g, spy: s}
	s.guests = append(s.guests, watched)
	return watched, nil
}

// alive returns the guests that are not closed.
func (s *spy) alive() (out []*spied) {
	for _, g := range s.guests {
		if !g.closed {
			out = append(out, g)
		}
	}
	return out
}

func (g *spied) Alloc(ctx context.Context, size uint32) (uint32, error) {
	base, err := g.Guest.Alloc(ctx, size)
	g.region, g.base = size, base
	return base, err
}

func (g *spied) Call(ctx context.Context, point abi.Point, call, lo, hi uint32) (uint32, error) {
	if g.closed || g.failed {
		panic("BUG: a guest is called after a fault (ABI-2.10)")
	}
	g.calls++
	g.call = call
	if g.spy.before != nil {
		g.spy.before(g, point, call, lo, hi)
	}
	code, err := g.Guest.Call(ctx, point, call, lo, hi)
	g.failed = err != nil
	return code, err
}

func (g *spied) Close(ctx context.Context) error {
	g.closed = true
	return g.Guest.Close(ctx)
}

// decode reads the guest's call record and snapshot with the reader of abi/wire. If the guest was
// not called yet, it reads the snapshot only.
func (g *spied) decode(t failer) (*wire.CallView, *wire.Snapshot) {
	t.Helper()
	memory := wire.Memory(g.Memory())
	if g.call == 0 {
		at := bytes.Index(memory[g.base:], []byte("BRTH"))
		if at < 0 {
			t.Fatal("no header")
		}
		snap, err := wire.DecodeSnapshot(memory, g.base+uint32(at))
		if err != nil {
			t.Fatal(err)
		}
		return nil, snap
	}
	call, err := wire.DecodeCall(memory, g.call)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := wire.DecodeSnapshot(memory, call.Header)
	if err != nil {
		t.Fatal(err)
	}
	return call, snap
}

// failer is what checks need of a *testing.T or *rapid.T.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newWorldNode(i int) *state.Node { return state.NewNode(nodeObject(nodeName(i))) }
