package whatif_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/report/reporttest"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestExplain: a pod that does not fit is explained, with the smallest change that a simulation confirms.
func TestExplain(t *testing.T) {
	taint := func(key string) func(*v1.Node) {
		return func(n *v1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: "x", Effect: v1.TaintEffectNoSchedule})
		}
	}
	label := func(key, value string) func(*v1.Node) { return func(n *v1.Node) { n.Labels[key] = value } }
	changed := func(name, cpu string, change ...func(*v1.Node)) *v1.Node {
		n := node(name, cpu)
		for _, c := range change {
			c(n)
		}
		return n
	}
	selects := func(key, value string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.NodeSelector = map[string]string{key: value}
		}
	}
	needs := func(key string, values ...string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}}}},
			}}}
		}
	}
	for _, c := range []struct {
		name  string
		nodes []*v1.Node
		pod   *v1.Pod
		want  string // the dominant reason, and the change as JSON
	}{
		{"taint", []*v1.Node{changed("a", "4", taint("gpu")), changed("b", "4", taint("gpu")), node("c", "1")}, pod("p", "2", 0),
			`2 TaintToleration {"kind":"AddToleration","node":"NODE","toleration":{"key":"gpu","value":"x","effect":"NoSchedule"}}`},
		{"cordoned", []*v1.Node{changed("a", "4", func(n *v1.Node) { n.Spec.Unschedulable = true })}, pod("p", "2", 0),
			`1 NodeUnschedulable {"kind":"AddToleration","node":"a","toleration":{"key":"node.kubernetes.io/unschedulable","value":"","effect":"NoSchedule"}}`},
		{"two taints", []*v1.Node{changed("a", "4", taint("gpu"), taint("night"))}, pod("p", "2", 0), `1 TaintToleration null`},
		{"selector", []*v1.Node{changed("a", "4", label("disk", "hdd"))}, pod("p", "2", 0, selects("disk", "ssd")),
			`1 NodeAffinity {"kind":"RemoveSelector","node":"a","selector":{"key":"disk"}}`},
		{"affinity", []*v1.Node{changed("a", "4", label("disk", "hdd"))}, pod("p", "2", 0, needs("disk", "ssd", "nvme")),
			`1 NodeAffinity {"kind":"RemoveSelector","node":"a","selector":{"key":"disk"}}`},
		{"request", []*v1.Node{node("a", "4"), node("b", "3")}, pod("p", "6", 0),
			`2 NodeResourcesFit {"kind":"LowerRequest","node":"a","request":{"container":"c","resource":"cpu","from":"6","to":"4"}}`},
		{"selector beside affinity", []*v1.Node{changed("a", "4", label("disk", "ssd"), taint("gpu")), changed("b", "4", label("zone", "z"))},
			pod("p", "2", 0, selects("disk", "ssd"), needs("zone", "z")),
			`1 TaintToleration {"kind":"RemoveSelector","node":"b","selector":{"key":"disk"}}`},
		{"label", []*v1.Node{changed("a", "4", label("disk", "hdd")), node("b", "1")},
			pod("p", "2", 0, selects("disk", "ssd"), func(p *v1.Pod) {
				p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "disk", WhenUnsatisfiable: v1.DoNotSchedule}}
				p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
					NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}}}}},
				}}}
			}),
			`2 NodeAffinity {"kind":"LabelNode","node":"a","label":{"node":"a","key":"disk","value":"ssd"}}`},
		{"nothing", []*v1.Node{changed("a", "1", taint("gpu"))}, pod("p", "2", 0), `1 TaintToleration null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := full()
			cluster.Nodes, cluster.Bound = c.nodes, nil
			a := ask(t, cluster, &whatif.Request{Explain: true, Pods: []whatif.Pods{{Pod: c.pod, Count: 2}}})
			if len(a.Explanations) != 1 {
				t.Fatalf("%d explanations", len(a.Explanations))
			}
			e := a.Explanations[0]
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			reporttest.Validate(t, text)
			if e.Change != nil && c.name == "taint" { // either node
				e.Change.Node = "NODE"
			}
			change, err := json.Marshal(e.Change)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%d %s %s", e.Dominant.Nodes, e.Dominant.Plugin, change); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if e.Code != report.DoesNotFit || e.Nodes != len(c.nodes) || e.Message == "" {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestExplainBeside: pods that fit take their room first, and nothing is looked for unless it is asked for.
func TestExplainBeside(t *testing.T) {
	cluster := full()
	n := node("c", "4")
	n.Labels["disk"] = "hdd"
	cluster.Nodes = []*v1.Node{cluster.Nodes[0], n}
	first := pod("first", "2", 100)
	a := ask(t, cluster, &whatif.Request{Explain: true, Pods: []whatif.Pods{{Pod: first}, {Pod: pod("large", "4", 0)}}})
	if len(a.Explanations) != 1 || a.Explanations[0].Name != "large" {
		t.Fatalf("%+v", a)
	}
	if c := a.Explanations[0].Change; c == nil || c.Request == nil || c.Request.To != "2" || c.Node != "c" {
		t.Errorf("%+v", c)
	}
	if a := ask(t, cluster, &whatif.Request{Pods: []whatif.Pods{{Pod: pod("large", "9", 0)}}}); a.Explanations != nil {
		t.Errorf("%+v", a.Explanations)
	}
}

// TestExplainHugePod: what is copied to explain a pod does not grow with the square of its size, or with
// the cluster.
func TestExplainHugePod(t *testing.T) {
	selecting := pod("p", "1", 0)
	selecting.Spec.NodeSelector = map[string]string{}
	for i := range 4000 {
		selecting.Spec.NodeSelector[fmt.Sprint("k", i)] = "x"
	}
	containers := func(cpu string) *v1.Pod {
		p := pod("p", cpu, 0)
		for i := range 1000 {
			c := p.Spec.Containers[0].DeepCopy()
			c.Name = fmt.Sprint("c", i)
			p.Spec.Containers = append(p.Spec.Containers, *c)
		}
		return p
	}
	labelled := containers("1m")
	labelled.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	cluster := func(n int, cpu string) *whatif.Cluster {
		c := &whatif.Cluster{Scheduler: full().Scheduler}
		for i := range n {
			c.Nodes = append(c.Nodes, node(fmt.Sprint("n", i), cpu))
		}
		return c
	}
	for name, c := range map[string]struct {
		cluster *whatif.Cluster
		pod     *v1.Pod
		kind    report.ChangeKind
	}{
		"selectors": {cluster(1, "4"), selecting, ""},
		"labels":    {cluster(1000, "4"), labelled, report.RemoveSelector},
		"requests":  {cluster(1, "1000500m"), containers("1"), report.LowerRequest},
	} {
		t.Run(name, func(t *testing.T) {
			r := &whatif.Request{Pods: []whatif.Pods{{Pod: c.pod, Count: 1}}, Explain: true}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answer, err := c.cluster.Ask(t.Context(), r)
			runtime.ReadMemStats(&after)
			if err != nil || len(answer.Explanations) != 1 {
				t.Fatalf("%+v, %v", answer, err)
			}
			got := report.ChangeKind("")
			if change := answer.Explanations[0].Change; change != nil {
				got = change.Kind
			}
			if used := after.TotalAlloc - before.TotalAlloc; got != c.kind || used > 128<<20 {
				t.Errorf("%q, %d bytes allocated", got, used)
			}
		})
	}
}
