package decide

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/upstream"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// ours is Berth's cycle over a world.
type ours struct {
	world    *world.World
	workers  *pipeline.Workers
	pipeline *pipeline.Pipeline
	cycle    *cycle.Cycle
	sequence uint64
	watched  *watched // nil if the profile does not preempt
}

func newOurs(ctx context.Context, w *world.World, configuration []byte, options Options) (*ours, error) {
	c, err := native.Load(configuration)
	if err != nil {
		return nil, err
	}
	workers, err := pipeline.NewWorkers(1)
	if err != nil {
		return nil, err
	}
	profile := &c.Profiles[0]
	registry := hostplugins.All(native.Deps(w, native.Bindings{}))
	if options.Hosted {
		theirs, err := upstream.Registry(ctx, w, configuration)
		if err != nil {
			workers.Close()
			return nil, err
		}
		theirs[preempts] = registry[preempts] // theirs evicts by itself
		registry = theirs
	}
	made := make(map[string]plugin.Plugin)
	points := make(map[abi.Point][]pipeline.Entry)
	var watch *watched
	for _, point := range abi.Points() {
		for _, ref := range profile.Points[configName(point)] {
			p, ok := made[ref.Name]
			if !ok {
				if p, err = registry.New(ref.Name, profile.Args[ref.Name].Typed); err != nil {
					workers.Close()
					return nil, err
				}
				if options.Mutate != nil && p.Info().Name == options.Mutated {
					p = options.Mutate(p)
				}
				if ref.Name == preempts {
					watch = &watched{of: p.(plugin.PostFilter)}
					p = watch
				}
				made[ref.Name] = p
			}
			points[point] = append(points[point], pipeline.Entry{Plugin: p, Weight: int64(ref.Weight)})
		}
	}
	p, err := pipeline.New(pipeline.Config{
		Profile: profile.SchedulerName, Points: points,
		// A plugin that is not built is left out of both profiles.
		AllowUnenforced: ^state.Feature(0),
	}, pipeline.Deps{Workers: workers})
	if err != nil {
		workers.Close()
		return nil, err
	}
	return &ours{world: w, workers: workers, pipeline: p, cycle: cycle.New(cycle.Config{Candidates: 1 << 16, AllRows: true, Reuse: equivalence.Default()}), watched: watch}, nil
}

func (o *ours) close() { o.workers.Close() }

func configName(point abi.Point) string {
	name := point.String()
	return string(name[0]|0x20) + name[1:]
}

func (o *ours) decide(q *scenario.Query) Decision {
	o.sequence++
	if o.watched != nil {
		o.watched.candidates = nil
	}
	nominated := newNominations(q.Nominated)
	d := o.cycle.Schedule(cycle.Input{
		Context: context.Background(), Snapshot: o.world.Snapshot, Pod: &state.QueuedPod{Pod: state.NewPod(q.Pod)},
		Pipeline: o.pipeline, Nominations: nominated, Seed: o.sequence, Sequence: o.sequence,
	})
	out := Decision{Rejectors: d.Rejectors, Pending: d.Pending, Verdicts: make(map[string]Verdict)}
	switch {
	case d.Node != nil:
		out.Node = d.Node.Name
	case !d.Status.Rejected():
		out.Failed = d.Status.AsError()
		return out
	default:
		out.Message = d.Status.Message()
		out.preemption = o.preemption(&d.Nomination, nominated)
	}
	a := d.Attempt.Clone(o.world.Snapshot.Name)
	for i := range a.Rejections {
		r := &a.Rejections[i]
		for _, node := range r.Nodes {
			out.Verdicts[node] = Verdict{Plugin: r.Plugin, Code: r.Code, Reasons: slices.Clone(r.Reasons)}
		}
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		if len(a.Candidates) == 1 {
			continue
		}
		if out.Totals == nil {
			out.Totals, out.Scores = make(map[string]int64), make(map[string]map[string]int64)
		}
		out.Totals[c.Node] = c.Total
		for _, s := range c.Scores {
			if out.Scores[s.Plugin] == nil {
				out.Scores[s.Plugin] = make(map[string]int64)
			}
			out.Scores[s.Plugin][c.Node] = s.Weighted
		}
	}
	if len(a.Candidates) != a.Feasible && out.Node != "" {
		panic(fmt.Sprintf("BUG: %d candidates of %d feasible nodes", len(a.Candidates), a.Feasible))
	}
	return out
}

func (o *ours) preemption(n *plugin.PostFilterResult, nominated *nominations) *preemption {
	p := &preemption{nomination: nomination(n.Override, n.NominatedNode), chosen: podKeys(n.Preemption.Victims)}
	if o.watched != nil {
		p.candidates = o.watched.candidates
	}
	for _, pod := range nominated.pods[n.NominatedNode] {
		if slices.Contains(n.Preemption.ClearNominations, pod.UID) {
			p.void = append(p.void, pod.Key())
		}
	}
	slices.Sort(p.void)
	return p
}

// nominations holds nominated pods, by node.
type nominations struct {
	nodes []string
	pods  map[string][]*state.Pod
}

func newNominations(pods []*v1.Pod) *nominations {
	n := &nominations{pods: make(map[string][]*state.Pod)}
	for _, pod := range pods {
		node := pod.Status.NominatedNodeName
		if n.pods[node] == nil {
			n.nodes = append(n.nodes, node)
		}
		n.pods[node] = append(n.pods[node], state.NewPod(pod))
	}
	slices.Sort(n.nodes)
	return n
}

// Len implements state.Nominations.
func (n *nominations) Len() int { return len(n.nodes) }

// Nodes implements state.Nominations.
func (n *nominations) Nodes(yield func(node string, pods []*state.Pod) bool) {
	for _, node := range n.nodes {
		if !yield(node, n.pods[node]) {
			return
		}
	}
}
