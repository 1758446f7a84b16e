package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// preemption is what PostFilter did for an unschedulable pod.
type preemption struct {
	// nomination is keep, none, or the name of a node after to.
	nomination string
	// candidates are the tried nodes on which the pod fits without victims.
	candidates map[string]victims
	// chosen are the victims on the nominated node, and void the pods whose nomination to it is
	// cleared, sorted.
	chosen, void []string
}

// preempts is the name of the plugin that preempts, on both sides.
const preempts = "DefaultPreemption"

const (
	keep = "keep"
	none = "clear"
	to   = "to "
)

// victims are the pods to be evicted from a node, as namespace/name, the most important first.
type victims struct {
	pods       []string
	violations int64
}

func nomination(override bool, node string) string {
	switch {
	case !override:
		return keep
	case node == "":
		return none
	}
	return to + node
}

// preemption compares the outcome for an unschedulable pod.
func (r *run) preemption(ours *preemption, theirs *theirPreemption) {
	r.counts.Preemptions++
	if theirs.nomination == keep {
		theirs.candidates = nil // it may not preempt
	}
	node, some := strings.CutPrefix(ours.nomination, to)
	if theirNode, ok := strings.CutPrefix(theirs.nomination, to); some != ok || !some {
		r.same("nomination", ours.nomination, theirs.nomination)
	} else if _, found := theirs.candidates[theirNode]; !found {
		r.differ("candidates", "not "+theirNode, theirs.nomination) // they contradict themselves
	}
	for name, v := range ours.candidates {
		r.counts.Candidate(len(v.pods), v.violations)
		other, ok := theirs.candidates[name]
		if !ok {
			r.differ("candidates", name, "not that node")
			continue
		}
		r.same("victims", fmt.Sprint(name, v), fmt.Sprint(name, other))
	}
	r.counts.Trials += len(ours.candidates)
	if theirs.all {
		r.counts.Trials += theirs.possible - len(theirs.candidates)
		r.same("candidates", sortedKeys(ours.candidates), sortedKeys(theirs.candidates))
	}
	if !some {
		return
	}
	r.same("chosen victims", fmt.Sprint(ours.chosen), fmt.Sprint(theirs.candidates[node].pods))
	r.same("void nominations", fmt.Sprint(ours.void), fmt.Sprint(theirs.void[node]))
	if among := slices.Sorted(maps.Keys(ours.candidates)); !theirs.could(r.theirs.ctx, node, among) {
		r.differ("chosen node", node, "another one of "+strings.Join(among, ", "))
	}
}

// withOurs returns their message with the node and the number of victims that we chose: either could have been chosen.
func (r *run) withOurs(ours *preemption, message string) string {
	theirs := r.theirs.preemption
	if ours == nil || theirs == nil {
		return message
	}
	node, some := strings.CutPrefix(ours.nomination, to)
	theirNode, ok := strings.CutPrefix(theirs.nomination, to)
	if !some || !ok {
		return message
	}
	said := func(node string, victims int) string {
		return fmt.Sprintf("on node %s, preempting %d victims", node, victims)
	}
	return strings.Replace(message, said(theirNode, len(theirs.candidates[theirNode].pods)), said(node, len(ours.chosen)), 1)
}

func sortedKeys(m map[string]victims) string { return fmt.Sprint(slices.Sorted(maps.Keys(m))) }

// watched is a PostFilter plugin of ours that records the candidates, as an extender would see
// them.
type watched struct {
	of         plugin.PostFilter
	candidates map[string]victims
}

// Info implements plugin.Plugin.
func (w *watched) Info() *plugin.Info { return w.of.Info() }

// PostFilter implements plugin.PostFilter.
func (w *watched) PostFilter(c *plugin.Cycle, d *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	w.candidates = make(map[string]victims)
	seen := *d
	seen.Extenders = w
	return w.of.PostFilter(c, &seen)
}

// ProcessPreemption implements plugin.PreemptionExtender.
func (w *watched) ProcessPreemption(c *plugin.Cycle, candidates []plugin.Candidate) ([]plugin.Candidate, error) {
	for _, candidate := range candidates {
		w.candidates[c.Snapshot.Name(candidate.Row)] = victims{pods: podKeys(candidate.Victims), violations: candidate.PDBViolations}
	}
	return candidates, nil
}

func podKeys(pods []*state.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Key())
	}
	return out
}
