package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// beside is a tenant's load beside a neighbour, who has one pod a second placed for two minutes. An attempt takes a millisecond.
type beside struct {
	name    string
	guest   string // the plugin that is attached to the tenant's namespace
	natives []string
	parked  int    // pods of the tenant, from the beginning on
	options string // of these pods
	events  int    // of nodes, each second
	fresh   int    // new pods of the tenant, each second
	open    int    // of these, how many the guest accepts
	writes  bool   // nominations are written
}

const othersPods = 120

func besides() []beside {
	return []beside{
		{name: "pending", guest: "filter=pending events=*", parked: 200},
		{name: "hints", guest: "filter=unschedulable events=Node/UpdateNodeLabel", parked: 200, events: 20},
		{name: "priority", guest: "filter=pending events=*", parked: 200, options: "priority=10"},
		{name: "activation", guest: "prefilter=" + names("done-", othersPods, "=ok;") + "unschedulable reserve=ok reserve-activate=" + names("parked-", 200, ";"), parked: 200, fresh: 1, open: 1},
		{name: "nominated", guest: "filter=unschedulable postfilter=ok nominate=a events=*", parked: 200, options: "priority=10", writes: true},
		{name: "reserve", guest: "filter=ok reserve=pending events=*", parked: 40},
		{name: "fuel", guest: "filter=unschedulable events=*", fresh: 5},
		{name: "faults", guest: "filter=error events=*", fresh: 5},
		{name: "preemption", guest: "filter=pending overlay=ok events=*", natives: []string{"DefaultPreemption"}, parked: 200, options: "priority=10"},
	}
}

func names(prefix string, n int, after string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprint(&b, prefix, i, after)
	}
	return b.String()
}

// counting counts attempts.
type counting struct {
	*world
	attempts, first int // of all pods, and for new ones of the tenant
	placed          int // of the neighbour
}

func (c *counting) Attempted(a *report.Attempt, _ func(uint32) string) {
	c.attempts++
	if a.Namespace == "team" && a.Try == 1 {
		c.first++
	}
	if a.Namespace == "others" && a.Node != "" {
		c.placed++
	}
	c.clock.Advance(time.Millisecond)
}

// idle steps until nothing is to be done, or the time has come.
func (c *counting) idle(until time.Time) {
	for c.clock.Now().Before(until) {
		if !c.get().Step(context.Background()) {
			at, ok := c.get().NextDeadline()
			if !ok || !at.Before(until) {
				break
			}
			if at.After(c.clock.Now()) {
				c.clock.Advance(at.Sub(c.clock.Now()))
			}
		}
		c.log.Take()
	}
	c.clock.Advance(max(0, until.Sub(c.clock.Now())))
}

func (b *beside) run(t *testing.T) *counting {
	c := &counting{world: newWorld(t, &scenario.Log{})}
	c.observer, c.writes = c, b.writes
	if b.guest != "" {
		c.declare("Guest", scenario.MustParse(b.guest+" namespaces=team"))
	}
	for _, name := range b.natives {
		if err := c.native(name); err != nil {
			t.Fatal(err)
		}
	}
	node := func(label string) *state.Node {
		node, err := fake.Node("a", scenario.MustParse("cpu=1000000 label="+label))
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	c.get().SetNode(node("0"))
	c.set(pod(t, "victim", "on=a namespace=team"))
	for i := range b.parked {
		c.set(pod(t, fmt.Sprint("parked-", i), "namespace=team "+b.options))
	}
	end := c.clock.Now()
	next := func(d time.Duration) { end = end.Add(d); c.idle(end) }
	next(time.Minute)
	c.attempts, c.first = 0, 0
	for i := range othersPods {
		for j := range b.fresh {
			name := fmt.Sprint("fresh-", i, "-", j)
			if j < b.open {
				name = fmt.Sprint("done-", i)
			}
			c.set(pod(t, name, "namespace=team"))
		}
		c.set(pod(t, fmt.Sprint("other-", i), "namespace=others"))
		for j := range max(1, b.events) {
			if b.events > 0 {
				c.get().SetNode(node(fmt.Sprint(i, "-", j)))
			}
			next(time.Second / time.Duration(max(1, b.events)))
		}
	}
	return c
}

// TestNeighbours: whatever the guest of a tenant answers, a pod of another namespace waits for at most one attempt that these
// answers cause. Without budgets there are 37 to 1,000, as many as the tenant has pods.
func TestNeighbours(t *testing.T) {
	for _, b := range besides() {
		t.Run(b.name, func(t *testing.T) {
			c := b.run(t)
			if c.placed != othersPods {
				t.Errorf("%d pods of the neighbour were placed, want %d", c.placed, othersPods)
			}
			// The first attempt for a new pod of the tenant is as that for any pod.
			n := float64(c.attempts-c.first) / othersPods
			t.Logf("%.2f attempts for each pod of the neighbour", n)
			if n > 2 {
				t.Errorf("%.2f attempts were made for each pod of the neighbour, want at most 2", n)
			}
		})
	}
}
