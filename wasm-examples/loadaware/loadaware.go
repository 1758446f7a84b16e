// Package loadaware is a plugin that keeps pods away from nodes that use much of their CPU or memory, and prefers those that use little. It
// decides as the filter and score of LoadAwareScheduling of Koordinator do by the usage of nodes
// (koordinator-sh/koordinator, pkg/scheduler/plugins/loadaware, v1.6).
package loadaware

import (
	_ "embed"
	"math"
	"strings"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// LoadAware is the plugin.
type LoadAware struct {
	berth.Base
	resources  [2]resource
	thresholds berth.NodeAnnotation
	stale      berth.Reason
	staleFits  bool
	pod        [2]int64 // what the pod is expected to use, by resource
	daemon     bool     // the pod is a DaemonSet's, which has no other node
}

// resource is the CPU or the memory.
type resource struct {
	name      string
	id        berth.Resource
	usage     berth.Feed
	exceeds   berth.Reason
	otherwise int64 // what a pod without a request is expected to use
	threshold int64 // percent of allocatable; 0 for none
	estimate  int64 // percent of requests
	weight    int64
}

var (
	_ berth.Configurer = (*LoadAware)(nil)
	_ berth.Preparer   = (*LoadAware)(nil)
	_ berth.Filterer   = (*LoadAware)(nil)
	_ berth.Scorer     = (*LoadAware)(nil)
)

// most bounds what is reported of a node, so that no sum of a few overflows.
const most = 1 << 53

// New returns the plugin.
func New() *LoadAware {
	b := berth.Load(Manifest)
	return &LoadAware{
		Base: b, thresholds: b.NodeAnnotation("scheduling.koordinator.sh/usage-thresholds"),
		stale: b.Reason("node(s) had a usage that is stale"),
		resources: [2]resource{
			{name: "cpu", id: b.Resource("cpu"), usage: b.Feed("node.cpu.usage:milli"),
				exceeds: b.Reason("node(s) used too much CPU"), otherwise: 250},
			{name: "memory", id: b.Resource("memory"), usage: b.Feed("node.memory.usage:bytes"),
				exceeds: b.Reason("node(s) used too much memory"), otherwise: 200 << 20},
		},
	}
}

// Configure reads the percentages; what is not given is Koordinator's default.
func (p *LoadAware) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("thresholds", "estimates", "weights", "staleFits")
	p.staleFits = c.Get("staleFits").Bool(false)
	for i, defaults := range [2][3]int64{{65, 85, 1}, {95, 70, 1}} {
		r := &p.resources[i]
		r.threshold = percent(c.Get("thresholds").Get(r.name), defaults[0])
		r.estimate = percent(c.Get("estimates").Get(r.name), defaults[1])
		r.weight = percent(c.Get("weights").Get(r.name), defaults[2])
	}
	return c.Err()
}

// percent reads a number from 0 to 100.
func percent(v config.Value, otherwise int64) int64 {
	n := v.Int64(otherwise)
	if n < 0 || n > 100 {
		v.Refuse("the number must be 0 to 100")
	}
	return n
}

// Prepare estimates what the pod will use: a part of its requests, or its whole limit where that is more.
func (p *LoadAware) Prepare(pod berth.Pod) berth.Status {
	p.daemon = strings.HasPrefix(p.Text(pod.Owner()), "DaemonSet/")
	for i := range p.resources {
		r := &p.resources[i]
		request, limit := pod.Request(r.id), pod.Limit(r.id)
		switch {
		case limit > request:
			p.pod[i] = min(limit, most)
		case request == 0:
			p.pod[i] = r.otherwise
		default:
			p.pod[i] = r.part(request)
		}
	}
	return berth.Success
}

// part returns what pods with such requests are expected to use.
func (r *resource) part(request int64) int64 { return (min(request, most)*r.estimate + 50) / 100 }

// used returns what the node is expected to use with the pod: the last sample, pods of which it knows nothing, and the pod.
func (p *LoadAware) used(node berth.Node, i int) int64 {
	r := &p.resources[i]
	return max(0, min(node.Feed(r.usage), most)) + r.part(node.RequestedSince(r.id)) + p.pod[i]
}

// state returns that of the node's usage: the worst of both.
func (p *LoadAware) state(node berth.Node) berth.FeedState {
	cpu, memory := node.FeedState(p.resources[0].usage), node.FeedState(p.resources[1].usage)
	switch {
	case cpu == berth.FeedNone || memory == berth.FeedNone:
		return berth.FeedNone
	case cpu == berth.FeedStale || memory == berth.FeedStale:
		return berth.FeedStale
	}
	return berth.FeedFresh
}

// Filter rejects a node that would use more than a threshold. A node of which nothing is known passes: the plugin only improves.
func (p *LoadAware) Filter(_ berth.Pod, node berth.Node) berth.Status {
	if p.daemon {
		return berth.Success
	}
	switch p.state(node) {
	case berth.FeedNone:
		return berth.Success
	case berth.FeedStale:
		if p.staleFits {
			return berth.Success
		}
		return berth.Unschedulable(p.stale)
	}
	own := p.own(node)
	for i := range p.resources {
		r := &p.resources[i]
		threshold, allocatable := r.threshold, node.Allocatable(r.id)
		if own != [2]int64{} {
			threshold = own[i]
		}
		if threshold > 0 && allocatable > 0 && math.Round(float64(p.used(node, i))/float64(allocatable)*100) > float64(threshold) {
			return berth.Unschedulable(r.exceeds)
		}
	}
	return berth.Success
}

// own returns the thresholds that an annotation gives the node instead; zeros if it has none, or is not understood.
func (p *LoadAware) own(node berth.Node) (out [2]int64) {
	text := p.Text(node.Annotation(p.thresholds))
	if text == "" {
		return out
	}
	c := config.Parse([]byte(text))
	for i := range p.resources {
		out[i] = percent(c.Get("usageThresholds").Get(p.resources[i].name), 0)
	}
	if c.Err() != nil {
		return [2]int64{}
	}
	return out
}

// Score prefers nodes that would use little of what is allocatable. Nodes of which nothing is known come last.
func (p *LoadAware) Score(_ berth.Pod, node berth.Node) int64 {
	if p.state(node) != berth.FeedFresh {
		return 0
	}
	var sum, weights int64
	for i := range p.resources {
		r := &p.resources[i]
		weights += r.weight
		if free, all := min(node.Allocatable(r.id), most)-p.used(node, i), min(node.Allocatable(r.id), most); free > 0 {
			sum += free * 100 / all * r.weight
		}
	}
	return sum / max(1, weights)
}
