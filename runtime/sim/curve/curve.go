// Package curve computes how the GPUs of a cluster fill up as pods arrive: how much is
// allocated, and how much of the rest is fragmented, which means that typical pods of the
// workload cannot use it. Both are defined as by Weng et al., "Beware of Fragmentation:
// Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023, and
// its published artefact, so that curves can be compared.
package curve

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Curve records one run in which each pod is tried once and none leaves.
type Curve struct {
	typical  []input.TypicalPod
	weight   float64 // of all typical pods
	nodes    map[string]*node
	gpus     int64
	arrived  int64 // milli-GPU of all pods, placed or not
	used     int64 // milli-GPU
	fragment int64 // milli-GPU, times weight
	blind    bool  // a placed pod has GPUs, but no plugin wrote which
	sums     []sums
}

// sums are over the arrivals at one percentage.
type sums struct {
	n                             int
	allocated, fragmented, ofIdle float64
}

// New returns the curve of an empty cluster with a trace's nodes.
func New(nodes []*v1.Node, typical []input.TypicalPod) *Curve {
	c := &Curve{typical: typical, nodes: make(map[string]*node, len(nodes))}
	for _, t := range typical {
		c.weight += float64(t.Count)
	}
	for _, object := range nodes {
		n := newNode(object)
		n.fragment = n.measure(typical)
		c.fragment += n.fragment
		c.gpus += int64(len(n.free))
		c.nodes[object.Name] = n
	}
	return c
}

// Answered records the first attempt of a pod: it is on a node, with the devices that a plugin
// wrote on it, or on none.
func (c *Curve) Answered(pod *state.Pod, name string) {
	gpus, milli := number(pod.Object.Annotations[input.GPUCountAnnotation]), number(pod.Object.Annotations[input.GPUMilliAnnotation])
	c.arrived += gpus * milli
	if n, ok := c.nodes[name]; ok {
		c.used += gpus * milli
		n.cpu = quantity.Sum(n.cpu, -pod.Requests.MilliCPU)
		if !n.take(pod.Object.Annotations[input.GPUDevicesAnnotation], gpus, milli) {
			c.blind = true
		}
		c.fragment -= n.fragment
		n.fragment = n.measure(c.typical)
		c.fragment += n.fragment
	}
	if c.gpus == 0 {
		return
	}
	x := int(math.RoundToEven(float64(c.arrived) / float64(c.gpus) / 10))
	for len(c.sums) <= x {
		c.sums = append(c.sums, sums{})
	}
	s := &c.sums[x]
	s.n++
	s.allocated += round(float64(c.used) / float64(c.gpus) / 10) // the artefact also rounds this value before the mean
	fragment, idle := math.NaN(), float64(1000*c.gpus-c.used)
	if !c.blind && c.weight > 0 {
		fragment = float64(c.fragment) / c.weight
	}
	s.fragmented += fragment / float64(c.gpus) / 10
	if idle > 0 {
		s.ofIdle += 100 * fragment / idle
	}
}

// Point is the curve at one percentage of arrived demand. Values are means, in percent, over
// the arrivals that round to it or, if there are none, to one of its neighbours.
type Point struct {
	// Arrived is the demand of all pods so far, placed or not, and Allocated the demand of those
	// that were placed, relative to all milli-GPU of the cluster.
	Arrived   int
	Allocated float64
	// Fragmented is the fragmented share of all milli-GPU, and OfIdle of the milli-GPU that are
	// not allocated. They are NaN if a pod has GPUs but no plugin wrote which.
	Fragmented, OfIdle float64
}

// Points returns the curve, without percentages that have no arrivals near them.
func (c *Curve) Points() []Point {
	points := make([]Point, 0, len(c.sums))
	for x, s := range c.sums {
		if s.n == 0 {
			for _, near := range c.sums[max(x-1, 0):min(x+2, len(c.sums))] {
				s.n += near.n
				s.allocated += near.allocated
				s.fragmented += near.fragmented
				s.ofIdle += near.ofIdle
			}
		}
		if s.n == 0 {
			continue
		}
		mean := func(sum float64) float64 { return round(sum / float64(s.n)) }
		points = append(points, Point{x, mean(s.allocated), mean(s.fragmented), mean(s.ofIdle)})
	}
	return points
}

// WriteCSV writes the curve as CSV with a header; unknown values are empty.
func (c *Curve) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"arrived", "allocated", "fragmented", "fragmented_of_idle"}}
	text := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	for _, p := range c.Points() {
		rows = append(rows, []string{strconv.Itoa(p.Arrived), text(p.Allocated), text(p.Fragmented), text(p.OfIdle)})
	}
	return out.WriteAll(rows)
}

// round rounds to two decimal digits.
func round(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 2, 64), 64) // the text was just written, so it is valid
	return rounded
}
