package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// The version and the kind of a Report in JSON.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "Experiment"
)

// Report is what a change would have moved.
type Report struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Recording  Recording `json:"recording"`
	// Before has the recorded configuration, After the other one. Both are simulated.
	Before Totals `json:"before"`
	After  Totals `json:"after"`
	// Changes counts Moves by what changed.
	Changes map[Change]int `json:"changes"`
	// Groups count Moves by what the pods have in common.
	Groups Groups `json:"groups"`
	// Moves are the pods that changed, by namespace and name.
	Moves []Move `json:"moves"`
	// Notes say what is not as it would have been.
	Notes []string `json:"notes"`
	// SamplesBefore and SamplesAfter are the measurements, at the same moments.
	SamplesBefore []Sample `json:"samplesBefore"`
	SamplesAfter  []Sample `json:"samplesAfter"`
	// ByTime is true if the samples are taken in the course of time, false if pod by pod.
	ByTime bool `json:"byTime"`
}

// Recording is what was repeated.
type Recording struct {
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Events int       `json:"events"`
	// Cut is true if the recording was not closed.
	Cut bool `json:"cut"`
	// Pods is the number of pods that were to be placed. Same is how many of them the simulation of the
	// recorded configuration left where the recording did, or pending as there. Others counts the rest by what is
	// different in that simulation.
	Pods   int            `json:"pods"`
	Same   int            `json:"same"`
	Others map[Change]int `json:"others,omitempty"`
	// Swaps is how often the scheduler changed its plugins after it had begun. Both simulations do so, too.
	Swaps int `json:"swaps"`
}

// Totals is what a side did.
type Totals struct {
	Placed   int    `json:"placed"` // pods, evicted ones apart
	Pending  int    `json:"pending"`
	Evicted  int    `json:"evicted"`
	Attempts uint64 `json:"attempts"`
	// WaitSeconds is the mean time until a pod was placed, of those that were.
	WaitSeconds float64    `json:"waitSeconds"`
	Resources   []Resource `json:"resources"`
	Spread      Spread     `json:"spread"`
}

// Resource is a resource of the cluster: means over the samples, in percent, as in ResourceState.
type Resource struct {
	Resource   v1.ResourceName `json:"resource"`
	Requested  float64         `json:"requested"`
	Fragmented float64         `json:"fragmented"`
	Deviation  float64         `json:"deviation"`
}

// Spread says how evenly pods are spread: means over the samples.
type Spread struct {
	// NodesUsed is the number of nodes with pods.
	NodesUsed float64 `json:"nodesUsed"`
	// SameNode is the largest share of a controller's pods on one node, in percent: the mean over
	// controllers with several pods on nodes; 0 without any. SameZone is the same for zones.
	SameNode float64 `json:"sameNode"`
	SameZone float64 `json:"sameZone"`
}

// Change is what became different for a pod. Changes never change their meaning.
type Change string

// The changes.
const (
	// Elsewhere: it is placed on both sides, on different nodes.
	Elsewhere Change = "Elsewhere"
	// Pending: it was placed, and now stays pending.
	Pending Change = "Pending"
	// Placed: it stayed pending, and now is placed.
	Placed Change = "Placed"
	// Preempted: it was not preempted, and now is.
	Preempted Change = "Preempted"
	// Spared: it was preempted, and now is not.
	Spared Change = "Spared"
)

// Changes returns them in the order of reports.
func Changes() []Change { return []Change{Elsewhere, Pending, Placed, Preempted, Spared} }

// Move is a pod that changed.
type Move struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Change    Change `json:"change"`
	// Controller is the pod's, as KIND NAME; empty if there is none.
	Controller string `json:"controller,omitempty"`
	// Reason says in a few words why the pod changed.
	Reason string `json:"reason,omitempty"`
	// Recorded is the node in the recording; empty if there was none.
	Recorded string `json:"recorded,omitempty"`
	Before   Fate   `json:"before"`
	After    Fate   `json:"after"`
}

// Fate is what became of a pod on a side.
type Fate struct {
	// Node is where it was placed; of a pod that was preempted the node that it left.
	Node string `json:"node,omitempty"`
	// Why is the reason: for the node and against that of the other side, or for none.
	Why string `json:"why"`
	// WaitSeconds is how long it waited until it was placed.
	WaitSeconds float64 `json:"waitSeconds,omitempty"`
}

func (f *fate) public() Fate {
	return Fate{Node: cmp.Or(f.node, f.evictedFrom), Why: f.why, WaitSeconds: f.waited}
}

// report compares the sides.
func (x *experiment) report(before, after *side) *Report {
	d := x.day
	r := &Report{
		APIVersion: APIVersion, Kind: Kind, Before: before.totals, After: after.totals, Changes: make(map[Change]int), Moves: []Move{},
		Recording:     Recording{Start: d.start.UTC(), End: d.now.UTC(), Events: d.events, Cut: d.cut, Pods: len(d.pods), Others: make(map[Change]int), Swaps: d.swaps},
		SamplesBefore: before.samples, SamplesAfter: after.samples, ByTime: x.shapes.sampler(d).length > 0,
	}
	for _, p := range d.pods {
		recorded := p.node
		if p.evicted {
			recorded = ""
		}
		if different := compare(&fate{node: recorded}, &fate{node: before.pods[p.arrival.Pod.UID].node}); different != "" {
			r.Recording.Others[different]++
		} else {
			r.Recording.Same++
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(before.pods)) {
		was := before.pods[uid]
		now, ok := after.pods[uid]
		if !ok {
			continue
		}
		change := compare(&was, &now)
		if change == "" {
			continue
		}
		r.Changes[change]++
		r.Moves = append(r.Moves, Move{
			Namespace: was.namespace, Pod: was.name, Change: change, Controller: controllerOf(d.byUID[uid].last), Reason: reasonOf(change, &was, &now),
			Recorded: d.byUID[uid].node, Before: was.public(), After: now.public(),
		})
	}
	slices.SortStableFunc(r.Moves, func(a, b Move) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod))
	})
	r.Groups = d.groups(r.Moves)
	r.Notes = x.notes(after)
	return r
}

func compare(was, now *fate) Change {
	switch {
	case was.evictedFrom == "" && now.evictedFrom != "":
		return Preempted
	case was.evictedFrom != "" && now.evictedFrom == "":
		return Spared
	case was.node == now.node:
		return ""
	case now.node == "":
		return Pending
	case was.node == "":
		return Placed
	}
	return Elsewhere
}

// notes says what the simulations cannot know.
func (x *experiment) notes(after *side) []string {
	d := x.day
	out := []string{
		"Bindings, evictions and volumes are simulated on both sides. A pod runs as long as it ran in the recording, from its placement on; one that was not placed there, or had not ended, stays.",
		"Replacements of pods by controllers are not modelled: a pod comes if it came in the recording, even if it replaced one that was preempted only there, and a pod that is preempted now is not replaced.",
	}
	if d.lacks != "" {
		out = append(out, "The recording cannot be repeated exactly: "+d.lacks+".")
	}
	if d.extenders > 0 {
		out = append(out, "HTTP extenders are asked on neither side.")
	}
	if d.swaps > 0 {
		times := "once"
		if d.swaps > 1 {
			times = fmt.Sprintf("%d times", d.swaps)
		}
		out = append(out, "The recorded scheduler changed its plugins "+times+" after it had begun, and so do both simulations. --config replaces the profiles for all of the time, but for the modules of plugin folders; --plugin is there in addition.")
	}
	if d.cut {
		out = append(out, record.ErrCut.Error()+".")
	}
	if d.why != "" {
		out = append(out, "The recording ends before its scheduler: "+d.why+".")
	}
	for _, name := range slices.Sorted(maps.Keys(after.refused)) {
		out = append(out, fmt.Sprintf("With the change, the attached plugin %s does not run: %v", name, after.refused[name]))
	}
	return append(out, after.notes...)
}

// totals adds a side up.
func totals(s *side, r *sim.Result, m *sampler) Totals {
	out := Totals{Placed: r.Summary.Scheduled, Pending: r.Summary.Unschedulable, Evicted: r.Summary.Evicted, Attempts: r.Summary.Attempts}
	waited := 0.0
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		waited += s.pods[uid].waited
	}
	if out.Placed > 0 {
		out.WaitSeconds = rounded(waited / float64(out.Placed))
	}
	n := float64(len(s.samples))
	for i, name := range m.shapes.resources {
		sum := Resource{Resource: name}
		for j := range s.samples {
			state := &s.samples[j].Resources[i]
			sum.Requested += state.Requested / n
			sum.Fragmented += state.Fragmented / n
			sum.Deviation += state.Deviation / n
		}
		sum.Requested, sum.Fragmented, sum.Deviation = rounded(sum.Requested), rounded(sum.Fragmented), rounded(sum.Deviation)
		out.Resources = append(out.Resources, sum)
	}
	for j := range s.samples {
		out.Spread.NodesUsed += float64(s.samples[j].NodesUsed) / n
		out.Spread.SameNode += s.samples[j].SameNode / n
		out.Spread.SameZone += s.samples[j].SameZone / n
	}
	out.Spread = Spread{rounded(out.Spread.NodesUsed), rounded(out.Spread.SameNode), rounded(out.Spread.SameZone)}
	return out
}
