package whatif

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// maxExplained is how many pods that do not fit are explained. Pods of one template have the same reasons.
const maxExplained = 20

// between is the time between two pods with a change: each is alone in the cluster.
const between = time.Minute

// explain explains the first pod of each template that does not fit, and looks for a change with which it
// would: all changes of all pods are tried one after the other in one simulation, beside the pods that fit.
func (q *question) explain(ctx context.Context) ([]*report.Explanation, error) {
	var out []*report.Explanation
	var trials []trial
	seen := make(map[string]bool)
	for i := range q.pods {
		p := &q.pods[i]
		if p.answer.Code != DoesNotFit || p.attempt == nil || len(out) == maxExplained || seen[p.answer.Group()] {
			continue
		}
		seen[p.answer.Group()] = p.answer.From == ""
		e := report.Explain(p.attempt)
		e.Code, e.Node, e.Nominated, e.Message = report.DoesNotFit, "", "", p.answer.Message
		for _, t := range q.trials(p.pod) {
			t.of = e
			e.Tried++
			trials = append(trials, t)
		}
		out = append(out, e)
	}
	if len(trials) == 0 {
		return out, nil
	}
	return out, q.try(ctx, trials)
}

// trial is a pod with a change.
type trial struct {
	of     *report.Explanation
	change report.Change
	pod    *v1.Pod
	node   *v1.Node // with a label; nil for none
}

// try confirms trials, and writes the first that succeeds into each explanation.
func (q *question) try(ctx context.Context, trials []trial) error {
	c := q.config
	c.Attempted, c.Arrivals = nil, nil
	c.Bound = q.placed
	byUID := make(map[types.UID]int, len(trials))
	for i := range trials {
		t := &trials[i]
		at := time.Duration(i+1) * between
		c.Storage = slices.Concat(c.Storage, q.become(t.pod, fmt.Sprintf("%s-%d", t.pod.Name, i), types.UID(fmt.Sprintf("whatif-change-%d", i))))
		never := v1.PreemptNever
		t.pod.Spec.PreemptionPolicy = &never
		byUID[t.pod.UID] = i
		c.Arrivals = append(c.Arrivals, input.Arrival{Pod: t.pod, At: at, Until: at + 1})
		if t.node == nil {
			continue
		}
		for _, n := range q.config.Nodes {
			if n.Name == t.node.Name {
				c.Changes = append(c.Changes,
					sim.Change{At: at, Event: &inbox.Node{Node: state.NewNode(t.node)}},
					sim.Change{At: at + 1, Event: &inbox.Node{Node: state.NewNode(n)}})
			}
		}
	}
	_, confirmed, err := simulate(ctx, c)
	if err != nil {
		return err
	}
	nodes := make(map[int]string)
	for _, p := range confirmed.Placements {
		if i, ok := byUID[p.UID]; ok {
			nodes[i] = p.Node
		}
	}
	for i := range trials {
		t := &trials[i]
		if node, fits := nodes[i]; fits && t.of.Change == nil {
			t.change.Node = node
			t.of.Change = &t.change
		}
	}
	return nil
}

// after returns the pods on nodes once the pods that fit are placed, and their victims have left.
func (q *question) after(r *sim.Result) (out []*state.Pod) {
	gone := make(map[types.UID]bool)
	for _, e := range r.Evicted {
		gone[e.UID] = true
	}
	for _, p := range q.config.Bound {
		if !gone[p.UID] {
			out = append(out, p)
		}
	}
	pods := make(map[types.UID]*v1.Pod, len(q.config.Arrivals))
	for _, a := range q.config.Arrivals {
		pods[a.Pod.UID] = a.Pod
	}
	for _, p := range r.Placements {
		if pod := pods[p.UID]; pod != nil {
			out = append(out, state.NewPod(pod).On(p.Node, state.Patch{}))
		}
	}
	return out
}
