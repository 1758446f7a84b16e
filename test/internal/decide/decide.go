// Package decide compares whole decisions: Berth's cycle with a profile's native
// plugins on its snapshot, and kube-scheduler's own engine, cache and plugins.
package decide

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/test/internal/compare"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// name is the name under which differences are recorded.
const name = "Decisions"

// Decision is the outcome for one pod.
type Decision struct {
	// Failed is a failure other than that the pod is unschedulable.
	Failed error
	// Node is the chosen node; empty if the pod is unschedulable, which Message explains.
	Node, Message string
	// Rejectors are the plugins that rejected the pod, Pending those that did so with this code;
	// sorted.
	Rejectors, Pending []string
	// Verdicts are the verdicts that reject nodes, by node name.
	Verdicts map[string]Verdict
	// Any holds the feasible nodes if nothing scores them: any of them may be chosen.
	Any []string
	// Totals are the sums of weighted scores of the feasible nodes, and Scores the weighted
	// scores by plugin; empty if there was only one node.
	Totals map[string]int64
	Scores map[string]map[string]int64

	preemption *preemption // ours, if the pod is unschedulable
}

// Verdict is why a node does not fit.
type Verdict struct {
	Plugin  string
	Code    abi.Code
	Reasons []string
}

func (v Verdict) String() string { return fmt.Sprintf("%s %s %q", v.Plugin, v.Code, v.Reasons) }

// best returns the nodes with the highest total.
func (d *Decision) best() []string {
	if d.Any != nil {
		return d.Any
	}
	if len(d.Totals) == 0 {
		return []string{d.Node}
	}
	highest := slices.Max(slices.Collect(maps.Values(d.Totals)))
	var out []string
	for node, total := range d.Totals {
		if total == highest {
			out = append(out, node)
		}
	}
	slices.Sort(out)
	return out
}

// Options configures what is compared.
type Options struct {
	// Mutate (optional) introduces a bug into our plugin of the name Mutated.
	Mutate  func(plugin.Plugin) plugin.Plugin
	Mutated string
	// Hosted makes Berth decide with kube-scheduler's own plugins through the bridge, except the
	// one that preempts.
	Hosted bool
}

// Scenario runs a scenario through both schedulers.
func Scenario(s *scenario.Scenario, options Options, n *compare.Counts) (differences []compare.Difference, err error) {
	r := &run{counts: n, hosted: options.Hosted}
	defer func() {
		if p := recover(); p != nil {
			r.differ("panic", fmt.Sprint(p), string(debug.Stack()))
			differences, err = r.differences, nil
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.world = world.New()
	if r.theirs, err = newTheirs(ctx, r.world, s.Config); err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	if r.ours, err = newOurs(ctx, r.world, s.Config, options); err != nil {
		return nil, fmt.Errorf("ours: %w", err)
	}
	defer r.ours.close()
	n.Cases++
	for i := range s.Steps {
		r.step = i
		if err := r.apply(&s.Steps[i]); err != nil {
			return r.differences, fmt.Errorf("step %d: %w", i, err)
		}
		for j := range s.Steps[i].Ask {
			if err := r.decide(&s.Steps[i].Ask[j]); err != nil {
				return r.differences, err
			}
		}
	}
	return r.differences, nil
}

type run struct {
	world       *world.World
	ours        *ours
	theirs      *theirs
	counts      *compare.Counts
	hosted      bool
	placed      int
	sharedPort  bool // see compare.Difference
	step        int
	pod         *v1.Pod
	differences []compare.Difference
}

// apply applies a step's changes to both.
func (r *run) apply(step *scenario.Step) error {
	if err := r.world.Apply(step); err != nil {
		return err
	}
	r.sharedPort = r.sharedPort || sharesPort(r.world)
	return r.theirs.follow()
}

// sharesPort reports whether two pods have the same host port on a node.
func sharesPort(w *world.World) bool {
	type use struct {
		node, ip string
		protocol v1.Protocol
		port     int32
	}
	used := make(map[use]string)
	_, pods := w.Objects()
	for _, pod := range pods {
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for _, p := range c.Ports {
				u := use{pod.Spec.NodeName, cmp.Or(p.HostIP, "0.0.0.0"), cmp.Or(p.Protocol, v1.ProtocolTCP), p.HostPort}
				if owner, ok := used[u]; ok && owner != string(pod.UID) && p.HostPort > 0 {
					return true
				}
				used[u] = string(pod.UID)
			}
		}
	}
	return false
}

// differ records a difference and reports whether it is a listed one.
func (r *run) differ(what, ours, theirs string) bool {
	where := fmt.Sprintf("step %d", r.step)
	if r.pod != nil {
		where += ", pod " + r.pod.Namespace + "/" + r.pod.Name
	}
	d := compare.Difference{Plugin: name, What: what, Where: where, Ours: ours, Theirs: theirs, Pod: r.pod, Step: r.step, SharedPort: r.sharedPort, Hosted: r.hosted}
	r.counts.Note(&d)
	r.differences = append(r.differences, d)
	return d.Listed != nil
}

// decide makes both sides decide about a pod, and places it where ours does.
func (r *run) decide(q *scenario.Query) error {
	r.pod = q.Pod
	defer func() { r.pod = nil }()
	a := r.ours.decide(q)
	b := r.theirs.decide(q)
	r.counts.Decisions++
	if b.Node != "" {
		r.counts.Placed++
	}
	r.compare(&a, &b)
	if a.Node == "" || !q.Place {
		return nil
	}
	placed := q.Pod.DeepCopy()
	placed.Spec.NodeName = a.Node
	// Two pods that have not started may be victims in either order.
	r.placed++
	at := metav1.NewTime(time.Date(2026, 1, 1, 5, 0, r.placed, 0, time.UTC))
	placed.Status.StartTime = &at
	return r.apply(&scenario.Step{Set: scenario.Objects{Pods: []*v1.Pod{placed}}})
}

func (r *run) compare(a, b *Decision) {
	if (a.Failed != nil) != (b.Failed != nil) {
		r.differ("failure", fmt.Sprint(a.Failed), fmt.Sprint(b.Failed))
	}
	if a.Failed != nil || b.Failed != nil {
		return
	}
	if b.Any == nil { // otherwise the search ends at the first node that fits
		r.verdicts(a, b)
	}
	if (a.Node == "") != (b.Node == "") {
		r.differ("fits", fmt.Sprintf("%q %s", a.Node, a.Message), fmt.Sprintf("%q %s", b.Node, b.Message))
		return
	}
	if b.Node == "" {
		r.same("message", a.Message, r.withOurs(a.preemption, b.Message))
		r.same("rejectors", fmt.Sprint(a.Rejectors), fmt.Sprint(b.Rejectors))
		r.same("pending", fmt.Sprint(a.Pending), fmt.Sprint(b.Pending))
		if a.preemption != nil && r.theirs.preemption != nil {
			r.preemption(a.preemption, r.theirs.preemption)
		}
		return
	}
	if b.Any != nil {
		if !slices.Contains(b.Any, a.Node) {
			r.differ("node", a.Node, strings.Join(b.Any, " or "))
		}
		return
	}
	r.scores(a, b)
}

// scores compares the scores. Scores of a plugin that differ in a listed way are left out of
// the sums.
func (r *run) scores(a, b *Decision) {
	r.counts.Normalized += len(b.Totals)
	without := false
	for _, plugin := range keys(a.Scores, b.Scores) {
		if a.Scores[plugin] == nil && indifferent(b.Scores[plugin]) {
			continue // ours was not asked
		}
		if x, y := text(a.Scores[plugin]), text(b.Scores[plugin]); x != y && r.differ("score of "+plugin, x, y) {
			without = true
			a.leaveOut(plugin)
			b.leaveOut(plugin)
		}
	}
	r.same("total scores", text(a.Totals), text(b.Totals))
	if without {
		return // they do not show which node is best
	}
	// Either node could have been chosen by the other.
	if best := b.best(); !slices.Contains(best, a.Node) {
		r.differ("node", a.Node, strings.Join(best, " or "))
	}
	if best := a.best(); !slices.Contains(best, b.Node) {
		r.differ("node the other way", strings.Join(best, " or "), b.Node)
	}
}

// indifferent reports whether all nodes score 0.
func indifferent(scores map[string]int64) bool {
	for _, score := range scores {
		if score != 0 {
			return false
		}
	}
	return true
}

// leaveOut removes the scores of a plugin from the totals.
func (d *Decision) leaveOut(plugin string) {
	for node, score := range d.Scores[plugin] {
		d.Totals[node] -= score
	}
}

func (r *run) same(what, ours, theirs string) {
	if ours != theirs {
		r.differ(what, ours, theirs)
	}
}

func (r *run) verdicts(a, b *Decision) {
	for _, node := range keys(a.Verdicts, b.Verdicts) {
		x, y := a.Verdicts[node], b.Verdicts[node]
		if y.Plugin == "" && y.Code != abi.Success {
			x.Plugin = "" // a node that PreFilter excluded has no plugin there
		}
		r.counts.Verdicts++
		r.counts.See(y.Code, y.Reasons)
		// kube-scheduler's NodeResourcesFit gives reasons in the order of a map.
		slices.Sort(x.Reasons)
		slices.Sort(y.Reasons)
		r.same(fmt.Sprintf("verdict of %s and %s", x.Plugin, y.Plugin), node+": "+x.String(), node+": "+y.String())
	}
}

func keys[V any](a, b map[string]V) []string {
	all := make(map[string]bool, len(a))
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// text writes scores by node.
func text(scores map[string]int64) string {
	type pair struct {
		node  string
		score int64
	}
	var all []pair
	for node, score := range scores {
		all = append(all, pair{node, score})
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.node, b.node)) })
	var out []string
	for _, p := range all {
		out = append(out, fmt.Sprintf("%s %d", p.node, p.score))
	}
	return strings.Join(out, ", ")
}
