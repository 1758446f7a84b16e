// Package experiment simulates the cluster of a recording with another configuration or plugin, and compares: which
// pods would be elsewhere, pending or preempted, and why. Nodes, other objects and pods come as they did in
// the recording; a simulation binds, confirms and evicts.
//
// Both sides are simulated, the recorded configuration too, so that they differ in nothing but the change.
// An attempt draws the random numbers of the same attempt in the recording.
package experiment

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// Config configures an experiment.
type Config struct {
	// Modules makes the plugins of the recording; it has a folder for its modules.
	Modules *assembly.Modules
	// Change returns what is tried: the recorded configuration, which it may change, with another
	// Scheduler, and the Modules that make its plugins, which are always the same. It is called again for each time at
	// which the recorded scheduler changed its plugins.
	Change func(recorded assembly.Config) (assembly.Config, error)
	// Workers is as in assembly.Config, and so is Reuse.
	Workers int
	Reuse   equivalence.Config
	// Progress (optional) is called with the number of pods that have been answered, of all simulations.
	Progress func(answered int)
	Log      *slog.Logger // optional
}

// Run reads a recording to its end and tries the change.
//
// # Errors
//
// The recording is damaged or cannot be used; the change cannot be made, or reads what was not recorded;
// the context ended.
func Run(ctx context.Context, r *record.Reader, c Config) (*Report, error) {
	d, err := read(r, c.Modules)
	if err != nil {
		return nil, err
	}
	x := &experiment{config: c, day: d, shapes: shapesOf(d)}
	asRecorded := func(a assembly.Config) (assembly.Config, error) { return a, nil }
	if err := d.usable(c); err != nil { // before anything takes time
		return nil, err
	}
	before, err := x.simulate(ctx, asRecorded, nil)
	if err != nil {
		return nil, fmt.Errorf("with the recorded configuration: %w", err)
	}
	for name, err := range before.refused {
		return nil, fmt.Errorf("the recorded plugin %s does not run here: %w", name, err)
	}
	after, err := x.simulate(ctx, c.Change, before)
	if err != nil {
		return nil, err
	}
	// Once more, to ask why each pod did not go where it goes now.
	if before, err = x.simulate(ctx, asRecorded, after); err != nil {
		return nil, err
	}
	return x.report(before, after), nil
}

// usable reports what is wrong with the configurations of the day, or with what the change makes of them.
func (d *day) usable(c Config) error {
	a, err := assembly.Replayed(d.settings, c.Modules)
	if err == nil {
		_, err = c.Change(a)
	}
	if err != nil {
		return err
	}
	for _, x := range d.follow(c.Modules, c.Change) {
		if x.Plugins == nil {
			continue
		}
		if _, err := x.Plugins(); err != nil {
			return fmt.Errorf("when the recorded scheduler changed its plugins at %s: %w", d.start.Add(x.At).UTC().Format(time.RFC3339), err)
		}
	}
	return nil
}

// follow returns what others did, with the plugins that the scheduler changed to, each with a change.
func (d *day) follow(modules *assembly.Modules, change func(assembly.Config) (assembly.Config, error)) []sim.Change {
	out := slices.Clone(d.changes)
	for i := range out {
		swap, ok := out[i].Event.(*inbox.Swap)
		if !ok {
			continue
		}
		settings := *d.settings
		settings.Config, settings.Attached = swap.Config, swap.Attached
		out[i].Plugins = func() (assembly.Config, error) {
			a, err := assembly.Replayed(&settings, modules)
			if err != nil {
				return a, err
			}
			return change(a)
		}
	}
	return out
}

// experiment is an experiment under way.
type experiment struct {
	config   Config
	day      *day
	shapes   *shapes
	answered int
}

// side is the fate of the pods with one of the configurations.
type side struct {
	pods    map[types.UID]fate
	samples []Sample
	totals  Totals
	notes   []string
	refused map[string]error
}

// fate is where a pod ended: its node, or why it has none.
type fate struct {
	namespace, name string
	node            string // "" if it is pending, or was evicted
	evictedFrom     string
	why             string
	reason          string  // the same in short
	waited          float64 // seconds until it was placed
	arrived         bool    // it was to be placed
}

// simulate runs the day with a change of its configurations. Of a pod that goes to another node than on the other side it
// asks why; the other side may be nil.
func (x *experiment) simulate(ctx context.Context, change func(assembly.Config) (assembly.Config, error), other *side) (*side, error) {
	d := x.day
	a, err := assembly.Replayed(d.settings, x.config.Modules)
	if err == nil {
		a, err = change(a)
	}
	if err != nil {
		return nil, err
	}
	a.Workers, a.Reuse, a.AllRows, a.WithoutExtenders = x.config.Workers, x.config.Reuse, true, true
	a.Candidates = max(a.Candidates, candidates)
	a.Recording, a.Draw = d.settings, d.draw()
	if d.settings.Ranked {
		a.Rank = func(node string) uint64 { return d.ranks[node] }
	}
	reasons, sampler := newReasons(other), x.shapes.sampler(d)
	c := sim.Config{
		Assembly: a, Start: d.start, Changes: d.follow(x.config.Modules, change), Storage: d.storage, PodDisruptionBudgets: d.budgets, Log: x.config.Log,
		Attempted: reasons.attempted, Watch: sampler.watch, Arrivals: d.arrivals(),
	}
	if x.config.Progress != nil {
		already := x.answered
		c.Progress = func(answered int) {
			x.answered = already + answered
			x.config.Progress(x.answered)
		}
	}
	var result *sim.Result
	var refused map[string]error
	if err := record.Guard(x.config.Log, func() error {
		s, err := sim.New(c)
		if err == nil {
			result, err = s.Run(ctx)
			refused = s.Refusals()
		}
		return err
	}); err != nil {
		return nil, err
	}
	out := newSide(d, result, reasons, sampler)
	out.refused = refused
	return out, nil
}

// arrivals returns the pods that were to be placed.
func (d *day) arrivals() (out []input.Arrival) {
	for _, p := range d.pods {
		out = append(out, p.arrival)
	}
	return out
}

// draw returns the numbers of attempts: those of the recording and, for further ones, numbers of the pod.
func (d *day) draw() func(uid types.UID) uint64 {
	tries := make(map[types.UID]int)
	return func(uid types.UID) uint64 {
		n := tries[uid]
		tries[uid] = n + 1
		if p := d.byUID[uid]; p != nil && n < len(p.numbers) {
			return p.numbers[n]
		}
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", uid, n)
		return h.Sum64()
	}
}

func newSide(d *day, r *sim.Result, reasons *reasons, s *sampler) *side {
	out := &side{pods: make(map[types.UID]fate), samples: s.samples}
	at := make(map[types.UID]float64, len(d.pods))
	for _, p := range d.pods {
		at[p.arrival.Pod.UID] = p.arrival.At.Seconds()
	}
	for _, p := range r.Placements {
		out.pods[p.UID] = fate{namespace: p.Namespace, name: p.Pod, node: p.Node, why: reasons.why[p.UID], reason: reasons.short[p.UID], waited: p.At.Seconds() - at[p.UID], arrived: true}
	}
	for _, p := range r.Unschedulable {
		out.pods[p.UID] = fate{namespace: p.Namespace, name: p.Pod, why: p.Message, reason: cmp.Or(reasons.short[p.UID], p.Message), arrived: true}
	}
	for _, e := range r.Evicted {
		_, arrived := at[e.UID]
		out.pods[e.UID] = fate{namespace: e.Namespace, name: e.Pod, evictedFrom: e.Node, why: "preempted for " + e.For, reason: "preempted", arrived: arrived}
	}
	// Pods that others placed, and that were evicted on one side only.
	for _, uid := range slices.Sorted(maps.Keys(d.byUID)) {
		if p := d.byUID[uid]; p.others && p.node != "" {
			if _, evicted := out.pods[uid]; !evicted {
				out.pods[uid] = fate{namespace: p.last.Namespace, name: p.last.Name, node: p.node}
			}
		}
	}
	out.totals = totals(out, r, s)
	for _, plugin := range r.Plugins {
		if plugin.Faults > 0 {
			out.notes = append(out.notes, fmt.Sprintf("%d calls of plugin %s ended in a fault, the first: %s", plugin.Faults, plugin.Name, plugin.FirstFault))
		}
	}
	return out
}
