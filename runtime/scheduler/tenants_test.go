package scheduler_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// rule is one answer of a guest, and when it gives that.
type rule struct {
	when string
	of   int // a number that some conditions look at
	code abi.Code
}

// conditions are what the answers of a guest may depend on: the row, what it holds, whether it is tried hypothetically, the pod,
// how often the guest was asked, and whether pods have left.
func conditions() []string {
	return []string{"always", "overlay", "real", "crowded", "empty", "full", "node", "pod", "turn", "attempt", "emptied", "untouched"}
}

func (r rule) String() string { return fmt.Sprintf("%s(%d)=%s", r.when, r.of, r.code) }

// guest is a plugin that is attached to the namespace team, and answers by rules of each point.
type guest struct {
	info  plugin.Info
	rules map[string][]rule
	asked int
	tries int
	gone  map[string]int // victims by node
}

func (g *guest) Info() *plugin.Info { return &g.info }

// status answers at a point; the first rule that applies decides. row is that of a node, or -1.
func (g *guest) status(point string, pod *state.Pod, c *plugin.Cycle, row int) *plugin.Status {
	g.asked++
	for _, r := range g.rules[point] {
		if g.applies(r, pod, c, row) {
			if r.code == abi.Success {
				return nil
			}
			return plugin.NewStatus(r.code, point)
		}
	}
	return nil
}

func (g *guest) applies(r rule, pod *state.Pod, c *plugin.Cycle, row int) bool {
	switch r.when {
	case "always":
		return true
	case "pod":
		return int(pod.Name[len(pod.Name)-1])%3 == r.of
	case "turn":
		return g.asked%3 == r.of
	case "attempt":
		return g.tries%3 == r.of
	}
	if row < 0 {
		return r.when == "emptied" && len(g.gone) > 0
	}
	name := c.Snapshot.Name(uint32(row))
	pods := len(c.Snapshot.Nodes.Pods.Row(uint32(row)))
	switch r.when {
	case "overlay":
		return row >= c.Snapshot.Capacity()
	case "real":
		return row < c.Snapshot.Capacity()
	case "crowded":
		return pods > 0
	case "empty":
		return pods == 0
	case "full":
		return c.Snapshot.Nodes.Resources[state.CPU].Requested[row] > int64(300*r.of)
	case "node":
		return int(name[len(name)-1])%3 == r.of
	case "emptied":
		return g.gone[name] > 0
	}
	return g.gone[name] == 0 // untouched
}

func (g *guest) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i, pod := range pods {
		out[i] = g.status("gate", pod, nil, -1)
	}
}

// PreFilter leaves out rows by the rules of rows.
func (g *guest) PreFilter(c *plugin.Cycle) (rows []uint32, _ *plugin.Status) {
	g.tries++
	for row := range uint32(c.Snapshot.Len()) {
		if g.status("rows", c.Pod, c, int(row)).Success() {
			rows = append(rows, row)
		}
	}
	if len(rows) == c.Snapshot.Len() {
		rows = nil
	} else if rows == nil {
		rows = []uint32{}
	}
	return rows, g.status("prefilter", c.Pod, c, -1)
}

func (g *guest) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	plugin.PerNodeFilter(c, rows, out, func(c *plugin.Cycle, row uint32) *plugin.Status { return g.status("filter", c.Pod, c, int(row)) })
}

func (g *guest) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	return plugin.PerNodeScore(c, rows, out, func(c *plugin.Cycle, row uint32) (int64, *plugin.Status) {
		return int64(row), g.status("score", c.Pod, c, int(row))
	})
}

func (g *guest) Reserve(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{}, g.status("reserve", p.Pod, nil, -1)
}

func (g *guest) Unreserve(*plugin.Placement) plugin.Directives { return plugin.Directives{} }

func (g *guest) Permit(p *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	status := g.status("permit", p.Pod, nil, -1)
	if status.Is(abi.Pending) {
		return 5 * time.Second, plugin.Directives{}, plugin.NewStatus(abi.Wait)
	}
	return 0, plugin.Directives{}, status
}

func (g *guest) PreBindPreFlight(*plugin.Placement) *plugin.Status { return nil }

func (g *guest) PreBind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{}, g.status("prebind", p.Pod, nil, -1)
}

// points are where a guest answers, the likeliest to do harm more often.
func points() []string {
	return []string{"filter", "filter", "filter", "prefilter", "rows", "reserve", "permit", "prebind", "gate", "score"}
}

func drawGuest(t *rapid.T) *guest {
	g := &guest{info: plugin.Info{Name: "Guest", Namespaces: []string{"team"}}, rules: map[string][]rule{}, gone: map[string]int{}}
	for _, resource := range []state.EventResource{state.PodResource, state.NodeResource} {
		g.info.Events = append(g.info.Events, plugin.Event{ClusterEvent: state.ClusterEvent{Resource: resource, Action: state.AllActions}})
	}
	rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) (r struct {
		rule
		at string
	}) {
		r.at = rapid.SampledFrom(points()).Draw(t, "point")
		r.rule = rule{
			when: rapid.SampledFrom(conditions()).Draw(t, "when"), of: rapid.IntRange(0, 2).Draw(t, "of"),
			code: rapid.SampledFrom([]abi.Code{abi.Success, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Pending, abi.Error}).Draw(t, "code"),
		}
		return r
	}), 0, 6).Draw(t, "rules")
	for _, r := range rules {
		g.rules[r.at] = append(g.rules[r.at], r.rule)
	}
	return g
}

// neighbours has a guest's namespace and that of others, whose pods are made again when they were removed.
type neighbours struct {
	*world
	t     *rapid.T
	guest *guest
	nodes int
	n     int
	// preemptions and bound count those with victims of others, and the pods that they were made for.
	preemptions, bound int

	// owing is the pod for which others made room; empty if it was bound. They may do so again after until.
	owing types.UID
	until time.Time
	step  int
}

// Attempted implements scheduler.Observer: it judges preemptions.
func (n *neighbours) Attempted(a *report.Attempt, _ func(uint32) string) {
	outside := slices.ContainsFunc(a.Victims, func(key string) bool { // one that terminates has made room before
		name, others := strings.CutPrefix(key, "others/")
		return others && n.pods[types.UID(name)].Object.DeletionTimestamp == nil
	})
	if a.Namespace != "team" || !outside {
		return
	}
	now := n.clock.Now()
	if n.owing != "" {
		if now.Before(n.until) {
			n.t.Fatalf("%v: others make room for %s, and did so for %s, which is not bound", n.guest.rules, a.Pod, n.owing)
		}
		n.step++
	}
	n.owing, n.until = a.UID, now.Add(5*time.Minute<<n.step)
	n.guest.gone[a.Nominated] += len(a.Victims)
	n.preemptions++
}

// Ended implements scheduler.Observer.
func (n *neighbours) Ended(e *report.Ending) {
	if e.Code == abi.Success && e.Namespace == "team" && types.UID(e.Pod) == n.owing {
		n.owing, n.step = "", max(0, n.step-1)
		n.bound++
	}
}

func (n *neighbours) add(name, options string) {
	p, err := fake.Pod(name, scenario.MustParse(options))
	if err != nil {
		n.t.Fatal(err)
	}
	n.set(p)
}

func newNeighbours(t *rapid.T, tb testing.TB) *neighbours {
	n := &neighbours{world: newWorld(tb, nil), t: t, guest: drawGuest(t), nodes: rapid.IntRange(1, 4).Draw(t, "nodes")}
	n.seed, n.observer = rapid.Uint64().Draw(t, "seed"), n
	for _, point := range plugin.Points(n.guest) {
		n.profiles[0].Points[point] = append(n.profiles[0].Points[point], pipeline.Entry{Plugin: n.guest})
	}
	for _, name := range []string{"NodeResourcesFit", "DefaultPreemption"} {
		if err := n.native(name); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n.nodes {
		node, err := fake.Node(fmt.Sprint("n", i), scenario.Args{})
		if err != nil {
			t.Fatal(err)
		}
		n.get().SetNode(node)
		cpu := rapid.SampledFrom([]int{300, 700, 900}).Draw(t, "cpu")
		n.add(fmt.Sprint("v", i), fmt.Sprintf("namespace=others on=n%d cpu=%d priority=%d", i, cpu, rapid.IntRange(0, 3).Draw(t, "priority")))
	}
	n.lingers = rapid.Bool().Draw(t, "lingers")
	return n
}

// restock makes pods of others again, where they were.
func (n *neighbours) restock() {
	for i := range n.nodes {
		name := fmt.Sprint("v", i)
		if p := n.pods[types.UID(name)]; p != nil && p.Object.DeletionTimestamp != nil {
			n.gone(p.UID)
		}
		if n.pods[types.UID(name)] == nil {
			n.add(name, fmt.Sprintf("namespace=others on=n%d cpu=700 priority=1", i))
		}
	}
}

func (n *neighbours) mine(t *rapid.T) *state.Pod {
	var mine []types.UID
	for uid, p := range n.pods {
		if p.Namespace == "team" {
			mine = append(mine, uid)
		}
	}
	if len(mine) == 0 {
		t.Skip("no pod")
	}
	slices.Sort(mine)
	return n.pods[rapid.SampledFrom(mine).Draw(t, "pod")]
}

func (n *neighbours) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"pod": func(t *rapid.T) {
			n.n++
			n.add(fmt.Sprint("p", n.n), fmt.Sprintf("namespace=team cpu=%d priority=%d", rapid.SampledFrom([]int{200, 500}).Draw(t, "cpu"), rapid.IntRange(2, 6).Draw(t, "priority")))
		},
		"bait": func(t *rapid.T) {
			n.n++
			n.add(fmt.Sprint("b", n.n), fmt.Sprintf("namespace=team cpu=100 priority=0 on=n%d", rapid.IntRange(0, n.nodes-1).Draw(t, "node")))
		},
		"delete": func(t *rapid.T) { n.gone(n.mine(t).UID) },
		"again":  func(*rapid.T) { n.restock() },
		"step":   func(t *rapid.T) { n.get().Step(context.Background()) },
		"advance": func(t *rapid.T) {
			n.clock.Advance(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond)
		},
		"wait": func(*rapid.T) { n.clock.Advance(6 * time.Minute) },
		"":     func(*rapid.T) { n.run() },
	}
}

// TestTenants: whatever a tenant's plugin answers, pods of others make room once until a pod of its is bound.
func TestTenants(t *testing.T) { tenants(t) }

// TestRestTenants does so with more guests.
func TestRestTenants(t *testing.T) { tenants(t) }

func tenants(t *testing.T) {
	checks := "200"
	if testrest.In(t) {
		checks = "20000"
	}
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(checks); err != nil {
			t.Fatal(err)
		}
		defer f.Value.Set(f.DefValue)
	}
	guests, preemptions, bound := 0, 0, 0
	seeded.Check(t, func(r *rapid.T) {
		n := newNeighbours(r, t)
		r.Repeat(n.actions())
		guests, preemptions, bound = guests+1, preemptions+n.preemptions, bound+n.bound
	})
	t.Logf("%d guests: others made room %d times, for %d pods that were bound", guests, preemptions, bound)
	if preemptions <= bound || bound == 0 {
		t.Error("they try nothing")
	}
}
