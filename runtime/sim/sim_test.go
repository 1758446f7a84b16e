package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

func quantity(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }

func node(name string, cpu int64) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: quantity(cpu), v1.ResourcePods: quantity(10)}},
	}
}

func pod(name string, cpu int64) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: quantity(cpu)}}}}
	return p
}

func gated(p *v1.Pod) *v1.Pod {
	p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "quota"}}
	return p
}

func bound(pods ...*v1.Pod) (out []*state.Pod) {
	for _, p := range pods {
		out = append(out, state.NewPod(p))
	}
	return out
}

func arrivals(pods ...*v1.Pod) (out []input.Arrival) {
	for _, p := range pods {
		out = append(out, input.Arrival{Pod: p})
	}
	return out
}

// told summarizes the result: pod, node or message, and time.
func told(r *sim.Result) string {
	var out []string
	for _, p := range r.Placements {
		out = append(out, fmt.Sprintf("%s on %s at %v", p.Pod, p.Node, p.At))
	}
	for _, p := range r.Unschedulable {
		out = append(out, p.Pod+": "+p.Message)
	}
	return strings.Join(out, "\n")
}

func want(t *testing.T, r *sim.Result, lines ...string) {
	t.Helper()
	if got := told(r); got != strings.Join(lines, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
	}
}

// custom is a plugin at Filter and Permit, for behaviour that native plugins do not have.
type custom struct {
	info   plugin.Info
	filter func(c *plugin.Cycle, row uint32) *plugin.Status
	permit func(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status)
}

func (c *custom) Info() *plugin.Info { return &c.info }

func (c *custom) Filter(cycle *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	plugin.PerNodeFilter(cycle, rows, out, c.filter)
}

func (c *custom) Permit(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	return c.permit(p)
}

// with returns a configuration with the default profile and a custom plugin at a point.
func with(point string, c *custom) assembly.Config {
	c.info.Name = "Custom"
	s := assembly.Default()
	ref := s.Profiles[0].Points["bind"][0]
	ref.Name, ref.Weight = "Custom", 0
	s.Profiles[0].Points[point] = append(slices.Clone(s.Profiles[0].Points[point]), ref)
	return assembly.Config{Scheduler: s, Plugins: plugin.Registry{"Custom": func(any) (plugin.Plugin, error) { return c, nil }}}
}

// A pod waits for a day, through many flushes of the queue, for another to leave.
func TestWaitsForADeparture(t *testing.T) {
	r := mustRun(t, sim.Config{
		Nodes:    []*v1.Node{node("a", 4)},
		Arrivals: []input.Arrival{{Pod: pod("first", 3), Until: 24 * time.Hour}, {Pod: pod("second", 3), At: time.Hour}},
		Explain:  types.NamespacedName{Namespace: "ns", Name: "first"},
	})
	want(t, r, "first on a at 0s", "second on a at 24h0m0s")
	if r.Summary.Attempts != 3 {
		t.Errorf("%d attempts, want 3: time must not stop at every flush", r.Summary.Attempts)
	}
	if e := r.Explanation; e == nil || e.Node != "a" || !e.Left || e.FailedTries != 0 || e.Attempt == nil {
		t.Errorf("the pod that left is explained as %+v", e)
	}
	if u := r.Usage[0]; u.Resource != v1.ResourceCPU || u.Requested != 3000 || u.Peak != 3000 || u.Allocatable != 4000 {
		t.Errorf("usage is %+v", u)
	}
}

// Pods that leave without having been placed are in the result, with the reason.
func TestLeavesUnplaced(t *testing.T) {
	r := mustRun(t, sim.Config{
		Nodes: []*v1.Node{node("a", 4)},
		Arrivals: []input.Arrival{
			{Pod: pod("big", 9), Until: time.Minute}, {Pod: gated(pod("held", 1)), Until: time.Minute}, {Pod: gated(pod("held-on", 1))},
		},
		Explain: types.NamespacedName{Namespace: "ns", Name: "held"},
	})
	want(t, r,
		"big: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
		"held: waiting for scheduling gates: [quota]",
		"held-on: waiting for scheduling gates: [quota]")
	if e := r.Explanation; e == nil || e.Attempt != nil || !e.Left || e.Message == "" {
		t.Errorf("the gated pod is explained as %+v", e)
	}
}

// An attempt that ends with an error is repeated, but not forever.
func TestErrorsEnd(t *testing.T) {
	var answered []int
	c := sim.Config{
		Nodes: []*v1.Node{node("a", 4)}, Arrivals: arrivals(pod("p", 1), pod("q", 1)),
		Assembly: with("filter", &custom{filter: func(*plugin.Cycle, uint32) *plugin.Status { return plugin.Fail(errors.New("no answer")) }}),
		Progress: func(n int) { answered = append(answered, n) },
		Explain:  types.NamespacedName{Namespace: "ns", Name: "p"},
	}
	r := mustRun(t, c)
	if r.Summary.Attempts != 20 || r.Summary.Unschedulable != 2 || !strings.Contains(r.Unschedulable[0].Message, "no answer") {
		t.Errorf("got %+v and\n%s", r.Summary, told(r))
	}
	if !slices.Equal(answered, []int{1, 2}) {
		t.Errorf("progress was told %v", answered)
	}
	if e := r.Explanation; e == nil || e.FailedTries != 10 || e.Message == "" {
		t.Errorf("the explanation is %+v", e)
	}
	c.Attempts, c.Progress = 3, nil
	if r := mustRun(t, c); r.Summary.Attempts != 6 {
		t.Errorf("%d attempts, want 3 for each of 2 pods", r.Summary.Attempts)
	}
}

// Answered is called once per pod, with its first answer and its node.
func TestAnswered(t *testing.T) {
	var told []string
	r := mustRun(t, sim.Config{
		Nodes: []*v1.Node{node("a", 4)}, Arrivals: arrivals(pod("p", 3), pod("q", 3), pod("r", 1)),
		Answered: func(pod *state.Pod, node string) { told = append(told, pod.Name+" "+node+" "+pod.NodeName()) },
	})
	if want := []string{"p a a", "q  ", "r a a"}; !slices.Equal(told, want) || r.Summary.Scheduled != 2 {
		t.Errorf("it was called with %q, want %q", told, want)
	}
}

// A pod that was set aside after many errors is retried when the cluster changes, even long
// after.
func TestErrorsEndAndChangeHelps(t *testing.T) {
	busy := func(c *plugin.Cycle, row uint32) *plugin.Status {
		if c.Pod.Name == "p" && c.Snapshot.Nodes.Resources[state.CPU].Requested[row] > 0 {
			return plugin.Fail(errors.New("no answer"))
		}
		return nil
	}
	r := mustRun(t, sim.Config{
		Nodes:    []*v1.Node{node("a", 4)},
		Assembly: with("filter", &custom{filter: busy}),
		Arrivals: []input.Arrival{{Pod: pod("other", 1), Until: 100 * time.Hour}, {Pod: pod("p", 1), At: time.Hour}},
	})
	want(t, r, "other on a at 0s", "p on a at 100h0m0s")
	if r.Summary.Attempts != 12 {
		t.Errorf("%d attempts, want 12", r.Summary.Attempts)
	}
}

// A pod that waits at Permit keeps its assumed resources until the wait is over.
func TestPermitWaitEnds(t *testing.T) {
	c := &custom{permit: func(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
		if p.Pod.Name == "waits" {
			return time.Minute, plugin.Directives{}, plugin.NewStatus(abi.Wait)
		}
		return 0, plugin.Directives{}, nil
	}}
	r := mustRun(t, sim.Config{
		Nodes: []*v1.Node{node("a", 4)}, Assembly: with("permit", c),
		Arrivals: []input.Arrival{{Pod: pod("waits", 3)}, {Pod: pod("next", 3), At: time.Second}},
	})
	want(t, r, "next on a at 1m0s", "waits: 0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at plugin Custom.")
	// A pod that leaves while it waits is in the result too.
	r = mustRun(t, sim.Config{
		Nodes: []*v1.Node{node("a", 4)}, Assembly: with("permit", c),
		Arrivals: []input.Arrival{{Pod: pod("waits", 3), Until: time.Second}},
	})
	if len(r.Unschedulable) != 1 || r.Unschedulable[0].Message == "" || r.Usage[0].Requested != 0 {
		t.Errorf("got\n%s\nand usage %+v", told(r), r.Usage)
	}
}

// TestRetryAfter: a pod is tried again when a plugin asks for it, before the next arrival and after the last event, but not for ever.
func TestRetryAfter(t *testing.T) {
	opens := int64(200)
	c := &custom{filter: func(c *plugin.Cycle, _ uint32) *plugin.Status {
		if c.Pod.Name != "early" || c.Now-sim.DefaultStart().Unix() >= opens {
			return nil
		}
		c.State.RetryAfter("Custom", 90*time.Second)
		return plugin.NewStatus(abi.Unschedulable, "too early")
	}}
	run := func() *sim.Result {
		return mustRun(t, sim.Config{
			Nodes: []*v1.Node{node("a", 4)}, Assembly: with("filter", c), Flush: true,
			Arrivals: []input.Arrival{{Pod: pod("early", 1)}, {Pod: pod("late", 1), At: time.Hour}},
		})
	}
	want(t, run(), "early on a at 4m30s", "late on a at 1h0m0s")
	opens = 5000
	want(t, run(), "early on a at 1h24m0s", "late on a at 1h0m0s")
	opens = math.MaxInt64
	r := run()
	want(t, r, "late on a at 1h0m0s", "early: 0/1 nodes are available: 1 too early. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")
	if r.Summary.Attempts < 80 || r.Summary.Attempts > 90 { // one in 90 s for two hours
		t.Errorf("%d attempts", r.Summary.Attempts)
	}
}

// Bound pods on nodes that do not exist are not counted, and block no pod.
func TestBoundPods(t *testing.T) {
	ghost, here := pod("ghost", 3), pod("here", 3)
	ghost.Spec.NodeName, here.Spec.NodeName = "gone", "a"
	r := mustRun(t, sim.Config{Nodes: []*v1.Node{node("a", 4), node("b", 4)}, Bound: bound(ghost, here), Arrivals: arrivals(pod("p", 3), pod("q", 3))})
	want(t, r, "p on b at 0s", "q: 0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.")
	if r.Summary.Nodes != 2 || r.Summary.Pods != 2 || r.Usage[0].Requested != 6000 {
		t.Errorf("got %+v, %+v", r.Summary, r.Usage)
	}
}

// Plugins see the labels of namespaces from the first attempt, and no labels for a namespace
// that is not in the input.
func TestNamespaces(t *testing.T) {
	var seen []string
	look := func(c *plugin.Cycle, _ uint32) *plugin.Status {
		s := c.Snapshot
		text := c.Pod.Name + ":"
		if row, ok := s.NamespaceRow(c.Pod.Namespace); ok {
			for _, p := range s.Namespaces.Labels.Row(row) {
				text += fmt.Sprintf(" %s=%s", s.Strings.String(p.Key), s.Strings.String(p.Value))
			}
		}
		seen = append(seen, text)
		return nil
	}
	elsewhere := pod("q", 1)
	elsewhere.Namespace = "elsewhere"
	mustRun(t, sim.Config{
		Namespaces: []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, {ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"team": "a"}}}},
		Nodes:      []*v1.Node{node("a", 4)}, Assembly: with("filter", &custom{filter: look}), Arrivals: arrivals(pod("p", 1), elsewhere),
	})
	if !slices.Equal(seen, []string{"p: team=a", "q:"}) {
		t.Errorf("the plugin saw %q", seen)
	}
}

func TestRefuses(t *testing.T) {
	other := func(name, scheduler string) *v1.Pod {
		p := pod(name, 1)
		p.Spec.SchedulerName = scheduler
		return p
	}
	for name, c := range map[string]struct {
		config sim.Config
		want   string
	}{
		"profiles": {
			sim.Config{
				Arrivals: arrivals(other("a", "x"), pod("b", 1), other("c", "x"), other("d", "y"), other("e", "x")),
				Where:    func(p *v1.Pod) string { return p.Name + ".yaml:7" },
			},
			`a.yaml:7: pod ns/a: spec.schedulerName: no profile is named "x", which 2 more pods ask for (write "default-scheduler", or add a profile to the configuration)` + "\n" +
				`d.yaml:7: pod ns/d: spec.schedulerName: no profile is named "y" (write "default-scheduler", or add a profile to the configuration)`,
		},
		"twins": {
			sim.Config{Arrivals: arrivals(pod("a", 1)), Bound: bound(pod("a", 2))},
			`pod ns/a: metadata.uid: "a" is empty or the UID of another pod (give every pod a UID of its own)`,
		},
		"order": {
			sim.Config{Arrivals: []input.Arrival{{Pod: pod("a", 1), At: 2}, {Pod: pod("b", 1), At: 1}}},
			`pod ns/b: it arrives at 1ns, after a pod that arrives at 2ns (sort the arrivals by time)`,
		},
		"times": {
			sim.Config{Arrivals: []input.Arrival{{Pod: pod("a", 1), At: 2, Until: 2}}},
			`pod ns/a: it arrives at 2ns and leaves at 2ns (let it leave later)`,
		},
		"workers": {sim.Config{Assembly: assembly.Config{Workers: -1}}, "the number of workers must be at least 1"},
	} {
		if _, err := sim.New(c.config); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v\nwant %s", name, err, c.want)
		}
	}
}

// An interrupted run returns the result so far and the error; a pod of Explain that has not
// arrived has no explanation.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := sim.Config{
		Nodes:    []*v1.Node{node("a", 4)},
		Arrivals: append(arrivals(pod("p", 1), pod("q", 1)), input.Arrival{Pod: pod("late", 1), At: time.Hour}),
		Progress: func(int) { cancel(errors.New("enough")) },
		Explain:  types.NamespacedName{Namespace: "ns", Name: "late"},
	}
	s, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(ctx)
	if err == nil || err.Error() != "simulation stopped after 1 of 3 pods: enough" {
		t.Errorf("the error is %v", err)
	}
	want(t, r, "p on a at 0s", "q: not tried: the simulation was stopped first", "late: not tried: the simulation was stopped first")
	if r.Explanation != nil || r.Summary.Pods != 3 {
		t.Errorf("got %+v, %+v", r.Explanation, r.Summary)
	}
}
