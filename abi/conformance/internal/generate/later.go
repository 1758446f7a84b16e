package generate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
)

// times of creation, also beyond 32 bits.
func times() []string {
	return []string{"2026-01-02T03:04:05Z", "1970-01-01T00:00:01Z", "2106-02-07T06:28:16Z", "9999-12-31T23:59:59Z"}
}

// laterOfNode makes what columns of nodes since ABI 1.1 show, if they are declared.
func (g *Generator) laterOfNode(n *cluster.Node) {
	if slices.Contains(g.config.Reads.Node, "capacity") {
		n.Status.Capacity = map[string]cluster.Quantity{}
		for _, resource := range append([]string{"cpu", "memory", "pods"}, g.config.Reads.Resources...) {
			if g.chance(90) {
				n.Status.Capacity[resource] = g.quantity(resource, math.MaxInt64)
			}
		}
	}
	if len(g.config.Reads.Feeds) > 0 {
		g.feeds(n)
	}
	n.Objects = g.objects(wire.JoinNode)
	if slices.Contains(g.config.Reads.Node, "createdAt") && g.chance(80) {
		n.Metadata.Creation = pick(g, times())
	}
}

// objects makes what objects of a node or namespace say: of columns of one list equally much.
func (g *Generator) objects(join string) map[string]cluster.Values {
	r, joins := g.config.Reads, g.config.Reads.Joins()
	if !slices.Contains(slices.Collect(maps.Values(joins)), join) || g.chance(20) {
		return nil // there is no object
	}
	out := map[string]cluster.Values{}
	lengths := map[string]int{}
	length := func(list string) int {
		if _, known := lengths[list]; !known {
			lengths[list] = g.few(3, 40)
		}
		return lengths[list]
	}
	for _, name := range r.ObjectColumns {
		if joins[name[:strings.IndexAny(name, ".[")]] != join {
			continue
		}
		list := name[:strings.LastIndex(name, "[*]")+1]
		values := g.some(2)
		if outer := list[:strings.LastIndex(list, "[*]")+1]; outer != "" && length(outer) == 0 {
			values = 0
		} else if list != "" {
			values = length(list)
		}
		var v cluster.Values
		for range values {
			if !strings.HasSuffix(name, ":string") {
				v.Numbers = append(v.Numbers, g.number(name))
			} else if text, told := g.tell(name); told {
				v.Texts = append(v.Texts, &text)
			} else if text := pick(g, []string{"a", "b", "zone-1", "very-long" + longName()}); g.chance(80) {
				v.Texts = append(v.Texts, &text)
			} else {
				v.Texts = append(v.Texts, nil)
			}
		}
		if strings.Contains(name, ".@parent:") {
			for i := range v.Numbers { // in the order of the elements
				v.Numbers[i] = int64(i * length(list[:strings.LastIndex(list, "[*]")+1]) / values)
			}
		}
		out[name] = v
	}
	return out
}

// number makes a number of a column of objects.
func (g *Generator) number(column string) int64 {
	if text, told := g.tell(column); told {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return pick(g, []int64{0, 1, -1, math.MaxInt64, math.MinInt64, g.random.Int64N(1 << 40)})
}

// feeds makes what feeds say of a node.
func (g *Generator) feeds(n *cluster.Node) {
	n.Feeds = map[string]cluster.Feed{}
	for _, name := range g.config.Reads.Feeds {
		if g.chance(80) {
			n.Feeds[name] = cluster.Feed{
				Value: pick(g, []int64{0, 1, -1, math.MaxInt64, math.MinInt64, g.random.Int64N(1 << 40)}), State: pick(g, []uint8{1, 1, 2}),
				Since: pick(g, []int64{0, 1, 1767323045, 1767323044, 1 << 32, math.MaxInt64}), // some as in times
			}
		}
	}
}

// nominated makes pods that are nominated to a node, if the plugin reads them: on some nodes none, on some more than on others.
func (g *Generator) nominated(c *cluster.Cluster, node int) {
	if !slices.Contains(g.config.Reads.Node, "nominated") || g.chance(50) {
		return
	}
	for range 1 + g.few(3, 12) {
		p := g.pod(false)
		p.Status.NominatedNodeName = c.Nodes[node].Metadata.Name
		c.Pods = append(c.Pods, p)
	}
}

// laterOfPlaced makes what columns of pods since ABI 1.1 show, if they are declared.
func (g *Generator) laterOfPlaced(p *cluster.Pod) {
	reads := func(name string) bool { return slices.Contains(g.config.Reads.Pods, name) }
	if reads("limits") || reads("qos") {
		g.limits(p)
	}
	if reads("qos") && g.chance(30) {
		p.Status.QOS = pick(g, []string{"Guaranteed", "Burstable", "BestEffort"})
	}
	if reads("createdAt") && g.chance(80) {
		p.Metadata.Creation = pick(g, times())
	}
	if (reads("assignedAt") || slices.Contains(g.config.Reads.Node, "requestedSince")) && g.chance(80) {
		p.Status.Conditions = append(p.Status.Conditions,
			cluster.Condition{Type: "PodScheduled", Status: pick(g, []string{"True", "True", "False"}), Since: pick(g, times())})
	}
	if reads("state") {
		p.Status.Phase = pick(g, []string{"", "Pending", "Running", "Running"})
		if g.chance(70) {
			p.Status.Conditions = append(p.Status.Conditions, cluster.Condition{Type: "Ready", Status: pick(g, []string{"True", "True", "False", "Unknown"})})
		}
	}
}

// later makes what fields since ABI 1.1 show, if they are declared: for other plugins a seed makes what it made before them.
func (g *Generator) later(p *cluster.Pod) {
	for _, f := range []struct {
		name   string
		to     *string
		values []string
	}{
		{"createdAt", &p.Metadata.Creation, times()},
		{"priorityClass", &p.Spec.PriorityClass, []string{"high", "system-node-critical", "very-long" + longName()}},
		{"serviceAccount", &p.Spec.ServiceAccount, []string{"default", "builder", "very-long" + longName()}},
		{"preemptionPolicy", &p.Spec.PreemptionPolicy, []string{"Never", "PreemptLowerPriority"}},
	} {
		if slices.Contains(g.config.Reads.Pod, f.name) && g.chance(80) {
			*f.to = pick(g, f.values)
		}
	}
	if slices.Contains(g.config.Reads.Pod, "group") && g.chance(70) {
		p.Spec.Group = &cluster.Group{}
		if g.chance(90) {
			p.Spec.Group.Name = pick(g, []string{"training", "training-2", "very-long" + longName()})
		}
	}
	if slices.ContainsFunc(g.config.Reads.Pod, func(name string) bool { return name == "limits" || name == "qos" || name == "containers" }) {
		g.limits(p)
	}
	if slices.Contains(g.config.Reads.Pod, "qos") && g.chance(30) {
		p.Status.QOS = pick(g, []string{"Guaranteed", "Burstable", "BestEffort"})
	}
	if slices.Contains(g.config.Reads.Pod, "claims") {
		for i := range g.some(3) {
			v := cluster.Volume{Name: fmt.Sprint("volume-", i)}
			if g.chance(30) {
				v.Ephemeral = &cluster.Ephemeral{}
			} else {
				v.Claim = &cluster.Claim{Name: pick(g, []string{"data", "data-2", "very-long" + longName()})}
			}
			p.Spec.Volumes = append(p.Spec.Volumes, v)
		}
	}
}

// limits makes limits of containers: often as requested, so that some pods are Guaranteed, and of all containers, so that there is a sum.
func (g *Generator) limits(p *cluster.Pod) {
	all, equal := g.chance(70), g.chance(50)
	for i := range p.Spec.Containers {
		limits := map[string]cluster.Quantity{}
		for _, resource := range append([]string{"cpu", "memory"}, g.config.Reads.Resources...) {
			switch request, ok := p.Spec.Containers[i].Resources.Requests[resource]; {
			case ok && equal:
				limits[resource] = request
			case all || g.chance(50):
				limits[resource] = g.quantity(resource, 1<<50)
			}
		}
		p.Spec.Containers[i].Resources.Limits = limits
	}
}
