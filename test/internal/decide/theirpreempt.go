package decide

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kube-scheduler/framework"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// theirPreemption is what kube-scheduler's PostFilter did for a pod, and what else it might
// have done.
type theirPreemption struct {
	nomination string
	// candidates are all nodes on which the pod fits without victims.
	candidates map[string]victims
	// possible is the number of nodes where evicting pods may help.
	possible int
	// all reports that its args make it try all of these nodes.
	all bool

	plugin *defaultpreemption.DefaultPreemption
	found  map[string]upstream.Candidate
	// void maps each candidate to the pods whose nomination to it is cleared once the pod is
	// nominated: those of lower priority.
	void map[string][]string
}

// preempt calls another plugin with the same args for every node: the one of the profile tries
// some, and chooses.
func (t *theirs) preempt(ctx context.Context, f internal.Framework, cs framework.CycleState, fit *internal.FitError) (*theirPreemption, error) {
	p := &theirPreemption{candidates: make(map[string]victims), found: make(map[string]upstream.Candidate), void: make(map[string][]string)}
	made, err := plugins.NewInTreeRegistry()[preempts](ctx, t.preemptionArgs, f)
	if err != nil {
		return nil, err
	}
	p.plugin = made.(*defaultpreemption.DefaultPreemption)
	nodes, err := fit.Diagnosis.NodeToStatus.NodesForStatusCode(f.SnapshotSharedLister().NodeInfos(), framework.Unschedulable)
	if err != nil {
		return nil, err
	}
	p.possible = len(nodes)
	n := int32(p.possible)
	if n == 0 {
		return p, nil
	}
	_, enough := p.plugin.GetOffsetAndNumCandidates(n)
	p.all = enough >= n
	budgets, err := p.plugin.Evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	// One more than possible, so that none is left out.
	found, _, err := p.plugin.Evaluator.DryRunPreemption(ctx, cs, t.pod, nodes, budgets, 0, n+1)
	if err != nil {
		return nil, fmt.Errorf("dry run of preemption: %w", err)
	}
	for _, c := range found {
		p.found[c.Name()] = c
		p.candidates[c.Name()] = victims{pods: objectKeys(c.Victims().Pods), violations: c.Victims().NumPDBViolations}
		p.void[c.Name()] = lessImportant(f.NominatedPodsForNode(c.Name()), t.pod)
	}
	return p, nil
}

// draws is the number of times that kube-scheduler chooses between two nodes. If both are
// equally good it takes either one, in the order of a map.
const draws = 64

// could reports whether kube-scheduler might choose a node among nodes.
func (p *theirPreemption) could(ctx context.Context, node string, among []string) bool {
	var all []upstream.Candidate
	for _, name := range among {
		if c, ok := p.found[name]; ok {
			all = append(all, c)
		}
	}
	choice := p.plugin.Evaluator.SelectCandidate(ctx, all)
	if choice == nil {
		return false
	}
	if choice.Name() == node {
		return true
	}
	ours, ok := p.found[node]
	if !ok {
		return false
	}
	for range draws {
		if p.plugin.Evaluator.SelectCandidate(ctx, []upstream.Candidate{choice, ours}).Name() == node {
			return true
		}
	}
	return false
}

func lessImportant(nominated []framework.PodInfo, pod *v1.Pod) []string {
	var out []*v1.Pod
	for _, other := range nominated {
		if corev1helpers.PodPriority(other.GetPod()) < corev1helpers.PodPriority(pod) {
			out = append(out, other.GetPod())
		}
	}
	return slices.Sorted(slices.Values(objectKeys(out)))
}

func objectKeys(pods []*v1.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Namespace+"/"+p.Name)
	}
	return out
}
