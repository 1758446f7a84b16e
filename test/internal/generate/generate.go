// Package generate draws scenarios. For each plugin it draws much of what the plugin evaluates,
// from few values so that many collide, and a little of everything else.
package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// Aspect is a part of the API that an object may use.
type Aspect int

// The aspects.
const (
	Resources Aspect = iota
	Shapes           // of pods: init containers, sidecars, overhead, pod-level resources, resizes
	Ports
	Taints
	NodeAffinity
	Images
	Spread
	PodAffinity
	Volumes
	Disks // of cloud providers, in the pod's spec
	Gates
	Cordons
	NodeNames
	Features // that nodes declare
	Priorities

	numAspects
)

// Whole decisions, of pods that use everything, of pods that are unschedulable unless
// others are evicted, and of pods whose resize in place the kubelet has deferred.
const (
	Decisions  = "Decisions"
	Preemption = "Preemption"
	Resizes    = "Resizes"
)

// often and seldom are the probabilities of an aspect that a plugin evaluates, and of any
// other.
const (
	often  = 0.75
	seldom = 0.04
)

// aspects lists what plugins, and Preemption, evaluate.
func aspects(subject string) []Aspect {
	return map[string][]Aspect{
		"SchedulingGates":                 {Gates},
		"PrioritySort":                    {Priorities},
		"NodeName":                        {NodeNames},
		"NodeUnschedulable":               {Cordons, Taints},
		"TaintToleration":                 {Taints},
		"NodeAffinity":                    {NodeAffinity},
		"NodePorts":                       {Ports},
		"NodeResourcesFit":                {Resources, Shapes},
		"NodeResourcesBalancedAllocation": {Resources, Shapes},
		"ImageLocality":                   {Images},
		"DefaultBinder":                   {},
		"PodTopologySpread":               {Spread, Taints, NodeAffinity},
		"InterPodAffinity":                {PodAffinity},
		"VolumeRestrictions":              {Volumes, Disks},
		"VolumeZone":                      {Volumes},
		"NodeVolumeLimits":                {Volumes, Disks},
		"VolumeBinding":                   {Volumes},
		"NodeDeclaredFeatures":            {Features, Shapes},
		"DefaultPreemption":               {Resources, Priorities},
		Preemption:                        {Resources, Priorities},
		Resizes:                           {Resources, Priorities},
	}[subject]
}

// Generator draws objects. Equal seeds draw equal scenarios.
type Generator struct {
	*rand.Rand
	chances [numAspects]float64
	plugin  string // empty for whole decisions
	// preempt makes pods unschedulable without preemption.
	preempt bool
	resizes bool // asks about pods whose resize is deferred
	pods    int  // so far, for names
	nodes   int
}

// New returns a generator of the n-th case of a plugin, of Decisions or of
// Preemption.
func New(seed uint64, subject string, n int) *Generator {
	h := seed
	for _, c := range subject {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	g := &Generator{Rand: rand.New(rand.NewPCG(h, uint64(n))), plugin: subject}
	switch subject {
	case Decisions, Preemption, Resizes:
		g.plugin, g.preempt, g.resizes = "", subject != Decisions, subject == Resizes
	}
	for a := range g.chances {
		g.chances[a] = seldom
	}
	for _, a := range aspects(subject) {
		g.chances[a] = often
	}
	if g.plugin == "" {
		most := 5
		if g.preempt {
			most = 2
		}
		for range most - g.IntN(3) {
			g.chances[g.IntN(int(numAspects))] = 0.1 + 0.6*g.Float64()
		}
	}
	return g
}

// has reports whether an object has an aspect.
func (g *Generator) has(a Aspect) bool { return g.Float64() < g.chances[a] }

// hasRather is has with a second chance.
func (g *Generator) hasRather(a Aspect) bool {
	miss := 1 - g.chances[a]
	return g.chance(1 - miss*miss)
}

// chance returns true with a probability.
func (g *Generator) chance(p float64) bool { return g.Float64() < p }

// upTo draws 0 … n.
func (g *Generator) upTo(n int) int { return g.IntN(n + 1) }

func pick[T any](g *Generator, from ...T) T { return from[g.IntN(len(from))] }

// some draws up to most distinct elements, in order.
func some[T any](g *Generator, most int, from ...T) []T {
	n := g.upTo(min(most, len(from)))
	at := g.Perm(len(from))[:n]
	slices.Sort(at)
	out := make([]T, 0, n)
	for _, i := range at {
		out = append(out, from[i])
	}
	return out
}

func namespace(i int) string { return fmt.Sprintf("ns%d", i) }

const numNamespaces = 3

// meta is the metadata of an object in a namespace.
func meta(ns, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID("uid-" + name)}
}

// Scenario draws a case: a cluster in two to four steps, and a few queries at each.
func (g *Generator) Scenario() *scenario.Scenario {
	s := &scenario.Scenario{Plugin: g.plugin, Config: g.config()}
	c := &cluster{g: g}
	steps := 1 + g.upTo(3)
	for i := range steps {
		var step scenario.Step
		if i == 0 {
			step.Set = c.begin()
		} else {
			c.change(&step)
		}
		asked := 2 + g.upTo(4)
		if g.preempt || podsOnly(g.plugin) {
			asked *= 4 // most of the time goes into setting up the cluster
		}
		for range asked {
			if g.plugin == "" {
				step.Ask = append(step.Ask, c.decision())
			} else {
				step.Ask = append(step.Ask, c.query())
			}
		}
		s.Steps = append(s.Steps, step)
	}
	return s
}

// podsOnly reports whether a plugin is not called for nodes.
func podsOnly(plugin string) bool {
	return plugin == "SchedulingGates" || plugin == "PrioritySort" || plugin == "DefaultBinder"
}

// query draws a pod and the calls for it.
func (c *cluster) query() scenario.Query {
	g := c.g
	q := scenario.Query{Pod: g.pod(c.names())}
	// VolumeBinding scores what its Filter has found, and so only nodes that passed it.
	if g.plugin != "VolumeBinding" && g.chance(0.5) {
		q.Feasible = some(g, len(c.names()), c.names()...)
	}
	if g.chance(0.4) {
		q.WhatIf = c.whatIf()
	}
	for range g.upTo(4) {
		q.Events = append(q.Events, c.event(q.Pod))
	}
	if g.has(Priorities) || g.plugin == "PrioritySort" {
		other := g.pod(c.names())
		q.Against = &scenario.Queued{Pod: other, After: pick(g, 0, 0, time.Millisecond, -time.Millisecond)}
	}
	return q
}

// whatIf removes pods from a node and adds others.
func (c *cluster) whatIf() *scenario.WhatIf {
	g := c.g
	w := &scenario.WhatIf{Node: pick(g, c.names()...)}
	var on []*v1.Pod
	for _, p := range c.pods {
		if p.Spec.NodeName == w.Node {
			on = append(on, p)
		}
	}
	for _, p := range some(g, len(on), on...) {
		w.Remove = append(w.Remove, scenario.RefOf(scenario.KindPod, p))
	}
	for range g.upTo(2) {
		w.Add = append(w.Add, g.placedPod(w.Node))
	}
	return w
}
