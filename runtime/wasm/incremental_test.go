package wasm_test

import (
	"flag"
	"fmt"
	"maps"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// machine changes a cluster at random. After each change it compares the memory of a plugin's
// guests with the cluster and with a new plugin.
type machine struct {
	t     testing.TB
	world *world
	mirror
	config   wasm.Config
	manifest *wire.Manifest
	spy      *spy
	plugin   *wasm.Plugin
	nodes    map[string]*v1.Node
	pods     map[string]*v1.Pod
	names    int // node names to draw from
	base     int // nodes that are there from the start
	count    int
	trap     bool // the next call is a trap
	module   sandbox.Factory
}

// everything reads all that can be declared.
func everything() wire.ManifestReads {
	return wire.ManifestReads{
		Node:       []string{"name", "flags", "allocatable", "requested", "nonZeroRequested", "labels", "taints", "ports", "images", "pods", "nominated", "generation", "zone"},
		NodeLabels: []string{"zone", "pool"}, NodeAnnotations: []string{"note"}, NodeConditions: []string{"Ready"},
		Resources: []string{"cpu", "memory", "pods", "nvidia.com/gpu"}, Pods: []string{"namespace", "priority", "requests", "labels", "owner", "flags", "uid", "name"},
		PodLabels: []string{"app"}, PodAnnotations: []string{"gpu-index"}, Pod: []string{"name", "namespace", "labels", "namespaceLabels", "uid"},
		Namespaces: []string{"name", "labels", "requested"}, NamespaceLabels: []string{"team"},
	}
}

func newMachine(t testing.TB, reads wire.ManifestReads, config wasm.Config, base int, module sandbox.Factory) *machine {
	m := &machine{
		t: t, world: newWorld(0), config: config, nodes: map[string]*v1.Node{}, pods: map[string]*v1.Pod{},
		module: module, names: base + 24, base: base, mirror: mirror{reads: reads, namespaces: config.Namespaces},
	}
	scope := "cluster"
	if config.Shards > 0 {
		scope = "node"
	}
	m.manifest = &wire.Manifest{Name: "guest", Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{Scope: scope}}, Reads: reads}
	m.spy, m.plugin = m.fresh()
	for i := range base {
		m.node(nodeObject(nodeName(i)))
	}
	return m
}

// fresh makes a plugin with the same configuration.
func (m *machine) fresh() (*spy, *wasm.Plugin) {
	if m.module != nil {
		s := &spy{Factory: m.module}
		return s, newPlugin(m.t, m.config, s, m.manifest)
	}
	s := &spy{Factory: native(func(*tiny, string, uint32, uint32, uint32) int32 {
		if m.trap {
			m.trap = false
			panic("trap")
		}
		return 0
	}, abi.ExportFilter)}
	return s, newPlugin(m.t, m.config, s, m.manifest)
}

func (m *machine) node(object *v1.Node) {
	m.nodes[object.Name] = object
	m.world.cache.AddNode(state.NewNode(object))
}

// check calls the filter on all rows and compares all instances.
func (m *machine) check(t failer) {
	t.Helper()
	c := m.world.cycle(incoming("a", fmt.Sprint("incoming", m.count), 0))
	m.filter(t, m.plugin, c)
	m.mirror.check(t, m.world, m.spy.alive())
	if m.count++; m.count%4 == 0 {
		s, p := m.fresh()
		m.filter(t, p, c)
		m.mirror.check(t, m.world, s.alive())
		if err := p.Close(c.Context); err != nil {
			t.Fatal(err)
		}
	}
}

// filter calls the filter so that every instance has been called.
func (m *machine) filter(t failer, p *wasm.Plugin, c *plugin.Cycle) {
	t.Helper()
	rows := m.world.rows()
	if len(rows) == 0 { // begin the cycle at least, with an overlay-free call
		return
	}
	for i, code := range filterBlocks(p, c, rows).Codes {
		if code != abi.Success {
			t.Fatalf("row %d: %s", i, code)
		}
	}
}

// overlay calls the plugin for a hypothetical node.
func (m *machine) overlay(t *rapid.T) {
	w := m.world
	c := w.cycle(incoming("a", "what-if", 0))
	if w.snap.Len() == 0 {
		return
	}
	m.filter(t, m.plugin, c)
	row := uint32(rapid.IntRange(0, w.snap.Len()-1).Draw(t, "of row"))
	info, _ := w.cache.Node(w.snap.Name(row))
	for range rapid.IntRange(1, 2).Draw(t, "overlays") {
		var on []*state.Pod
		for i := range info.Pods {
			on = append(on, info.Pods[i].Pod)
		}
		o := w.snap.Overlay(row)
		for i := range rapid.IntRange(0, 3).Draw(t, "added") {
			object := m.drawPod(t)
			object.Spec.NodeName = ""
			object.Name = fmt.Sprint(object.Name, "-", i)
			pod := state.NewPod(object)
			w.snap.AddPod(o, pod)
			on = append(on, pod)
		}
		if len(on) > 0 && rapid.Bool().Draw(t, "remove") {
			gone := rapid.IntRange(0, len(on)-1).Draw(t, "gone")
			w.snap.RemovePod(o, on[gone].UID)
			on = append(on[:gone:gone], on[gone+1:]...)
		}
		if v := filter(m.plugin, c, []uint32{o}); v.Codes[0] != abi.Success {
			t.Fatalf("overlay: %v %v", v.Codes, v.Table)
		}
		var s *wire.Snapshot
		for _, g := range m.spy.alive() { // one instance has all overlay rows
			var call *wire.CallView
			if call, s = g.decode(t); call != nil && call.Flags&abi.CallOverlayRows != 0 {
				break
			}
		}
		local := s.Table(abi.TableNodes).Capacity
		if got, want := decoded(t, s, local), m.mirror.node(info.Node, on, nominatedTo(info)); !maps.Equal(got, want) {
			t.Fatalf("overlay of %s\n got %v\nwant %v", info.Name, got, want)
		}
		if left := orphans(t, s); len(left) > 0 {
			t.Fatalf("overlay: slots without a row: %v", left)
		}
	}
	w.snap.DropOverlays()
}

func (m *machine) drawName(t *rapid.T) string {
	// Mostly at the end, where rows are added and removed and blocks begin.
	return nodeName(rapid.IntRange(m.names-32, m.names-1).Draw(t, "node") % m.names)
}

func drawMap(t *rapid.T, what string, keys ...string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom(keys), rapid.SampledFrom([]string{"", "x", "y", "longer-than-the-others"}), 0, len(keys)).Draw(t, what)
}

func (m *machine) drawNode(t *rapid.T) {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: m.drawName(t), Labels: drawMap(t, "labels", "zone", "pool", "other", "rare", v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone), Annotations: drawMap(t, "annotations", "note", "secret"),
	}}
	n.Spec.Unschedulable = rapid.Bool().Draw(t, "unschedulable")
	for range rapid.IntRange(0, 3).Draw(t, "taints") {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{
			Key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "taint"), Value: rapid.SampledFrom([]string{"", "v"}).Draw(t, "value"),
			Effect: rapid.SampledFrom([]v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute}).Draw(t, "effect"),
		})
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "images") {
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{fmt.Sprint("image", i, ":v1")}, SizeBytes: int64(i) << 33})
	}
	if status := rapid.SampledFrom([]v1.ConditionStatus{"", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}).Draw(t, "ready"); status != "" {
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
	}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(rapid.Int64Range(0, 64000).Draw(t, "cpu"), resource.DecimalSI)}
	if rapid.Bool().Draw(t, "gpus") {
		n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("8")
	}
	m.node(n)
}

func (m *machine) drawPod(t *rapid.T) *v1.Pod {
	m.count++
	p := podObject(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "namespace"), fmt.Sprint("p", m.count), m.drawName(t))
	p.Labels = drawMap(t, "labels", "app", "tier", "x", "y", "z")
	p.Annotations = drawMap(t, "annotations", "gpu-index", "secret")
	if rapid.Bool().Draw(t, "owned") {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j"}, {Kind: "ReplicaSet", Name: "r", Controller: &yes}}
	}
	if rapid.Bool().Draw(t, "gpu") {
		p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
	}
	if port := rapid.Int32Range(0, 3).Draw(t, "port"); port > 0 {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 8000 + port, Protocol: v1.ProtocolUDP}}
	}
	priority := rapid.Int32Range(-2, 2).Draw(t, "priority")
	p.Spec.Priority = &priority
	return p
}

// some returns a placed pod; nil if there is none.
func (m *machine) some(t *rapid.T) *v1.Pod {
	if len(m.pods) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m.pods))
	for i := 0; i <= m.count; i++ { // in the order of their making
		for _, ns := range []string{"a", "b", "c"} {
			if key := fmt.Sprint(ns, "/p", i); m.pods[key] != nil {
				keys = append(keys, key)
			}
		}
	}
	return m.pods[rapid.SampledFrom(keys).Draw(t, "pod")]
}

func (m *machine) actions() map[string]func(*rapid.T) {
	cache := m.world.cache
	fine := func(t *rapid.T, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(*rapid.T){
		"node":  m.drawNode,
		"node2": m.drawNode,
		"remove node": func(t *rapid.T) {
			name := m.drawName(t)
			cache.RemoveNode(name)
			delete(m.nodes, name)
		},
		"remove nodes": func(t *rapid.T) {
			for i := range rapid.IntRange(2, 8).Draw(t, "nodes") {
				cache.RemoveNode(nodeName(max(0, m.base-10) + 3*i))
			}
		},
		"pods": func(t *rapid.T) {
			for range rapid.IntRange(1, 6).Draw(t, "pods") {
				p := m.drawPod(t)
				_, err := cache.AddPod(state.NewPod(p))
				fine(t, err)
				m.pods[p.Namespace+"/"+p.Name] = p
			}
		},
		"update pod": func(t *rapid.T) {
			if old := m.some(t); old != nil {
				p := m.drawPod(t)
				p.Namespace, p.Name, p.UID = old.Namespace, old.Name, old.UID
				if rapid.Bool().Draw(t, "in place") {
					p.Spec.NodeName = old.Spec.NodeName
				}
				if rapid.Bool().Draw(t, "terminating") {
					p.DeletionTimestamp = &metav1.Time{}
				}
				_, err := cache.UpdatePod(state.NewPod(old), state.NewPod(p))
				fine(t, err)
				m.pods[p.Namespace+"/"+p.Name] = p
			}
		},
		"nominate": func(t *rapid.T) {
			var pods []*state.Pod
			for range rapid.IntRange(0, 4).Draw(t, "pods") {
				p := m.drawPod(t)
				p.Spec.NodeName = ""
				pods = append(pods, state.NewPod(p))
			}
			cache.Nominate(m.drawName(t), pods)
		},
		"assume": func(t *rapid.T) {
			pod := state.NewPod(m.drawPod(t))
			fine(t, cache.Assume(pod))
			_, err := cache.Patch(pod.UID, state.Patch{Annotations: map[string]string{"gpu-index": "7"}})
			fine(t, err)
			m.check(t)
			fine(t, cache.Forget(pod.UID))
		},
		"remove pods": func(t *rapid.T) {
			for range rapid.IntRange(1, 5).Draw(t, "pods") {
				if p := m.some(t); p != nil {
					cache.RemovePod(p.UID)
					delete(m.pods, p.Namespace+"/"+p.Name)
				}
			}
		},
		"many strings": func(t *rapid.T) { // the dictionary turns over
			m.count++
			for i := range 4 {
				n := nodeObject(nodeName(m.names - 1 - i))
				for j := range 1500 {
					n.Labels[fmt.Sprint("key", m.count, "-", j)] = fmt.Sprint("value", m.count, "-", i, "-", j)
				}
				m.node(n)
			}
			m.check(t)
			for i := range 4 {
				m.node(nodeObject(nodeName(m.names - 1 - i)))
			}
		},
		"many nodes": func(t *rapid.T) { // the regions grow
			for i := range m.base + 80 {
				cache.AddNode(state.NewNode(nodeObject(fmt.Sprint("x", i))))
			}
			m.check(t)
			for i := range m.base + 80 {
				cache.RemoveNode(fmt.Sprint("x", i))
			}
		},
		"many pods": func(t *rapid.T) { // the regions grow, and the slots are renumbered
			for i := range 400 {
				p := podObject("b", fmt.Sprint("crowd", i), nodeName(i%m.names))
				_, err := cache.AddPod(state.NewPod(p))
				fine(t, err)
			}
			m.check(t)
			for i := range 400 {
				cache.RemovePod(state.NewPod(podObject("b", fmt.Sprint("crowd", i), "")).UID)
			}
		},
		"snapshot": func(*rapid.T) { m.world.snap = state.NewSnapshot() },
		"fault": func(t *rapid.T) {
			c := m.world.cycle(incoming("a", "faulty", 0))
			if rows := m.world.rows(); len(rows) > 0 {
				m.trap = true
				if v := filterBlocks(m.plugin, c, rows); v.Codes[0] != abi.Error || m.trap {
					t.Fatalf("no fault: %v %v", v.Codes[0], v.Table)
				}
				m.filter(t, m.plugin, c) // the same cycle, with a new instance
				m.mirror.check(t, m.world, m.spy.alive())
			}
		},
		"namespaces": func(t *rapid.T) {
			for range rapid.IntRange(1, 3).Draw(t, "namespaces") {
				name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
				if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
					cache.RemoveNamespace(name)
					continue
				}
				cache.AddNamespace(state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: drawMap(t, "labels", "team", "x", "y")}}))
			}
		},
		"many namespaces": func(t *rapid.T) { // the regions grow
			for i := range 60 {
				cache.AddNamespace(state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("ns", i), Labels: map[string]string{"team": fmt.Sprint(i)}}}))
			}
			m.check(t)
			for i := range 60 {
				cache.RemoveNamespace(fmt.Sprint("ns", i))
			}
		},
		"idle":    func(*rapid.T) { m.world.cache.UpdateSnapshot(m.world.snap) }, // a cycle of another plugin
		"overlay": m.overlay,
	}
}

// TestIncremental: after any change, guest memory is the same as after a full write, and shows the
// cluster.
func TestIncremental(t *testing.T)     { incremental(t) }
func TestRestIncremental(t *testing.T) { incremental(t) }

func incremental(t *testing.T) {
	t.Helper()
	reads := everything()
	cases := []struct {
		name   string
		reads  wire.ManifestReads
		config wasm.Config
		base   int
		checks string
	}{
		{"all", reads, wasm.Config{}, 8, "60"},
		{"wasm", reads, wasm.Config{VerifyEvery: 4}, 8, "15"},
		{"namespaces", reads, wasm.Config{Namespaces: []string{"a", "c"}}, 8, "30"},
		{"verified", reads, wasm.Config{VerifyEvery: 1}, 8, "15"},
		{"sampled", reads, wasm.Config{VerifyEvery: 3}, 8, "30"},
		{"few columns", wire.ManifestReads{
			Node: []string{"name", "requested", "pods"}, Resources: []string{"nvidia.com/gpu"}, Pods: []string{"namespace"}, PodLabels: []string{"app"},
		}, wasm.Config{Namespaces: []string{"a"}}, 8, "20"},
		{"no pods", wire.ManifestReads{Node: []string{"name", "labels", "taints", "requested"}, Resources: []string{"cpu"}}, wasm.Config{}, 8, "20"},
		{"shards", wire.ManifestReads{
			Node: []string{"name", "taints", "pods", "requested"}, Resources: []string{"cpu"}, NodeLabels: []string{"zone"},
			Pods: []string{"namespace", "labels"},
		}, wasm.Config{Shards: 2, VerifyEvery: 5}, 1030, "6"},
		{"three shards", wire.ManifestReads{
			Node: []string{"name", "pods"}, Pods: []string{"labels"},
		}, wasm.Config{Shards: 3, Namespaces: []string{"a", "b"}}, 2040, "4"},
	}
	module, _ := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/noop")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if !testrest.In(t) {
				c.checks = "2" // slow: each is a run of changes, after which all memory is compared
			}
			if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
				if err := f.Value.Set(c.checks); err != nil {
					t.Fatal(err)
				}
				defer f.Value.Set(f.DefValue)
			}
			seeded.Check(t, func(rt *rapid.T) {
				var guest sandbox.Factory
				if strings.HasPrefix(c.name, "wasm") {
					guest = module
				}
				m := newMachine(t, c.reads, c.config, c.base, guest)
				actions := m.actions()
				if guest != nil {
					delete(actions, "fault") // it never traps
				}
				actions[""] = func(rt *rapid.T) { m.check(rt) }
				rt.Repeat(actions)
			})
		})
	}
}
