package wasm_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// marks puts a distinct string into every field, so that a test can search for it. "label" and
// "annotation" have values; the keys of all maps are marks as well.
func mark(what string) string { return "zq-" + what + "-qz" }

// markedNode is a node of marks. Another i makes other marks.
func markedNode(name string, i int) *v1.Node {
	m := func(what string) string { return mark(fmt.Sprint("node", what, i)) }
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: "zq-nodeuid-qz",
		Labels:      map[string]string{"zone": m("zone"), m("labelkey"): m("label"), "pool": m("pool")},
		Annotations: map[string]string{"note": m("note"), m("annotationkey"): m("annotation")},
	}}
	n.Spec.ProviderID = m("provider")
	n.Spec.Taints = []v1.Taint{{Key: m("taintkey"), Value: m("taint"), Effect: v1.TaintEffectNoSchedule}}
	n.Status.Images = []v1.ContainerImage{{Names: []string{m("image") + ":v1"}, SizeBytes: 1}}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Message: m("condition")}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("32"), v1.ResourceName("zq.example/" + m("resource")): resource.MustParse("3")}
	return n
}

// markedPod is a pod of marks.
func markedPod(namespace, node string, i int) *v1.Pod {
	m := func(what string) string { return mark(fmt.Sprint("pod", what, i, "in", namespace)) }
	p := podObject(namespace, m("name"), node)
	yes := true
	p.Labels = map[string]string{"app": m("app"), m("labelkey"): m("label")}
	p.Annotations = map[string]string{"gpu": m("gpu"), m("annotationkey"): m("annotation")}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: m("owner"), Controller: &yes}}
	p.Spec.Containers[0].Image = m("image")
	p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PASSWORD", Value: m("env")}}
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, HostIP: fmt.Sprint("10.99.0.", i)}}
	p.Spec.NodeSelector = map[string]string{m("selectorkey"): m("selector")}
	p.Spec.Tolerations = []v1.Toleration{{Key: m("tolerationkey"), Value: m("toleration"), Operator: v1.TolerationOpEqual}}
	p.Spec.ServiceAccountName = m("account")
	p.Spec.Containers[0].Resources.Requests[v1.ResourceName("zq.example/"+m("resource"))] = resource.MustParse("1")
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: m("affinitykey"), Operator: v1.NodeSelectorOpIn, Values: []string{m("affinity")}}},
	}}}}}
	return p
}

// TestNotDeclared: the linear memory of an instance has nothing that the manifest does not declare,
// and nothing of pods of other namespaces, after updates and removals, with a new dictionary, a
// new snapshot and a new instance.
func TestNotDeclared(t *testing.T) {
	cases := []struct {
		name       string
		reads      wire.ManifestReads
		namespaces []string
		shards     int
		// may lists the marks that may appear; any other is a leak.
		may []string
	}{
		{"nothing", wire.ManifestReads{}, nil, 0, nil},
		{"a node label", wire.ManifestReads{NodeLabels: []string{"zone"}}, nil, 0, []string{"nodezone"}},
		{"a node annotation", wire.ManifestReads{NodeAnnotations: []string{"note"}}, nil, 0, []string{"nodenote"}},
		{"numbers", wire.ManifestReads{
			Node: []string{"flags", "allocatable", "requested", "nonZeroRequested", "generation"}, NodeConditions: []string{"Ready"}, Resources: []string{"cpu"},
		}, nil, 0, nil},
		{"taints", wire.ManifestReads{Node: []string{"taints"}}, nil, 0, []string{"nodetaint"}},
		{"images", wire.ManifestReads{Node: []string{"images"}}, nil, 0, []string{"nodeimage"}},
		{"all labels of nodes", wire.ManifestReads{Node: []string{"labels"}}, nil, 0, []string{"nodezone", "nodepool", "nodelabel"}},
		{"ports", wire.ManifestReads{Node: []string{"ports"}}, nil, 0, nil},
		{"pods without fields", wire.ManifestReads{Node: []string{"pods"}}, nil, 0, nil},
		{"a pod label", wire.ManifestReads{Node: []string{"pods"}, PodLabels: []string{"app"}}, nil, 0, []string{"podapp"}},
		{"fields of pods without pods", wire.ManifestReads{Pods: []string{"labels", "owner"}, PodLabels: []string{"app"}}, nil, 0, nil},
		{"own pods", wire.ManifestReads{
			Node: []string{"pods", "requested"}, Pods: []string{"namespace", "labels", "owner", "requests"}, PodLabels: []string{"app"},
			PodAnnotations: []string{"gpu"}, Resources: []string{"cpu"},
		}, []string{"mine"}, 0, []string{"inmine"}},
		{"own pods, sharded", wire.ManifestReads{
			Node: []string{"pods"}, Pods: []string{"namespace", "labels"}, PodAnnotations: []string{"gpu"},
		}, []string{"mine"}, 2, []string{"podapp", "podlabel", "podgpu"}},
		{"the incoming pod's labels", wire.ManifestReads{Pod: []string{"labels"}}, nil, 0, []string{"podapp", "podlabel"}},
		{"the incoming pod's selector", wire.ManifestReads{Pod: []string{"nodeSelector"}}, nil, 0, []string{"podselector"}},
		{"the incoming pod's affinity", wire.ManifestReads{Pod: []string{"affinity"}}, nil, 0, []string{"podaffinity"}},
		{"the incoming pod's tolerations", wire.ManifestReads{Pod: []string{"tolerations"}}, nil, 0, []string{"podtoleration"}},
		{"the incoming pod's rest", wire.ManifestReads{
			Pod: []string{"namespace", "priority", "requests", "annotations", "nonZeroRequested"}, PodAnnotations: []string{"gpu"}, Resources: []string{"cpu"},
		}, nil, 0, []string{"podgpu"}},
	}
	trap := false
	trapping := native(func(*tiny, string, uint32, uint32, uint32) int32 {
		if trap {
			trap = false
			panic("trap")
		}
		return 0
	}, abi.ExportFilter)
	module, _ := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "good") // it never traps
	for i := range 2 * len(cases) {
		c, kind, factory := cases[i/2], "native", sandbox.Factory(trapping)
		if i%2 == 1 {
			kind, factory = "module", module
		}
		t.Run(c.name+"/"+kind, func(t *testing.T) {
			base := 3
			if c.shards > 0 {
				base = 1100
			}
			trap = false
			watched := &spy{Factory: factory}
			point := &wire.ManifestPoint{Scope: map[bool]string{true: "node", false: "cluster"}[c.shards > 0]}
			p := newPlugin(t, wasm.Config{Namespaces: c.namespaces, Shards: c.shards, VerifyEvery: 2}, watched,
				&wire.Manifest{Points: wire.ManifestPoints{Filter: point}, Reads: c.reads})
			w := newWorld(base)
			look := func(when string) {
				t.Helper()
				pod := markedPod("mine", "", 1000)
				pod.Name = mark("podnamein")
				cy := w.cycle(state.NewPod(pod))
				filterBlocks(p, cy, w.rows())
				overlay := w.snap.Overlay(0)
				w.snap.AddPod(overlay, state.NewPod(markedPod("theirs", "", 2000)))
				w.snap.AddPod(overlay, state.NewPod(markedPod("mine", "", 2001)))
				filter(p, cy, []uint32{overlay})
				w.snap.DropOverlays()
				for _, g := range watched.alive() {
					for _, found := range marksIn(g.Memory()) {
						ok := slices.ContainsFunc(c.may, func(may string) bool { return strings.Contains(found, may) })
						if !ok || len(c.namespaces) > 0 && strings.Contains(found, "intheirs") {
							t.Errorf("%s: %s is in the memory", when, found)
						}
					}
				}
			}
			object := func(i, version int) { w.cache.AddNode(state.NewNode(markedNode(nodeName(i), version))) }
			for i := range 3 {
				object(base-1-i, i)
			}
			look("nodes")
			for i := range 12 {
				w.place(t, markedPod([]string{"mine", "theirs"}[i%2], nodeName(base-1-i%3), i))
			}
			look("pods")
			for i := range 3 {
				object(base-1-i, 10+i)
			}
			for i := range 6 {
				p := state.NewPod(markedPod([]string{"mine", "theirs"}[i%2], "", i))
				w.cache.RemovePod(p.UID)
			}
			look("removed pods")
			for i := range 6 { // slots of one namespace are reused by the other
				w.place(t, markedPod([]string{"theirs", "mine"}[i%2], nodeName(base-1-i%3), 20+i))
			}
			look("reused slots")
			w.cache.RemoveNode(nodeName(base - 2))
			look("removed nodes")
			trap = true
			filterBlocks(p, w.cycle(state.NewPod(markedPod("mine", "", 1000))), w.rows())
			look("after a fault")
			w.snap = state.NewSnapshot()
			look("new snapshot")
			for i := range 3 {
				n := markedNode(nodeName(base-1-i), 30+i)
				for j := range 2000 {
					n.Labels[fmt.Sprint("k", i, "-", j)] = fmt.Sprint("v", i, "-", j)
				}
				w.cache.AddNode(state.NewNode(n))
			}
			look("many strings")
			for i := range 3 {
				object(base-1-i, 40+i)
			}
			look("new dictionary")
			if len(c.may) > 0 && len(marksIn(watched.alive()[len(watched.alive())-1].Memory())) == 0 {
				t.Error("what is declared is not there: the test looks at nothing")
			}
		})
	}
}

// marksIn returns the marks in bytes, and the addresses of host ports' pods.
func marksIn(memory []byte) (out []string) {
	for rest := memory; ; {
		at := bytes.Index(rest, []byte("zq"))
		if at < 0 {
			return out
		}
		found := string(rest[at:min(at+60, len(rest))])
		if end := strings.Index(found, "-qz"); end >= 0 {
			found = found[:end]
		}
		if !slices.Contains(out, found) {
			out = append(out, found)
		}
		rest = rest[at+2:]
	}
}

// TestRequestedCountsAll: sums of requests include all namespaces, for any plugin.
func TestRequestedCountsAll(t *testing.T) {
	watched := &spy{Factory: native(nil, abi.ExportFilter)}
	p := newPlugin(t, wasm.Config{Namespaces: []string{"mine"}}, watched, &wire.Manifest{
		Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}},
		Reads:  wire.ManifestReads{Node: []string{"requested", "pods"}, Pods: []string{"namespace"}, Resources: []string{"pods", "cpu"}},
	})
	w := newWorld(1)
	for i, ns := range []string{"mine", "theirs", "theirs"} {
		w.place(t, podObject(ns, fmt.Sprint("p", i), "n0"))
	}
	filter(p, w.cycle(incoming("mine", "p", 0)), w.rows())
	_, snap := watched.alive()[0].decode(t)
	row := decoded(t, snap, 0)
	if row["4.0"] != "3" || row["4.1"] != "300" || row["pods"] != `64.0: "mine"` {
		t.Errorf("got %v", row)
	}
}
