// Package fitplus is a plugin that packs some resources and spreads others, keeps nodes with scarce resources for pods that need
// them, and prefers small or large nodes.
package fitplus

import (
	_ "embed"
	"math/bits"
	"slices"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// FitPlus is the plugin.
type FitPlus struct {
	berth.Base
	cpu, memory berth.Resource

	fits   []fit
	scarce []berth.Resource
	// What the parts of the score count; 0 for one that is not configured.
	fit, rare, size int64
	largest         bool
	reference       int64 // the size of the largest node, in thousandths of CPUs and GiB
}

// fit is a resource of spread or pack.
type fit struct {
	resource berth.Resource
	packs    bool
	weight   int64
}

var (
	_ berth.Configurer = (*FitPlus)(nil)
	_ berth.Scorer     = (*FitPlus)(nil)
)

// New returns the plugin.
func New() *FitPlus {
	b := berth.Load(Manifest)
	return &FitPlus{Base: b, cpu: b.Resource("cpu"), memory: b.Resource("memory")}
}

// Configure reads the resources and what they count.
func (p *FitPlus) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("spread", "pack", "weights", "scarce", "nodes", "largestNode", "parts")
	p.fits, p.scarce = nil, nil
	weights, named := c.Get("weights"), []string{}
	for _, list := range []string{"spread", "pack"} {
		for _, e := range c.Get(list).Elements() {
			name := e.Text("")
			if slices.Contains(named, name) {
				e.Refuse("the resource is in spread and pack already")
			}
			if r, ok := p.FindResource(name); ok {
				p.fits = append(p.fits, fit{resource: r, packs: list == "pack", weight: weights.Get(name).Int64(1)})
			}
			named = append(named, name)
		}
	}
	for _, w := range weights.Fields() {
		if !slices.Contains(named, w.Key()) {
			w.Refuse("neither spread nor pack has the resource")
		}
	}
	for _, e := range c.Get("scarce").Elements() {
		if r, ok := p.FindResource(e.Text("")); ok && !slices.Contains(p.scarce, r) {
			p.scarce = append(p.scarce, r)
		}
	}
	nodes, parts := c.Get("nodes"), c.Get("parts")
	p.largest = nodes.Text("") == "largest"
	if p.reference = 1; nodes.Exists() {
		p.reference = 1000 * c.Need("largestNode").Int64(1)
	}
	counts := func(part string, configured bool) int64 {
		if !configured {
			return 0
		}
		return parts.Get(part).Int64(1)
	}
	p.fit, p.rare, p.size = counts("fit", len(p.fits) > 0), counts("scarce", len(p.scarce) > 0), counts("size", nodes.Exists())
	if p.fit+p.rare+p.size == 0 {
		c.Refuse("all nodes would be equal: name resources in spread, pack or scarce, or nodes")
	}
	return c.Err()
}

// Score is the weighted mean of the parts, 0 to 100.
func (p *FitPlus) Score(pod berth.Pod, node berth.Node) int64 {
	sum := int64(0)
	if p.fit > 0 {
		sum += p.fit * p.fitOf(pod, node)
	}
	if p.rare > 0 {
		sum += p.rare * p.scarceOf(pod, node)
	}
	if p.size > 0 {
		sum += p.size * p.sizeOf(node)
	}
	return sum / (p.fit + p.rare + p.size)
}

// sizeOf is how near the node is to the size that is preferred, in percent. A CPU counts as much as a GiB.
func (p *FitPlus) sizeOf(node berth.Node) int64 {
	cpu, memory := max(0, node.Allocatable(p.cpu)), max(0, node.Allocatable(p.memory))>>20*1000>>10
	size := percent(min(cpu, p.reference-min(memory, p.reference))+min(memory, p.reference), p.reference)
	if p.largest {
		return size
	}
	return 100 - size
}

// fitOf is the weighted mean, over the resources that the pod requests, of what the node would have left or not, in percent.
func (p *FitPlus) fitOf(pod berth.Pod, node berth.Node) int64 {
	sum, weights := int64(0), int64(0)
	for _, f := range p.fits {
		request := pod.Request(f.resource)
		if request <= 0 {
			continue
		}
		weights += f.weight
		all := node.Allocatable(f.resource)
		used := max(0, node.Requested(f.resource))
		if used += request; used < 0 { // beyond 64 bits
			used = all
		}
		switch {
		case all <= 0:
		case f.packs:
			sum += f.weight * percent(min(used, all), all)
		case used <= all:
			sum += f.weight * percent(all-used, all)
		}
	}
	if weights == 0 {
		return 100
	}
	return sum / weights
}

// scarceOf is how few of the scarce resources the node has and the pod does not request, in percent.
func (p *FitPlus) scarceOf(pod berth.Pod, node berth.Node) int64 {
	wasted := 0
	for _, r := range p.scarce {
		if node.Allocatable(r) > 0 && pod.Request(r) <= 0 {
			wasted++
		}
	}
	return 100 - percent(int64(wasted), int64(max(1, len(p.scarce))))
}

// percent is 100 times part of whole, rounded down; part is between 0 and whole, which is more.
func percent(part, whole int64) int64 {
	high, low := bits.Mul64(uint64(part), 100)
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int64(quotient)
}
