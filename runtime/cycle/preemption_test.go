package cycle_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestPreemption holds the decision for a pod that fits nowhere against a naive
// search over the same objects: on every node where preemption may help, all sets
// of pods of lower priority are tried as victims.
//
//   - The victims on the nominated node are those whose leaving spares the most
//     important of the pods that a budget guards, then of the others.
//   - No node is better by any of kube-scheduler's criteria, in their order.
//   - With fewer candidates than nodes that is so among as many as were asked for,
//     from some node on.
func TestPreemption(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := drawCrowd(t)
		d := c.decide(t)
		if d.Node != nil {
			if !c.fits(d.Node.Name, c.on(d.Node.Name)) || len(d.Nomination.Preemption.Victims) > 0 {
				t.Fatalf("the pod goes to %s, with victims %v", d.Node.Name, d.Attempt.Victims)
			}
			return
		}
		want := c.search()
		got := outcome{node: d.Nomination.NominatedNode}
		for _, victim := range d.Nomination.Preemption.Victims {
			got.victims = append(got.victims, victim.Name)
		}
		if !slices.ContainsFunc(want, func(o outcome) bool { return o.node == got.node && slices.Equal(o.victims, got.victims) }) {
			t.Fatalf("got %+v (%s), want one of %+v", got, d.Attempt.Message, want)
		}
		if refused := c.ineligible() != ""; refused == d.Nomination.Override {
			t.Fatalf("ineligible: %v, but nomination %+v", refused, d.Nomination)
		}
		if why := c.ineligible(); !strings.HasSuffix(d.Attempt.Message, why) {
			t.Fatalf("the message is %q, want %q at its end", d.Attempt.Message, why)
		}
		c.checkCleared(t, d)
	})
}

// TestPreemptionStopsLooking: of candidates with violations no more are kept than
// asked for, while the search for one without goes on. So with one asked for, the
// first node is taken, even if it is the worse one.
func TestPreemptionStopsLooking(t *testing.T) {
	taken := map[string]bool{}
	seeded.Check(t, func(t *rapid.T) {
		c := &crowd{seed: rapid.Uint64().Draw(t, "seed")}
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "x"}}
		c.budgets = append(c.budgets, b)
		for i := range 2 {
			n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}}
			n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: cores(2), v1.ResourcePods: cores(9)}
			c.nodes = append(c.nodes, n)
			p := drawMember(t, "on-"+n.Name, 2, 2)
			p.Spec.NodeName, p.Spec.Priority, p.Labels = n.Name, new(int32(i)), map[string]string{"a": "x"}
			c.pods = append(c.pods, p)
		}
		c.pod = drawMember(t, "p", 1, 1)
		c.pod.Spec.Priority = new(int32(5))
		c.args.MinCandidateNodesPercentage, c.args.MinCandidateNodesAbsolute = new(int32(0)), new(int32(1))
		taken[c.decide(t).Nomination.NominatedNode] = true
	})
	if !taken["n0"] || !taken["n1"] {
		t.Errorf("only %v are ever taken", taken)
	}
}

// outcome is a node and the pods that have to leave it, in order.
type outcome struct {
	node    string
	victims []string
}

// crowd is a small cluster that is rather full.
type crowd struct {
	nodes     []*v1.Node
	pods      []*v1.Pod // on nodes
	nominated []*v1.Pod
	pod       *v1.Pod
	budgets   []*policyv1.PodDisruptionBudget
	args      configv1.DefaultPreemptionArgs
	seed      uint64
}

func (c *crowd) List() ([]*policyv1.PodDisruptionBudget, error) { return c.budgets, nil }

func drawCrowd(t *rapid.T) *crowd {
	small := func(label string, from, to int) int { return rapid.IntRange(from, to).Draw(t, label) }
	c := &crowd{seed: rapid.Uint64().Draw(t, "seed")}
	for i := range small("nodes", 1, 4) {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: cores(small("cpu", 3, 8)), v1.ResourcePods: cores(small("room", 3, 6))}
		c.nodes = append(c.nodes, n)
		for j := range small("pods", 2, 5) {
			p := drawMember(t, fmt.Sprintf("n%d-%d", i, j), 1, 3)
			p.Spec.NodeName = n.Name
			if small("ending", 0, 15) == 0 {
				p.DeletionTimestamp = &metav1.Time{}
				p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler}}
			}
			c.pods = append(c.pods, p)
		}
		for j := range max(0, small("nominated", -3, 2)) {
			p := drawMember(t, fmt.Sprintf("nominated%d-%d", i, j), 1, 3)
			p.Status.NominatedNodeName = n.Name
			c.nominated = append(c.nominated, p)
		}
	}
	for i := range small("budgets", 0, 3) {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint(i)}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for range small("terms", 0, 2) {
			b.Spec.Selector.MatchLabels[rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")] = "x"
		}
		b.Status.DisruptionsAllowed = int32(small("allowed", 0, 1))
		if name := rapid.SampledFrom([]string{"", "n0-0", "n0-1"}).Draw(t, "disrupted"); name != "" {
			b.Status.DisruptedPods = map[string]metav1.Time{name: {}}
		}
		c.budgets = append(c.budgets, b)
	}
	c.pod = drawMember(t, "p", 2, 6)
	*c.pod.Spec.Priority += int32(small("importance", 0, 2))
	if small("never", 0, 15) == 0 {
		c.pod.Spec.PreemptionPolicy = new(v1.PreemptNever)
	}
	c.pod.Status.NominatedNodeName = rapid.SampledFrom([]string{"", "", "n0", "gone"}).Draw(t, "nomination")
	c.args.MinCandidateNodesPercentage = new(int32(rapid.SampledFrom([]int{0, 30, 100}).Draw(t, "percentage")))
	c.args.MinCandidateNodesAbsolute = new(int32(small("absolute", 1, 3)))
	return c
}

func cores(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

func drawMember(t *rapid.T, name string, least, most int) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{}}}
	p.Spec.Priority = new(rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, 2}).Draw(t, "priority"))
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: cores(rapid.IntRange(least, most).Draw(t, "request")),
	}}}}
	for _, key := range []string{"a", "b"} {
		if rapid.Bool().Draw(t, "label") {
			p.Labels[key] = "x"
		}
	}
	if at := rapid.Int64Range(0, 3).Draw(t, "started"); at > 0 {
		p.Status.StartTime = &metav1.Time{Time: time.Unix(at, 0)}
	}
	return p
}

// decide runs the pod through a cycle with the native plugins.
func (c *crowd) decide(t *rapid.T) cycle.Decision {
	profile := pipeline.Config{Profile: "default", Points: map[abi.Point][]pipeline.Entry{}}
	add := func(p plugin.Plugin, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range plugin.Points(p) {
			profile.Points[point] = append(profile.Points[point], pipeline.Entry{Plugin: p})
		}
	}
	registry := hostplugins.All(hostplugins.Deps{Budgets: c})
	add(registry.New("PrioritySort", nil))
	add(registry.New("NodeResourcesFit", nil))
	add(registry.New("DefaultPreemption", &c.args))
	bind, err := fake.Declare("Bind", scenario.MustParse("bind="), fake.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	profile.Points[abi.Bind] = []pipeline.Entry{{Plugin: bind}}
	workers, _ := pipeline.NewWorkers(1)
	defer workers.Close()
	p, err := pipeline.New(profile, pipeline.Deps{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	infos, slot := []*state.NodeInfo{}, uint32(0)
	promised := nominations{pods: map[string][]*state.Pod{}}
	for i, node := range c.nodes {
		info := &state.NodeInfo{Name: node.Name, Node: state.NewNode(node), ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1)}
		for _, pod := range c.on(node.Name) {
			info.AddPod(state.PlacedPod{Pod: state.NewPod(pod), Slot: slot, Generation: uint64(slot + 1)})
			slot++
		}
		infos = append(infos, info)
		for _, pod := range c.promised(node.Name) {
			if len(promised.pods[node.Name]) == 0 {
				promised.nodes = append(promised.nodes, node.Name)
			}
			promised.pods[node.Name] = append(promised.pods[node.Name], state.NewPod(pod))
		}
	}
	snapshot := state.NewSnapshot()
	snapshot.Rebuild(infos)
	return cycle.New(cycle.Config{}).Schedule(cycle.Input{
		Context: context.Background(), Snapshot: snapshot, Pod: &state.QueuedPod{Pod: state.NewPod(c.pod), Attempts: 1},
		Pipeline: p, Nominations: &promised, Seed: c.seed, Sequence: 1,
	})
}

func (c *crowd) on(node string) []*v1.Pod {
	return slices.DeleteFunc(slices.Clone(c.pods), func(p *v1.Pod) bool { return p.Spec.NodeName != node })
}

func (c *crowd) promised(node string) []*v1.Pod {
	return slices.DeleteFunc(slices.Clone(c.nominated), func(p *v1.Pod) bool { return p.Status.NominatedNodeName != node })
}

func (c *crowd) node(name string) *v1.Node {
	return c.nodes[slices.IndexFunc(c.nodes, func(n *v1.Node) bool { return n.Name == name })]
}

func cpu(p *v1.Pod) int64 { return p.Spec.Containers[0].Resources.Requests.Cpu().Value() }

// fits says whether the pod joins others, also when those come who were promised
// the node and are not less important.
func (c *crowd) fits(name string, others []*v1.Pod) bool {
	node := c.node(name)
	for _, p := range c.promised(name) {
		if *p.Spec.Priority >= *c.pod.Spec.Priority {
			others = append(slices.Clip(others), p)
		}
	}
	used := cpu(c.pod)
	for _, p := range others {
		used += cpu(p)
	}
	return used <= node.Status.Allocatable.Cpu().Value() && int64(len(others)+1) <= node.Status.Allocatable.Pods().Value()
}

// helpless says whether the pod would not fit into the empty node.
func (c *crowd) helpless(name string) bool {
	return cpu(c.pod) > c.node(name).Status.Allocatable.Cpu().Value()
}

func (c *crowd) ineligible() string {
	if c.pod.Spec.PreemptionPolicy != nil {
		return "preemption: not eligible due to preemptionPolicy=Never."
	}
	nominated := c.pod.Status.NominatedNodeName
	for _, p := range c.on(nominated) {
		if p.DeletionTimestamp != nil && *p.Spec.Priority < *c.pod.Spec.Priority && !c.helpless(nominated) {
			return "preemption: not eligible due to a terminating pod on the nominated node."
		}
	}
	return ""
}

// plan is what a preemption on a node costs.
type plan struct {
	outcome
	violations int
	pods       []*v1.Pod
}

// search returns the outcomes that are allowed.
func (c *crowd) search() (out []outcome) {
	var names []string
	for _, node := range c.nodes {
		if !c.helpless(node.Name) {
			names = append(names, node.Name)
		}
	}
	if len(names) == 0 || c.ineligible() != "" {
		return []outcome{{}}
	}
	enough := min(max(len(names)*int(*c.args.MinCandidateNodesPercentage)/100, int(*c.args.MinCandidateNodesAbsolute)), len(names))
	for offset := range names {
		var plans []plan
		violating, sound := 0, 0 // of the former, no more are kept than asked for
		for i := range names {
			p, ok := c.plan(names[(offset+i)%len(names)])
			switch {
			case !ok || p.violations > 0 && violating == enough:
				continue
			case p.violations > 0:
				violating++
			default:
				sound++
			}
			if plans = append(plans, p); sound > 0 && len(plans) >= enough {
				break
			}
		}
		if len(plans) == 0 {
			return []outcome{{}}
		}
		for _, p := range best(plans) {
			out = append(out, p.outcome)
		}
	}
	return out
}

// plan tries every set of victims on a node.
func (c *crowd) plan(name string) (plan, bool) {
	var lower, rest []*v1.Pod
	for _, p := range c.on(name) {
		if *p.Spec.Priority < *c.pod.Spec.Priority {
			lower = append(lower, p)
		} else {
			rest = append(rest, p)
		}
	}
	slices.SortFunc(lower, important)
	guarded := c.guarded(lower)
	order := slices.Clone(lower) // in which pods are spared
	slices.SortStableFunc(order, func(a, b *v1.Pod) int { return boolInt(guarded[b]) - boolInt(guarded[a]) })
	most := -1 // as a number whose highest bit is the first pod
	for kept := range 1 << len(order) {
		others := slices.Clone(rest)
		for i, p := range order {
			if kept>>(len(order)-1-i)&1 == 1 {
				others = append(others, p)
			}
		}
		if c.fits(name, others) {
			most = max(most, kept)
		}
	}
	if most < 0 || len(lower) == 0 {
		return plan{}, false
	}
	out := plan{outcome: outcome{node: name}}
	for i, p := range order {
		if most>>(len(order)-1-i)&1 == 0 {
			out.pods = append(out.pods, p)
			out.violations += boolInt(guarded[p])
		}
	}
	slices.SortFunc(out.pods, important)
	for _, p := range out.pods {
		out.victims = append(out.victims, p.Name)
	}
	return out, true
}

// guarded is the pods that a budget has no disruption left for, when all of them
// are disrupted in order. The first such budget of a pod ends it: those after it
// do not count that pod.
func (c *crowd) guarded(pods []*v1.Pod) map[*v1.Pod]bool {
	out := map[*v1.Pod]bool{}
	left := make([]int32, len(c.budgets))
	for i, b := range c.budgets {
		left[i] = b.Status.DisruptionsAllowed
	}
	for _, p := range pods {
		for i, b := range c.budgets {
			selected := len(b.Spec.Selector.MatchLabels) > 0
			for key := range b.Spec.Selector.MatchLabels {
				selected = selected && p.Labels[key] == "x"
			}
			if _, counted := b.Status.DisruptedPods[p.Name]; !selected || counted {
				continue
			}
			if left[i]--; left[i] < 0 {
				out[p] = true
				break
			}
		}
	}
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func startOf(p *v1.Pod) int64 {
	if p.Status.StartTime == nil {
		return math.MaxInt64
	}
	return p.Status.StartTime.Unix()
}

func important(a, b *v1.Pod) int {
	return cmp.Or(cmp.Compare(*b.Spec.Priority, *a.Spec.Priority), cmp.Compare(startOf(a), startOf(b)), cmp.Compare(a.Name, b.Name))
}

// best keeps the plans that cost the least by one criterion after the other.
func best(plans []plan) []plan {
	for _, cost := range []func(p plan) int64{
		func(p plan) int64 { return int64(p.violations) },
		func(p plan) int64 { return int64(*p.pods[0].Spec.Priority) },
		func(p plan) (sum int64) {
			for _, pod := range p.pods {
				sum += int64(*pod.Spec.Priority) + 1<<31
			}
			return sum
		},
		func(p plan) int64 { return int64(len(p.pods)) },
		func(p plan) int64 { return -startOf(p.pods[0]) },
	} {
		least := int64(math.MaxInt64)
		for _, p := range plans {
			least = min(least, cost(p))
		}
		plans = slices.DeleteFunc(slices.Clone(plans), func(p plan) bool { return cost(p) > least })
	}
	return plans
}

// checkCleared: those lose a nomination who are less important and were
// promised that node.
func (c *crowd) checkCleared(t *rapid.T, d cycle.Decision) {
	var want []types.UID
	for _, p := range c.promised(d.Nomination.NominatedNode) {
		if *p.Spec.Priority < *c.pod.Spec.Priority {
			want = append(want, p.UID)
		}
	}
	if d.Nomination.NominatedNode == "" {
		want = nil
	}
	if got := d.Nomination.Preemption.ClearNominations; !slices.Equal(got, want) {
		t.Fatalf("nominations cleared: %v, want %v", got, want)
	}
}
