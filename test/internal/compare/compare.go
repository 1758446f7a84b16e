// Package compare gives the same inputs to two plugins of the same name, Berth's own and
// kube-scheduler's through the bridge, and records where they differ.
package compare

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/upstream"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// Difference is an input for which the two gave different answers.
type Difference struct {
	Plugin string
	// What is the extension point, or a part of it: "Filter code", "Filter reasons".
	What string
	// Where names the step, the pod and the node.
	Where        string
	Ours, Theirs string
	// Pod is the pod of the call; nil for none.
	Pod *v1.Pod
	// Event is the event of a hint, and WhatIf the change of the node for a verdict on a
	// hypothetical node; nil for others.
	Event  *scenario.Event
	WhatIf *scenario.WhatIf
	// SharedPort reports that two pods have had the same host port on a node, in this step or
	// before.
	SharedPort bool
	// Hosted reports that both sides used kube-scheduler's plugins.
	Hosted bool
	// Step is the number of the step.
	Step int
	// Case is the number of the case; -1 for one from a file.
	Case int
	// Listed is the difference in docs/differences.md that this one is an instance of.
	Listed *Listed
}

func (d Difference) String() string {
	return fmt.Sprintf("%s %s (%s): ours %s, kube-scheduler %s", d.Plugin, d.What, d.Where, d.Ours, d.Theirs)
}

// Options configures what is compared.
type Options struct {
	// Mutate (optional) introduces a bug into our plugin.
	Mutate func(plugin.Plugin) plugin.Plugin
	// Full also compares what is expensive, or the same in every case: the bridge's NodeInfos
	// with kube-scheduler's, and the events that plugins register.
	Full bool
}

// Scenario runs a scenario and counts the comparisons. An error means that the scenario cannot
// be run.
func Scenario(s *scenario.Scenario, o Options, n *Counts) (differences []Difference, err error) {
	r := &run{name: s.Plugin, world: world.New(), counts: n}
	defer func() {
		if p := recover(); p != nil {
			r.differ("panic", fmt.Sprintf("%v", p), firstFrames(debug.Stack()))
			differences, err = r.differences, nil
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.bound = &bindings{}
	if r.ours, err = native.New(r.world, s.Plugin, s.Config, native.Bindings{Note: r.bound.note}); err != nil {
		return nil, fmt.Errorf("our %s: %w", s.Plugin, err)
	}
	if o.Mutate != nil {
		r.ours = o.Mutate(r.ours)
	}
	if r.theirs, err = upstream.Host(ctx, r.world, s.Plugin, s.Config, r.bound.client(s.Plugin)); err != nil {
		return nil, fmt.Errorf("kube-scheduler's %s: %w", s.Plugin, err)
	}
	n.Cases++
	if o.Full {
		r.points()
	}
	for i := range s.Steps {
		r.step = i
		if err := r.world.Apply(&s.Steps[i]); err != nil {
			return r.differences, fmt.Errorf("step %d: %w", i, err)
		}
		if o.Full {
			r.nodeInfos()
		}
		for j := range s.Steps[i].Ask {
			if r.ask(&s.Steps[i].Ask[j]); r.invalid != nil {
				return r.differences, fmt.Errorf("step %d: %w", i, r.invalid)
			}
		}
	}
	return r.differences, nil
}

// run is a running scenario.
type run struct {
	name   string
	world  *world.World
	ours   plugin.Plugin
	theirs *upstream.Hosted
	counts *Counts
	bound  *bindings

	step        int
	pod         *state.Pod
	node        string
	event       *scenario.Event
	whatIf      *scenario.WhatIf
	differences []Difference
	invalid     error // of the scenario
}

func (r *run) differ(what, ours, theirs string) {
	where := fmt.Sprintf("step %d", r.step)
	if r.pod != nil {
		where += ", pod " + r.pod.Key()
	}
	if r.node != "" {
		where += ", node " + r.node
	}
	d := Difference{Plugin: r.name, What: what, Where: where, Ours: ours, Theirs: theirs, Step: r.step, Event: r.event, WhatIf: r.whatIf}
	if r.pod != nil {
		d.Pod = r.pod.Object
	}
	r.counts.Note(&d)
	r.differences = append(r.differences, d)
}

// same records a difference of two values, and reports whether there is none.
func same[T comparable](r *run, what string, ours, theirs T) bool {
	if ours != theirs {
		r.differ(what, fmt.Sprint(ours), fmt.Sprint(theirs))
	}
	return ours == theirs
}

// status compares two statuses. The messages of errors may differ: they are not shown to pods.
func (r *run) status(what string, ours, theirs *plugin.Status) bool {
	if ours.CodeOf() != theirs.CodeOf() {
		r.differ(what+" code", describe(ours), describe(theirs))
		return false
	}
	if ours.CodeOf() == abi.Error {
		return true
	}
	if !sameReasons(r.name, ours.AllReasons(), theirs.AllReasons()) {
		r.differ(what+" reasons", describe(ours), describe(theirs))
		return false
	}
	return true
}

// sameReasons compares reasons in order. kube-scheduler's NodeResourcesFit returns those of
// scalar resources in the random order of a map.
func sameReasons(plugin string, ours, theirs []string) bool {
	if plugin == "NodeResourcesFit" {
		ours, theirs = slices.Sorted(slices.Values(ours)), slices.Sorted(slices.Values(theirs))
	}
	return slices.Equal(ours, theirs)
}

func describe(s *plugin.Status) string {
	return fmt.Sprintf("%s %q", s.CodeOf(), s.AllReasons())
}

// points compares the points that the plugins have and the events that they
// register.
func (r *run) points() {
	ours, theirs := names(plugin.Points(r.ours)), names(r.theirs.Points())
	same(r, "extension points", ours, theirs)
	for _, event := range allEvents() {
		covered := func(p plugin.Plugin) bool {
			return slices.ContainsFunc(p.Info().Events, func(e plugin.Event) bool { return e.Matches(event) })
		}
		same(r, fmt.Sprintf("registers %s/%s", event.Resource, actionName(event.Action)), covered(r.ours), covered(r.theirs))
	}
}

func names(points []abi.Point) string {
	var out []string
	for _, p := range points {
		out = append(out, p.String())
	}
	return strings.Join(out, " ")
}

// ask makes all calls of a query.
func (r *run) ask(q *scenario.Query) {
	r.pod = state.NewPod(q.Pod)
	defer func() { r.pod, r.node = nil, "" }()
	r.preEnqueue()
	r.order(q)
	r.events(q)
	r.cycle(q)
}

func (r *run) preEnqueue() {
	ours, ok := r.ours.(plugin.PreEnqueue)
	if !ok || !slices.Contains(plugin.Points(r.ours), abi.PreEnqueue) || !slices.Contains(r.theirs.Points(), abi.PreEnqueue) {
		return
	}
	var a, b [1]*plugin.Status
	ours.PreEnqueue([]*state.Pod{r.pod}, a[:])
	r.theirs.PreEnqueue([]*state.Pod{r.pod}, b[:])
	r.counts.Gates++
	r.status("PreEnqueue", a[0], b[0])
}

// newCycle is the input of a cycle for the pod, with its own state.
func (r *run) newCycle() *plugin.Cycle {
	return &plugin.Cycle{Context: context.Background(), Snapshot: r.world.Snapshot, Pod: r.pod, State: &state.CycleState{}}
}

// firstFrames is the part of a stack trace that shows the origin.
func firstFrames(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+3 < len(lines) {
			return strings.TrimSpace(lines[i+3])
		}
	}
	return ""
}
