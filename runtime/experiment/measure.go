package experiment

import (
	"cmp"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/state"
)

const (
	// moments is how often a side is measured.
	moments = 120
	// maxShapes is how many of the most frequent requests stand for all.
	maxShapes = 20
)

// Sample is the state of a simulation at one moment.
type Sample struct {
	// X is the time since the start, in seconds; the number of pods that were answered, if all came at
	// once.
	X float64 `json:"x"`
	// Pending is the number of pods that wait for a node.
	Pending   int             `json:"pending"`
	NodesUsed int             `json:"nodesUsed"`
	Resources []ResourceState `json:"resources"` // in the order of Totals.Resources
	// SameNode and SameZone are as in Spread.
	SameNode float64 `json:"sameNode"`
	SameZone float64 `json:"sameZone"`
}

// ResourceState is one resource of the cluster at a moment, in percent.
type ResourceState struct {
	// Requested is the share of what all nodes have.
	Requested float64 `json:"requested"`
	// Fragmented is the share that is free, but on nodes where a typical pod does not fit.
	Fragmented float64 `json:"fragmented"`
	// Deviation is the standard deviation of the requested share over the nodes.
	Deviation float64 `json:"deviation"`
}

// shapes are the most frequent requests of the pods that came, and the resources in them.
type shapes struct {
	all       []shape
	resources []v1.ResourceName
}

type shape struct {
	requests state.Resources
	pods     int64
}

func shapesOf(d *day) *shapes {
	s := &shapes{}
	index := make(map[string]int)
	for _, p := range d.pods {
		requests := state.NewPod(p.arrival.Pod).Requests
		key := ""
		sim.EachResource(&requests, func(name v1.ResourceName, value int64) {
			key += string(name) + "=" + time.Duration(value).String() + " "
			if name != v1.ResourcePods && !slices.Contains(s.resources, name) {
				s.resources = append(s.resources, name)
			}
		})
		i, ok := index[key]
		if !ok {
			i = len(s.all)
			index[key] = i
			s.all = append(s.all, shape{requests: requests})
		}
		s.all[i].pods++
	}
	slices.SortStableFunc(s.all, func(a, b shape) int { return cmp.Compare(b.pods, a.pods) })
	s.all = s.all[:min(len(s.all), maxShapes)]
	return s
}

// sampler measures a simulation at moments that are the same on both sides.
type sampler struct {
	shapes  *shapes
	length  time.Duration // 0 if all pods came at once
	pods    int
	samples []Sample
}

func (s *shapes) sampler(d *day) *sampler {
	out := &sampler{shapes: s, pods: len(d.pods)}
	if slices.ContainsFunc(d.pods, func(p *pod) bool { return p.arrival.At > 0 }) {
		out.length = d.now.Sub(d.start)
	}
	return out
}

// watch is for sim.Config.
func (m *sampler) watch(s *scheduler.Scheduler, now, until time.Duration, answered int) {
	end := until == math.MaxInt64
	var sample *Sample
	for len(m.samples) < moments {
		i := len(m.samples)
		var x float64
		if m.length > 0 {
			at := m.length / (moments - 1) * time.Duration(i)
			if at >= until && !end || now == until {
				return
			}
			x = at.Seconds()
		} else {
			at := (m.pods*i + moments - 2) / (moments - 1)
			if answered < at && !end {
				return
			}
			x = float64(min(at, answered))
		}
		if sample == nil {
			sample = m.measure(s)
		}
		again := *sample
		again.X = x
		m.samples = append(m.samples, again)
	}
}

// usedNode is a node with the requests of its pods.
type usedNode struct {
	*state.Node
	requested state.Resources
}

func (m *sampler) measure(s *scheduler.Scheduler) *Sample {
	c, pending := s.Contents(), s.Pending()
	q := &pending.Queue
	out := &Sample{Pending: q.Active + q.Backoff + q.ErrorBackoff + q.Unschedulable + q.Gated}
	nodes := make(map[string]*usedNode, len(c.Nodes))
	order := make([]*usedNode, 0, len(c.Nodes))
	for _, n := range c.Nodes {
		u := &usedNode{Node: n}
		nodes[n.Name] = u
		order = append(order, u)
	}
	slices.SortFunc(order, func(a, b *usedNode) int { return cmp.Compare(a.Name, b.Name) })
	together := newTogether()
	for _, p := range c.Placed {
		if n := nodes[p.NodeName()]; n != nil {
			n.requested.Add(&p.Requests)
			together.add(p, n.Node)
		}
	}
	for _, n := range order {
		if n.requested.Pods > 0 {
			out.NodesUsed++
		}
	}
	out.SameNode, out.SameZone = together.shares()
	for _, name := range m.shapes.resources {
		out.Resources = append(out.Resources, m.shapes.of(name, order))
	}
	return out
}

// of measures a resource.
func (s *shapes) of(name v1.ResourceName, nodes []*usedNode) (out ResourceState) {
	var all, used, fragment float64
	var shares []float64
	weight := int64(0)
	for i := range s.all {
		if s.all[i].requests.Amount(name) > 0 {
			weight += s.all[i].pods
		}
	}
	for _, n := range nodes {
		has, requested := n.Allocatable.Amount(name), n.requested.Amount(name)
		if has <= 0 {
			continue
		}
		all += float64(has)
		used += float64(requested)
		shares = append(shares, 100*float64(requested)/float64(has))
		cannot := int64(0)
		for i := range s.all {
			if s.all[i].requests.Amount(name) > 0 && !n.fits(&s.all[i].requests) {
				cannot += s.all[i].pods
			}
		}
		if weight > 0 && has > requested {
			fragment += float64(float64(has-requested) * float64(cannot) / float64(weight))
		}
	}
	if all == 0 {
		return out
	}
	return ResourceState{Requested: rounded(100 * used / all), Fragmented: rounded(100 * fragment / all), Deviation: rounded(deviation(shares))}
}

// fits reports whether a pod with some requests fits beside the others.
func (n *usedNode) fits(requests *state.Resources) bool {
	fits := true
	sim.EachResource(requests, func(name v1.ResourceName, value int64) {
		fits = fits && value <= n.Allocatable.Amount(name)-n.requested.Amount(name)
	})
	return fits
}

func deviation(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	return math.Sqrt(squares / float64(len(values)))
}

func rounded(v float64) float64 { return math.Round(float64(100*v)) / 100 }

// together counts the pods of each controller by node and by zone.
type together struct {
	nodes, zones map[string]map[string]int // by controller
}

func newTogether() *together {
	return &together{make(map[string]map[string]int), make(map[string]map[string]int)}
}

func (t *together) add(p *state.Pod, n *state.Node) {
	owner := metav1.GetControllerOf(p.Object)
	if owner == nil {
		return
	}
	key := p.Namespace + "/" + owner.Kind + "/" + owner.Name
	count := func(by map[string]map[string]int, where string) {
		if by[key] == nil {
			by[key] = make(map[string]int)
		}
		by[key][where]++
	}
	count(t.nodes, n.Name)
	if zone := n.Object.Labels[v1.LabelTopologyZone]; zone != "" {
		count(t.zones, zone)
	}
}

// shares returns for nodes and for zones the mean over controllers with several pods of the largest share
// of their pods in one place, in percent; 0 without such controllers.
func (t *together) shares() (node, zone float64) {
	mean := func(by map[string]map[string]int) float64 {
		// Thousandths of a percent, so that the order of the map does not matter.
		sum, controllers := 0, 0
		for _, places := range by {
			most, all := 0, 0
			for _, n := range places {
				most, all = max(most, n), all+n
			}
			if all > 1 {
				sum += 100_000 * most / all
				controllers++
			}
		}
		if controllers == 0 {
			return 0
		}
		return rounded(float64(sum) / 1000 / float64(controllers))
	}
	return mean(t.nodes), mean(t.zones)
}
