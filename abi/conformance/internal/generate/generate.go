// Package generate makes clusters and pods that have what a manifest declares to read, in every
// combination: absent, empty, typical, huge. The same seed makes the same objects.
package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Config says what to make objects for.
type Config struct {
	Seed  uint64
	Reads *wire.ManifestReads
	// Namespaces are the ones that the plugin is attached to; empty means all.
	Namespaces []string
	// Hints are strings that are meaningful to the plugin, such as those in its configuration; `key=value` is a
	// value of that label or annotation, if Reads declares the key or a list of all labels.
	Hints []string
}

// Generator makes objects.
type Generator struct {
	config     Config
	random     *rand.Rand
	namespaces []string
	words            // of what is made next
	all        words // without any left out
	pods       int
	long       bool // lists are
	large      bool // the cluster is: its lists are short, mostly, for a call's fuel to do
}

// Again has the next pods be those that were made after the first n, by name and UID: a pod can change in everything
// else, and be tried again.
func (g *Generator) Again(n int) { g.pods = n }

// Rand returns the source of all choices.
func (g *Generator) Rand() *rand.Rand { return g.random }

func (g *Generator) chance(percent int) bool { return g.random.IntN(100) < percent }

// many is how many more entries a list has now and then, so that rooms of a fixed size are exceeded.
const many = 36

// some returns a number less than n, now and then a few more, where one left out at the end still decides, and now and
// then many more.
func (g *Generator) some(n int) int { return g.upTo(n, 12) }

// often is some for a list that few pods have: it has a few more more often.
func (g *Generator) often(n int) int { return g.upTo(n, 25) }

func (g *Generator) upTo(n, percent int) int {
	if g.long || g.chance(4) {
		return g.random.IntN(n) + many
	}
	return g.few(n, percent)
}

// few is for lists in lists, which are never long.
func (g *Generator) few(n, percent int) int {
	if !g.large && g.chance(percent) {
		return g.random.IntN(n) + 3 + g.random.IntN(8)
	}
	return g.random.IntN(n)
}

// Long says whether the lists of what is made next are all long.
func (g *Generator) Long(long bool) { g.long = long }

func pick[T any](g *Generator, from []T) T { return from[g.random.IntN(len(from))] }

// Cluster makes a cluster of n nodes, with up to six pods on each, or one if there are many. A bare one has no optional
// fields, and without nodes nothing at all.
func (g *Generator) Cluster(n int, bare bool) *cluster.Cluster {
	c := &cluster.Cluster{}
	g.large = n > 100
	defer func() { g.large = false }()
	for _, name := range g.namespaces {
		if name == "no-object" || c.Namespace(name) != nil || bare && n == 0 {
			continue
		}
		m := cluster.Metadata{Name: name}
		if !bare {
			m.Labels = g.labelled(g.config.Reads.NamespaceLabels)
		}
		n := cluster.Namespace{Metadata: m}
		if !bare {
			n.Objects = g.objects(wire.JoinNamespace)
		}
		c.Namespaces = append(c.Namespaces, n)
	}
	if slices.Contains(g.config.Reads.Pod, "now") {
		c.Now = pick(g, []int64{0, 1, 1767323045, 1 << 32, 253402300799})
	}
	loaded := g.chance(40)
	for i := range n {
		g.Long(loaded && i == 0)
		c.Nodes = append(c.Nodes, g.node(i, bare))
	}
	g.Long(false)
	most := 7
	if g.large {
		most = 2
	}
	for i := range c.Nodes {
		if bare {
			continue
		}
		on := g.random.IntN(most)
		if !g.large && (g.chance(2) || i == 0 && loaded) {
			on += many
		}
		for range on {
			p := g.pod(false)
			p.Spec.NodeName = c.Nodes[i].Metadata.Name
			c.Pods = append(c.Pods, p)
		}
		g.nominated(c, i)
	}
	return c
}

// longName makes a name as long as names may be, nearly.
func longName() string { return "." + strings.Repeat("very-long.", 23) + "example" }

// longKey is a key as long as keys may be.
func longKey() string {
	return strings.Repeat("very-long.", 24) + "example.com/" + strings.Repeat("x", 63)
}

// long is longer than a reason may be.
func long() string { return strings.Repeat("long ", 220) }

// huge is longer than a value of the state, or all directives of a call, may be.
func huge() string { return strings.Repeat("very long, ", 6000) }

func (g *Generator) node(i int, bare bool) cluster.Node {
	n := cluster.Node{Metadata: cluster.Metadata{Name: fmt.Sprintf("node-%d", i), UID: fmt.Sprintf("node-uid-%d", i)}}
	if bare {
		return n
	}
	if g.chance(5) {
		n.Metadata.Name += longName()
	}
	r := g.config.Reads
	n.Metadata.Labels = g.labelled(r.NodeLabels)
	n.Metadata.Labels["kubernetes.io/hostname"] = "host-" + strconv.Itoa(i)
	if g.chance(80) {
		n.Metadata.Labels["topology.kubernetes.io/zone"] = pick(g, []string{"zone-1", "zone-2", "zone-3"})
	}
	if slices.Contains(r.Node, "labels") {
		for _, key := range selected() {
			if g.chance(50) {
				n.Metadata.Labels[key] = pick(g, g.labels)
			}
		}
	}
	n.Metadata.Annotations = g.annotated(r.NodeAnnotations)
	n.Spec.Unschedulable = g.chance(10)
	for range g.some(3) {
		n.Spec.Taints = append(n.Spec.Taints, cluster.Taint{
			Key: pick(g, g.keys()), Value: pick(g, g.labels), Effect: pick(g, []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}),
		})
	}
	n.Status.Allocatable = map[string]cluster.Quantity{}
	for _, resource := range append([]string{"cpu", "memory", "pods"}, r.Resources...) {
		if g.chance(90) {
			n.Status.Allocatable[resource] = g.quantity(resource, math.MaxInt64)
		}
	}
	g.laterOfNode(&n)
	for _, typ := range r.NodeConditions {
		if g.chance(80) {
			n.Status.Conditions = append(n.Status.Conditions, cluster.Condition{Type: typ, Status: pick(g, []string{"True", "False", "Unknown"})})
		}
	}
	for range g.some(4) {
		name := g.image()
		n.Status.Images = append(n.Status.Images, cluster.Image{Names: []string{name, name + "-alias"}, Size: int64(g.random.Uint64N(1 << 34))})
	}
	return n
}

// Pod makes a pod to be placed.
func (g *Generator) Pod(bare bool) cluster.Pod {
	p := g.pod(bare)
	if bare {
		return p
	}
	for range g.some(3) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, g.toleration())
	}
	if g.long || g.chance(30) {
		p.Spec.NodeSelector = map[string]string{}
		for i := range 1 + g.often(2) {
			key := pick(g, g.keys())
			if i > 1 {
				key = fmt.Sprint("example.com/selected-", i)
			}
			p.Spec.NodeSelector[key] = pick(g, g.labels)
		}
	}
	if g.long || g.chance(30) {
		p.Spec.Affinity = g.affinity()
	}
	if g.long || g.chance(20) {
		for i := range 1 + g.often(2) {
			domain := []string{"example.com", "other.example"}[i%2]
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, cluster.Gate{Name: fmt.Sprint(domain, "/quota-", i)})
		}
	}
	g.later(&p)
	return p
}

func (g *Generator) pod(bare bool) cluster.Pod {
	g.pods++
	p := cluster.Pod{Metadata: cluster.Metadata{
		Name: fmt.Sprintf("pod-%d", g.pods), Namespace: pick(g, g.namespaces), UID: fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(g.pods)*0x9e3779b1, g.pods),
	}}
	if g.pods%7 == 4 {
		p.Metadata.Name += longName()
	}
	if len(g.config.Namespaces) > 0 && g.chance(70) {
		p.Metadata.Namespace = pick(g, g.config.Namespaces)
	}
	p.Spec.Containers = []cluster.Container{{Name: "main", Image: g.image()}}
	if bare {
		return p
	}
	r := g.config.Reads
	p.Metadata.Labels = g.labelled(r.PodLabels)
	p.Metadata.Annotations = g.annotated(r.PodAnnotations)
	if g.chance(80) {
		priority := pick(g, []int32{0, 1, 100, -10, math.MaxInt32, math.MinInt32, g.random.Int32N(1000)})
		p.Spec.Priority = &priority
	}
	if g.chance(60) {
		p.Metadata.Owners = []cluster.Owner{{Kind: pick(g, []string{"ReplicaSet", "Job"}), Name: fmt.Sprint("owner-", g.random.IntN(5)), Controller: true}}
		if g.chance(5) {
			p.Metadata.Owners[0].Name += longName()
		}
	}
	if g.chance(10) {
		p.Metadata.Deletion = "2026-01-02T03:04:05Z"
	}
	if g.chance(30) {
		p.Spec.Containers = append(p.Spec.Containers, cluster.Container{Name: "side", Image: g.image()})
	}
	if g.long || g.chance(3) {
		for i := range many {
			p.Spec.Containers = append(p.Spec.Containers, cluster.Container{Name: fmt.Sprint("side-", i), Image: g.image()})
		}
	}
	for i := range p.Spec.Containers {
		requests := map[string]cluster.Quantity{}
		for _, resource := range append([]string{"cpu", "memory"}, r.Resources...) {
			if resource != "pods" && g.chance(70) {
				requests[resource] = g.quantity(resource, 1<<50)
			}
		}
		p.Spec.Containers[i].Resources.Requests = requests
	}
	g.laterOfPlaced(&p)
	if g.long || g.chance(15) {
		for range 1 + g.some(3) {
			p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, cluster.Port{
				HostPort: g.port(), ContainerPort: 80, HostIP: pick(g, []string{"", "10.0.0.1"}), Protocol: pick(g, []string{"", "UDP", "SCTP"}),
			})
		}
	}
	return p
}

// port makes a host port, mostly one of a few, so that two pods ask for the same.
func (g *Generator) port() int32 {
	port := 1 + g.random.Int32N(65535)
	if port%4 > 0 {
		return 8080 + port%4
	}
	return port
}

// labelled makes labels, mostly with declared keys.
func (g *Generator) labelled(declared []string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Concat(declared, g.loose) {
		if value, told := g.tell(key); told {
			out[key] = value
		} else if g.chance(70) {
			out[key] = pick(g, g.labels)
		}
	}
	n := g.some(3)
	for range n {
		out[fmt.Sprint("example.com/other-", g.random.IntN(6+4*n))] = pick(g, g.labels)
	}
	if g.long || g.chance(3) {
		out[longKey()] = pick(g, g.labels)
	}
	if len(g.hintKeys) > 0 && g.chance(30) {
		out[pick(g, g.hintKeys)] = pick(g, g.labels)
	}
	return out
}

func (g *Generator) annotated(declared []string) map[string]string {
	out := map[string]string{}
	for _, key := range declared {
		switch value, told := g.tell(key); {
		case g.long && g.chance(30):
			out[key] = huge()
		case g.chance(5):
			out[key] = long()
		case told:
			out[key] = value
		case g.chance(70):
			out[key] = pick(g, g.values)
		}
	}
	return out
}

// keys returns keys for taints, tolerations and selectors.
func (g *Generator) keys() []string { return append(selected(), g.config.Reads.NodeLabels...) }

// selected returns keys that a plugin need not declare. A plugin that reads all labels sees them at nodes, too.
func selected() []string { return []string{"example.com/dedicated", "gpu"} }

// quantity makes an amount up to most, in the unit of the resource.
func (g *Generator) quantity(resource string, most int64) cluster.Quantity {
	usual := map[string]int64{"cpu": 64000, "memory": 256 << 30, "pods": 110}[resource]
	if usual == 0 {
		usual = 8
	}
	var n int64
	switch g.random.IntN(20) {
	case 0:
		n = 0
	case 1:
		n = most
	case 2:
		n = 1
	default:
		n = g.random.Int64N(usual + 1)
	}
	if resource == "cpu" {
		return cluster.Quantity(strconv.FormatInt(n, 10) + "m")
	}
	return cluster.Quantity(strconv.FormatInt(n, 10))
}

func (g *Generator) image() string {
	return pick(g, []string{"registry.example.com/web:1", "registry.example.com/web", "nginx", "registry.example.com:5000/batch:2.1", "redis:7", "registry.example.com/team/web@sha256:" + strings.Repeat("0a", 32)})
}

func (g *Generator) toleration() cluster.Toleration {
	t := cluster.Toleration{Key: pick(g, g.keys()), Value: pick(g, g.labels), Effect: pick(g, []string{"", "NoSchedule", "NoExecute"})}
	if g.chance(40) {
		t.Operator, t.Value = "Exists", ""
		if g.chance(30) {
			t.Key = ""
		}
	}
	if t.Effect == "NoExecute" && g.chance(50) {
		seconds := pick(g, []int64{0, 300})
		t.Seconds = &seconds
	}
	return t
}

func (g *Generator) affinity() *cluster.Affinity {
	a := &cluster.NodeAffinity{}
	if g.chance(70) {
		a.Required = &cluster.Selector{}
		for range 2 + g.often(1) {
			a.Required.Terms = append(a.Required.Terms, g.term())
		}
	}
	if g.chance(50) {
		for range 1 + g.few(2, 25) {
			a.Preferred = append(a.Preferred, cluster.PreferredTerm{Weight: 1 + g.random.Int32N(100), Term: g.term()})
		}
	}
	return &cluster.Affinity{Node: a}
}

func (g *Generator) term() cluster.Term {
	var t cluster.Term
	for range 1 + g.few(2, 8) {
		q := cluster.Requirement{Key: pick(g, g.keys()), Operator: pick(g, []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})}
		switch q.Operator {
		case "In", "NotIn":
			q.Values = []string{pick(g, g.labels), "other"}
			for i := range g.often(1) {
				q.Values = append(q.Values, fmt.Sprint("other-", i))
			}
		case "Gt", "Lt":
			q.Values = []string{strconv.Itoa(g.random.IntN(100))}
		}
		t.Expressions = append(t.Expressions, q)
	}
	if g.chance(20) {
		t.Fields = []cluster.Requirement{{Key: "metadata.name", Operator: "In", Values: []string{"node-0"}}}
		if g.chance(50) {
			t.Expressions = nil // as DaemonSets have it
		}
	}
	return t
}
