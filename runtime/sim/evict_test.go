package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// ranked returns a pod with a priority, and a label with the first letter of its name.
func ranked(name string, cpu int64, priority int32) *v1.Pod {
	p := pod(name, cpu)
	p.Spec.Priority = &priority
	p.Labels = map[string]string{"app": name[:1]}
	p.ResourceVersion = "7" // as in exported files
	return p
}

func on(node string, p *v1.Pod) *v1.Pod {
	p.Spec.NodeName = node
	return p
}

func evictions(r *sim.Result) string {
	text := ""
	for _, e := range r.Evicted {
		text += fmt.Sprintf("%s from %s for %s at %v, placed at %v\n", e.Pod, e.Node, e.For, e.At, e.PlacedAt)
	}
	return text
}

// Pods that ran from the start, and one that was placed, make room. The preemptor is placed
// when their grace period is over.
func TestEvictions(t *testing.T) {
	quick := on("b", ranked("quick", 3, 0))
	quick.Spec.TerminationGracePeriodSeconds = new(int64)
	r := mustRun(t, sim.Config{
		Nodes: []*v1.Node{node("a", 4), node("b", 4), node("c", 4)},
		Bound: bound(on("a", ranked("slow", 4, 1)), quick),
		Arrivals: []input.Arrival{
			{Pod: ranked("placed", 4, 2)},
			{Pod: ranked("first", 3, 5), At: time.Minute}, {Pod: ranked("second", 3, 5), At: 2 * time.Minute}, {Pod: ranked("third", 3, 5), At: 3 * time.Minute},
		},
		Explain: types.NamespacedName{Namespace: "ns", Name: "placed"},
	})
	want(t, r, "first on b at 1m0s", "second on a at 2m30s", "third on c at 3m30s")
	const evicted = `quick from b for ns/first at 1m0s, placed at 0s
slow from a for ns/second at 2m0s, placed at 0s
placed from c for ns/third at 3m0s, placed at 0s
`
	if got := evictions(r); got != evicted {
		t.Errorf("evicted are\n%s", got)
	}
	if s := r.Summary; s.Pods != 4 || s.Scheduled != 3 || s.Evicted != 3 || s.Unschedulable != 0 {
		t.Errorf("the summary is %+v", s)
	}
	if e := r.Explanation; e == nil || e.Node != "c" || !e.Left || e.EvictedFor != "ns/third" {
		t.Errorf("the evicted pod is explained as %+v", e)
	}
	if u := r.Usage[0]; u.Requested != 9000 || u.Peak != 11000 {
		t.Errorf("usage is %+v", u)
	}
}

// TestNominated: a plugin that reads which pods are nominated to a node sees those that wait for room there, among them the pod itself,
// until they are placed.
func TestNominated(t *testing.T) {
	var seen []string
	c := &custom{filter: func(c *plugin.Cycle, row uint32) *plugin.Status {
		var names []string
		for _, slot := range c.Snapshot.Nodes.Nominated.Row(row) {
			names = append(names, c.Snapshot.Pods.Pod[slot].Name)
		}
		if row < uint32(c.Snapshot.Len()) {
			seen = append(seen, fmt.Sprint(c.Pod.Name, " ", names))
		}
		return nil
	}}
	run := func(reads ...plugin.Read) string {
		seen, c.info.Reads = nil, reads
		r := mustRun(t, sim.Config{
			Nodes: []*v1.Node{node("a", 4)}, Assembly: with("filter", c), Bound: bound(on("a", ranked("victim", 3, 0))),
			Arrivals: []input.Arrival{
				{Pod: ranked("high", 3, 5), At: time.Minute}, {Pod: ranked("small", 1, 1), At: time.Minute + time.Second},
				{Pod: ranked("last", 0, 1), At: time.Hour},
			},
		})
		want(t, r, "high on a at 1m30s", "small on a at 1m30s", "last on a at 1h0m0s")
		return strings.Join(seen, ", ")
	}
	if got := run(plugin.Read{Column: abi.NodeNominated}); got != "high [high small], small [small], last []" {
		t.Errorf("the plugin has seen %s", got)
	}
	if got := run(plugin.Read{Column: abi.NodeName}); got != "high [], small [], last []" {
		t.Errorf("a plugin that does not read it has seen %s", got)
	}
}

// A victim that waits at Permit is rejected, not deleted.
func TestWaitingPodIsNotEvicted(t *testing.T) {
	c := &custom{permit: func(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
		if p.Pod.Name == "waits" {
			return time.Hour, plugin.Directives{}, plugin.NewStatus(abi.Wait)
		}
		return 0, plugin.Directives{}, nil
	}}
	r := mustRun(t, sim.Config{
		Nodes: []*v1.Node{node("a", 4)}, Assembly: with("permit", c),
		Arrivals: []input.Arrival{{Pod: ranked("waits", 3, 1)}, {Pod: ranked("p", 3, 5), At: time.Minute, Until: 2 * time.Minute}},
		Attempts: 3,
	})
	if len(r.Evicted) != 0 || len(r.Placements) != 1 || r.Placements[0].At != time.Minute || len(r.Unschedulable) != 1 {
		t.Errorf("got\n%s\nand evicted\n%s", told(r), evictions(r))
	}
}

// A budget counts the pods that are on nodes and not terminating, as they come and go. It
// allows further evictions only when new pods have come.
func TestBudgets(t *testing.T) {
	budget := func(app string, set func(*policyv1.PodDisruptionBudgetSpec)) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: app}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		b.Status.DisruptionsAllowed = 9 // outdated
		set(&b.Spec)
		return b
	}
	number, percentage := intstr.FromInt32(1), intstr.FromString("50%")
	for name, test := range map[string]struct {
		set  func(*policyv1.PodDisruptionBudgetSpec)
		want string // nodes of the evicted pods
	}{
		// The pods on a are less important than the one on b.
		"minAvailable 1":     {func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = &number }, "a b"},
		"maxUnavailable 1":   {func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = &number }, "a b"},
		"minAvailable 50%":   {func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = &percentage }, "a b"},
		"maxUnavailable 50%": {func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = &percentage }, "a b"},
		"neither":            {func(*policyv1.PodDisruptionBudgetSpec) {}, "a a2"},
	} {
		r := mustRun(t, sim.Config{
			Nodes:                []*v1.Node{node("a", 3), node("a2", 3), node("b", 3)},
			Bound:                bound(on("a", ranked("x1", 3, 1)), on("a2", ranked("x2", 3, 2)), on("b", ranked("y", 3, 4))),
			PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{budget("x", test.set)},
			Arrivals:             []input.Arrival{{Pod: ranked("p1", 3, 5), At: time.Minute}, {Pod: ranked("p2", 3, 5), At: time.Minute}},
		})
		got := ""
		for _, e := range r.Evicted {
			got += " " + e.Node
		}
		if got != " "+test.want {
			t.Errorf("%s: evicted from%s, want %s\n%s", name, got, test.want, told(r))
		}
	}
}
