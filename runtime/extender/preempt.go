package extender

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

var _ plugin.PreemptionExtender = (*Extenders)(nil)

// ProcessPreemption calls the extenders with a preemptVerb that are interested in the cycle's
// pod one after the other, each with the candidates that the previous one left. Candidates keep
// their order; nodes that an extender adds follow, sorted by name.
//
// # Errors
//
// An extender that is not ignorable fails, returns unknown nodes or pods, or leaves a node
// without victims.
func (e *Extenders) ProcessPreemption(c *plugin.Cycle, candidates []plugin.Candidate) ([]plugin.Candidate, error) {
	if e == nil {
		return candidates, nil
	}
	for _, x := range e.all {
		if len(candidates) == 0 {
			break
		}
		if x.config.PreemptVerb == "" || !x.interested(c.Pod) {
			continue
		}
		answer, err := x.preempt(c, candidates)
		if err == nil {
			answer, err = x.withVictims(c, answer)
		}
		if err != nil {
			if e.ignore(x, x.config.PreemptVerb, c.Pod, err) {
				continue
			}
			return nil, err
		}
		candidates = answer
	}
	return candidates, nil
}

func (x *extender) preempt(c *plugin.Cycle, candidates []plugin.Candidate) ([]plugin.Candidate, error) {
	var result extenderv1.ExtenderPreemptionResult
	if err := x.ask(c.Context, x.config.PreemptVerb, len(candidates), x.preemptionArgs(c, candidates), &result); err != nil {
		return nil, err
	}
	var out []plugin.Candidate
	take := func(name string) error {
		candidate, err := x.candidate(c, name, result.NodeNameToMetaVictims[name])
		out = append(out, candidate)
		return err
	}
	seen := make(map[string]bool)
	for i := range candidates {
		name := c.Snapshot.Name(candidates[i].Row)
		if _, stands := result.NodeNameToMetaVictims[name]; stands {
			seen[name] = true
			if err := take(name); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(result.NodeNameToMetaVictims)) {
		if !seen[name] {
			if err := take(name); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// preemptionArgs has only the UIDs of victims for an extender with a node cache.
func (x *extender) preemptionArgs(c *plugin.Cycle, candidates []plugin.Candidate) *extenderv1.ExtenderPreemptionArgs {
	args := &extenderv1.ExtenderPreemptionArgs{Pod: c.Pod.Object}
	if x.config.NodeCacheCapable {
		args.NodeNameToMetaVictims = make(map[string]*extenderv1.MetaVictims, len(candidates))
	} else {
		args.NodeNameToVictims = make(map[string]*extenderv1.Victims, len(candidates))
	}
	for i := range candidates {
		candidate := &candidates[i]
		name := c.Snapshot.Name(candidate.Row)
		if x.config.NodeCacheCapable {
			meta := &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{}, NumPDBViolations: candidate.PDBViolations}
			for _, pod := range candidate.Victims {
				meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
			}
			args.NodeNameToMetaVictims[name] = meta
			continue
		}
		victims := &extenderv1.Victims{Pods: []*v1.Pod{}, NumPDBViolations: candidate.PDBViolations}
		for _, pod := range candidate.Victims {
			victims.Pods = append(victims.Pods, pod.Object)
		}
		args.NodeNameToVictims[name] = victims
	}
	return args
}

// candidate finds the node and the pods in an answer.
func (x *extender) candidate(c *plugin.Cycle, name string, meta *extenderv1.MetaVictims) (plugin.Candidate, error) {
	row, ok := c.Snapshot.Row(name)
	if !ok {
		return plugin.Candidate{}, fmt.Errorf("extender %s: %s: there is no node %s", x.client.name, x.config.PreemptVerb, plain.Quote(name, maxNamed))
	}
	out := plugin.Candidate{Row: row}
	if meta == nil {
		return out, nil
	}
	out.PDBViolations = meta.NumPDBViolations
	for _, pod := range meta.Pods {
		uid := ""
		if pod != nil {
			uid = pod.UID
		}
		victim := podOn(c, row, uid)
		if victim == nil {
			return out, fmt.Errorf("extender %s: %s: there is no pod with UID %s on node %q", x.client.name, x.config.PreemptVerb, plain.Quote(uid, maxNamed), name)
		}
		out.Victims = append(out.Victims, victim)
	}
	return out, nil
}

func podOn(c *plugin.Cycle, row uint32, uid string) *state.Pod {
	for _, slot := range c.Snapshot.Nodes.Pods.Row(row) {
		if pod := c.Snapshot.Pods.Pod[slot]; string(pod.UID) == uid {
			return pod
		}
	}
	return nil
}

// withVictims refuses an answer that has a node without victims. If the extender is ignorable,
// it drops the node instead.
func (x *extender) withVictims(c *plugin.Cycle, candidates []plugin.Candidate) ([]plugin.Candidate, error) {
	var out []plugin.Candidate
	for _, candidate := range candidates {
		switch {
		case len(candidate.Victims) > 0:
			out = append(out, candidate)
		case !x.config.Ignorable:
			return nil, fmt.Errorf("expected at least one victim pod on node %q", c.Snapshot.Name(candidate.Row))
		}
	}
	return out, nil
}
