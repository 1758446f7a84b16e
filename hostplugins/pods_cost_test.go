package hostplugins_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/hostplugins/interpodaffinity"
	"github.com/berth-scheduler/berth/hostplugins/podtopologyspread"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// perNode is the number of pods per node of a populated cluster.
const perNode = 10

// apps is the number of different workloads.
const apps = 10

// populated is a cluster of three zones with perNode pods per node, of apps workloads whose
// pods all have affinity, anti-affinity or spread constraints.
func populated(nodes int) *plugintest.LiveCluster {
	w := plugintest.NewLiveCluster()
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}}
		n.Labels = map[string]string{hostname: n.Name, zone: fmt.Sprintf("zone-%d", i%3), "pool": fmt.Sprintf("pool-%d", i%10)}
		w.SetNode(n)
		for j := range perNode {
			w.SetPod(samplePod("mixed", i*perNode+j, n.Name))
		}
	}
	w.Update(false)
	return w
}

// samplePod is the i-th pod of a kind: spread over zones and hosts, close to its own app, apart
// from its own group, or a mixture of them.
func samplePod(kind string, i int, node string) *v1.Pod {
	app := fmt.Sprintf("app-%d", i%apps)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d-%s", kind, i, node), Labels: map[string]string{"app": app}}}
	p.UID = types.UID(p.Name)
	p.Spec.NodeName = node
	p.Spec.Containers = []v1.Container{{Name: "c"}}
	own := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	if kind == "mixed" {
		kind = [...]string{"spread", "affinity", "antiaffinity", "none"}[i/apps%4]
	}
	switch kind {
	case "spread":
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
			{MaxSkew: 5, TopologyKey: zone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: own},
			{MaxSkew: 1, TopologyKey: hostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: own},
		}
	case "affinity":
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: 10, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: zone, LabelSelector: own}},
		}}}
	case "antiaffinity":
		p.Labels["group"] = fmt.Sprintf("group-%d", i%100)
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{TopologyKey: hostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"group": p.Labels["group"]}}},
		}}}
	}
	return p
}

// counting is a plugin that reports what counting pods has cost.
type counting interface {
	plugin.PreFilter
	plugin.PreScore
	Work() tally.Work
}

// TestCostPerPod: once the index has read a cluster, scheduling a pod costs only what changed
// since the last one, whatever the size of the cluster.
func TestCostPerPod(t *testing.T) {
	const pods = 40
	measure := func(t *testing.T, name string, nodes int) tally.Work {
		var p profile
		p.withDefaults()
		made := p.plugin(t, name).(counting)
		w := populated(nodes)
		try := func(i int) {
			c := &plugin.Cycle{Context: context.Background(), Snapshot: w.Snapshot, Pod: state.NewPod(samplePod("mixed", i, "")), State: &state.CycleState{}}
			made.PreFilter(c)
			made.PreScore(c, rowsOf(w.Snapshot))
		}
		for i := range 4 * apps {
			try(i) // so that every kind of pod has been seen
		}
		before := made.Work()
		for i := range pods {
			w.SetPod(samplePod("mixed", 1000000+i, fmt.Sprintf("node-%d", 7*i%100)))
			w.Update(false)
			try(i)
		}
		after := made.Work()
		return tally.Work{Rows: after.Rows - before.Rows, Pods: after.Pods - before.Pods, Matches: after.Matches - before.Matches}
	}
	for _, name := range []string{podtopologyspread.Name, interpodaffinity.Name} {
		small, large := measure(t, name, 200), measure(t, name, 1600)
		if small != large {
			t.Errorf("%s: %d pods cost %+v on 200 nodes and %+v on 1,600", name, pods, small, large)
		}
		// A pod changes one row, whose pods are compared before and after, and is counted where
		// it matters. Only new groups are matched.
		if large.Rows > pods || large.Pods > pods*(2*perNode+20) || large.Matches > pods*apps {
			t.Errorf("%s: %d pods cost %+v", name, pods, large)
		}
	}
}

// TestCostOfHeartbeats: a node whose labels and taints are unchanged costs one comparison.
func TestCostOfHeartbeats(t *testing.T) {
	for _, name := range []string{podtopologyspread.Name, interpodaffinity.Name} {
		var p profile
		p.withDefaults()
		made := p.plugin(t, name).(counting)
		w := populated(100)
		try := func() {
			c := &plugin.Cycle{Context: context.Background(), Snapshot: w.Snapshot, Pod: state.NewPod(samplePod("spread", 0, "")), State: &state.CycleState{}}
			made.PreFilter(c)
			made.PreScore(c, rowsOf(w.Snapshot))
		}
		try()
		before := made.Work()
		for _, n := range w.Objects() {
			beat := n.Object.DeepCopy()
			beat.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
			w.SetNode(beat)
		}
		w.Update(false)
		try()
		if after := made.Work(); after.Rows-before.Rows != 100 || after.Pods != before.Pods || after.Matches != before.Matches {
			t.Errorf("%s: 100 heartbeats cost %+v after %+v", name, after, before)
		}
	}
}

// BenchmarkPods schedules one of 64 pods over all nodes, each of which has 10 pods, and places
// it, so that the next one sees a changed cluster.
func BenchmarkPods(b *testing.B) {
	for _, kind := range []string{"none", "spread", "affinity", "antiaffinity"} {
		for _, nodes := range []int{1000, 5000} {
			b.Run(fmt.Sprintf("pods=%s/nodes=%d", kind, nodes), func(b *testing.B) {
				var p profile
				p.withDefaults()
				chain := p.columns(b)
				only(chain, podtopologyspread.Name, interpodaffinity.Name)
				w := populated(nodes)
				var pods []*state.Pod
				for i := range 64 {
					pods = append(pods, state.NewPod(samplePod(kind, i, "")))
				}
				var r plugintest.Result
				for _, pod := range pods {
					chain.Run(w.Snapshot, pod, &r) // the first run reads the whole cluster
				}
				i := 0
				for b.Loop() {
					chain.Run(w.Snapshot, pods[i%len(pods)], &r)
					b.StopTimer()
					// The next pod replaces the previous one.
					w.SetPod(samplePod(kind, i%nodes, fmt.Sprintf("node-%d", i%nodes)))
					w.Update(false)
					b.StartTimer()
					i++
				}
			})
		}
	}
}
