package hostplugins_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// keptPlugin is a plugin whose answers are cached.
type keptPlugin struct {
	plugin.Plugin
	cache      *equivalence.PluginCache
	held, lost int // hits and misses
}

// answers returns the cached answers for pods like the cycle's, from the first one on.
func (k *keptPlugin) answers(c *plugin.Cycle) *equivalence.Answers {
	if a := k.cache.Lookup(c, nil); a != nil {
		return a
	}
	return k.cache.Lookup(c, nil)
}

// compare calls the plugin for all rows, and checks the cached answers against that. Afterwards
// all are cached.
func (k *keptPlugin) compare(c *plugin.Cycle, rows []uint32) error {
	a := k.answers(c)
	name := k.Info().Name
	count := func(ok bool) bool {
		if ok {
			k.held++
		} else {
			k.lost++
		}
		return ok
	}
	if f, ok := k.Plugin.(plugin.Filter); ok {
		a.Verdicts()
		var v plugin.Verdicts
		v.Reset(len(rows))
		f.Filter(c, rows, &v)
		for i, row := range rows {
			code, reason, ok := a.Verdict(row)
			if count(ok) && (code != v.Codes[i] || !slices.Equal(a.Texts(reason), v.Texts(i))) {
				return fmt.Errorf("%s of %s: %v %q is kept, %v %q is right", name, c.Snapshot.Name(row), code, a.Texts(reason), v.Codes[i], v.Texts(i))
			}
			number, _ := a.Reason(v.Texts(i))
			a.KeepVerdict(row, v.Codes[i], number)
		}
	}
	if s, ok := k.Plugin.(plugin.Score); ok {
		a.Scores()
		scores := make([]int64, len(rows))
		if status := s.Score(c, rows, scores); !status.Success() {
			return nil // no answer, and none is cached
		}
		for i, row := range rows {
			if score, ok := a.Score(row); count(ok) && score != scores[i] {
				return fmt.Errorf("%s of %s: score %d is kept, %d is right", name, c.Snapshot.Name(row), score, scores[i])
			}
			a.KeepScore(row, scores[i])
		}
	}
	return nil
}

// TestReuse: the declared reads of plugins are all that their answers depend on. Fields of
// pods, nodes and placed pods change one by one; every cached answer that is still valid must
// be the one that the plugin gives.
func TestReuse(t *testing.T) {
	total := map[string]*keptPlugin{}
	seeded.Check(t, func(rt *rapid.T) {
		g := gen{rt}
		chain := g.profile().columns(t)
		store := equivalence.New(equivalence.Config{Bytes: 1 << 20})
		var kept []*keptPlugin
		add := func(p plugin.Plugin) {
			if slices.ContainsFunc(kept, func(k *keptPlugin) bool { return k.Info().Name == p.Info().Name }) {
				return
			}
			if cache := store.PluginCache(p); cache != nil {
				kept = append(kept, &keptPlugin{Plugin: p, cache: cache})
			}
		}
		for _, f := range chain.Filters {
			add(f)
		}
		for _, s := range chain.Scores {
			add(s.Plugin)
		}
		cluster := plugintest.NewCluster()
		var nodes []*v1.Node
		for i := range 1 + g.number("nodes", 4) {
			nodes = append(nodes, g.node(i))
		}
		var placed []*v1.Pod
		pod := g.pod(0, len(nodes), false)
		for i := range 12 {
			switch g.number("step", 4) {
			case 0:
				placed = append(placed, g.pod(100+i, len(nodes), true))
			case 1:
				if len(placed) > 0 {
					placed = slices.Delete(placed, 0, 1)
				}
			case 2:
				at := g.number("node", len(nodes)-1)
				nodes[at] = g.changedNode(nodes[at], at)
			default:
				pod = g.changedPod(pod, len(nodes))
			}
			s := cluster.Snapshot(nodes, placed)
			if g.number("anew", 5) == 0 {
				slices.Reverse(nodes)
				s = cluster.Rebuild(nodes, placed)
			}
			c := newCycle(chain, s, state.NewPod(pod))
			for _, k := range kept {
				if err := k.compare(c, rowsOf(s)); err != nil {
					rt.Fatal(err)
				}
			}
			if i%5 == 4 {
				store.Trim(0)
			}
		}
		for _, k := range kept {
			if sum := total[k.Info().Name]; sum != nil {
				sum.held, sum.lost = sum.held+k.held, sum.lost+k.lost
			} else {
				total[k.Info().Name] = k
			}
		}
	})
	for _, name := range []string{
		"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "NodeResourcesBalancedAllocation",
		"NodeDeclaredFeatures", "ImageLocality",
	} {
		if k := total[name]; k == nil || k.held < k.lost/10 || k.lost < k.held/100 {
			t.Errorf("%s: %+v: want answers that held, and some that did not", name, k)
		}
	}
}

// changedNode returns a copy of a node with one property drawn again.
func (g gen) changedNode(n *v1.Node, i int) *v1.Node {
	out, other := n.DeepCopy(), g.node(i)
	switch g.number("of the node", 7) {
	case 0:
		out.Labels = other.Labels
	case 1:
		out.Spec.Taints = other.Spec.Taints
	case 2:
		out.Spec.Unschedulable = other.Spec.Unschedulable
	case 3:
		out.Status.Allocatable = other.Status.Allocatable
	case 4:
		out.Status.Images = other.Status.Images
	case 5:
		out.Status.DeclaredFeatures = other.Status.DeclaredFeatures
	case 6: // a heartbeat
		out.ResourceVersion += "1"
		out.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	default:
		return other
	}
	return out
}

// changedPod returns a copy of a pod with one property drawn again.
func (g gen) changedPod(p *v1.Pod, nodes int) *v1.Pod {
	out, other := p.DeepCopy(), g.pod(0, nodes, false)
	switch g.number("of the pod", 10) {
	case 0:
		out.Spec.Containers = other.Spec.Containers
	case 1:
		out.Spec.InitContainers = other.Spec.InitContainers
	case 2:
		out.Spec.Tolerations = other.Spec.Tolerations
	case 3:
		out.Spec.NodeSelector = other.Spec.NodeSelector
	case 4:
		out.Spec.Affinity = other.Spec.Affinity
	case 5:
		out.Spec.NodeName = other.Spec.NodeName
	case 6:
		out.Spec.Resources, out.Spec.Volumes = other.Spec.Resources, other.Spec.Volumes
	case 7:
		out.Spec.HostNetwork, out.Spec.HostUsers = other.Spec.HostNetwork, other.Spec.HostUsers
	case 8:
		out.Labels, out.Annotations = map[string]string{"app": g.value()}, map[string]string{"note": g.value()}
	case 9:
		priority := int32(g.number("priority", 3))
		out.Spec.Priority, out.Namespace = &priority, g.pick("namespace", "ns", "other")
	default: // the next pod of a template
		out.Name = fmt.Sprintf("q%d", g.number("name", 99))
		out.UID = types.UID(out.Name)
	}
	return out
}

// described is a plugin that has only an Info.
type described struct{ info plugin.Info }

func (d described) Info() *plugin.Info { return &d.info }

// TestKeyed: nothing is cached for plugins to which no two pods are alike, or whose answers
// depend on other nodes.
func TestKeyed(t *testing.T) {
	for _, test := range []struct {
		info plugin.Info
		want string
	}{
		{plugin.Info{Reads: plugin.Whole(abi.NodeLabels)}, "its answers for a node depend on other nodes"},
		{plugin.Info{Reads: plugin.Whole(abi.PodName), NodeScoped: []abi.Point{abi.Filter}}, "it reads the pod's name"},
		{plugin.Info{Reads: plugin.Whole(abi.NodeName, abi.IncomingUID), NodeScoped: []abi.Point{abi.Score}}, "it reads the pod's UID"},
		{plugin.Info{Reads: plugin.Whole(abi.PodWhole), NodeScoped: []abi.Point{abi.Score}}, "it reads the whole pod"},
		{plugin.Info{Reads: plugin.Whole(abi.IncomingLabels), NodeScoped: []abi.Point{abi.Score}}, ""},
	} {
		why, ok := test.info.Keyed()
		if why != test.want || ok != (test.want == "") {
			t.Errorf("%v: %q, %v, want %q", test.info.Reads, why, ok, test.want)
		}
		if kept := equivalence.New(equivalence.Default()).PluginCache(described{test.info}) != nil; kept != ok {
			t.Errorf("%v: kept %v", test.info.Reads, kept)
		}
	}
}
