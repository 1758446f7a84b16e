// Package defaultpreemption finds a node on which an unschedulable pod would fit if pods of
// lower priority were evicted (spec.priority, spec.preemptionPolicy, policy/v1
// PodDisruptionBudget; KEP-564, KEP-902). It nominates the node and names the victims; the
// scheduler evicts them outside its loop (KEP-4832).
package defaultpreemption

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "DefaultPreemption"

// kube-scheduler's reasons.
const (
	ReasonNever       = "not eligible due to preemptionPolicy=Never."
	ReasonTerminating = "not eligible due to a terminating pod on the nominated node."
	ReasonNoVictims   = "No preemption victims found for incoming pod"
	ReasonNoHelp      = "Preemption is not helpful for scheduling"
	ReasonNoCandidate = "no candidate node for preemption"

	// ReasonOther stands for reasons beyond the first megabyte of them.
	ReasonOther = "other reasons"

	prefix = "preemption: "
)

// Defaults of DefaultPreemptionArgs (config/v1).
const (
	defaultPercentage = 10
	defaultAbsolute   = 100
)

// stream separates the plugin's random numbers from others of the same cycle.
const stream = 0x7072656d7074

// DefaultPreemption is the plugin.
type DefaultPreemption struct {
	info plugin.Info
	deps Deps
	// The search stops at this many candidates: percentage of the nodes where preemption may
	// help, but at least absolute, and at most all.
	percentage, absolute int
}

var _ plugin.PostFilter = (*DefaultPreemption)(nil)

// Deps is what the plugin depends on.
type Deps struct {
	// Budgets (optional) are those of the cluster; without them no eviction violates one.
	Budgets objects.PodDisruptionBudgets
	// Quiet leaves out what was found, as before v1.37 of Kubernetes.
	Quiet bool
}

// New returns the plugin. Arguments that are not given have the API's defaults.
func New(args *configv1.DefaultPreemptionArgs, deps Deps) (*DefaultPreemption, error) {
	p := &DefaultPreemption{deps: deps, percentage: defaultPercentage, absolute: defaultAbsolute}
	if args != nil && args.MinCandidateNodesPercentage != nil {
		p.percentage = int(*args.MinCandidateNodesPercentage)
	}
	if args != nil && args.MinCandidateNodesAbsolute != nil {
		p.absolute = int(*args.MinCandidateNodesAbsolute)
	}
	switch {
	case p.percentage < 0 || p.percentage > 100:
		return nil, fmt.Errorf("minCandidateNodesPercentage %d is not in the range 0 to 100", p.percentage)
	case p.absolute < 0:
		return nil, fmt.Errorf("minCandidateNodesAbsolute %d is negative", p.absolute)
	case p.percentage == 0 && p.absolute == 0:
		return nil, errors.New("minCandidateNodesPercentage and minCandidateNodesAbsolute are both 0, so that no node would be tried")
	}
	p.info = plugin.Info{
		Name: Name,
		Reads: plugin.Whole(
			abi.NodePods, abi.PodNamespace, abi.PodPriority, abi.PodLabels, abi.PodFlags, abi.PodWhole, abi.IncomingPriority,
		),
		Resizes: true,
		// A pod that is held back until its victims are gone is reconsidered when one is deleted;
		// whether it is queued is decided by the plugins that rejected it.
		Events: []plugin.Event{{
			ClusterEvent: state.ClusterEvent{Resource: state.AssignedPodResource, Action: state.Delete},
			Hint:         afterPodDeletion,
		}},
	}
	return p, nil
}

// Info describes the plugin.
func (p *DefaultPreemption) Info() *plugin.Info { return &p.info }

func afterPodDeletion(_ *state.Pod, object state.Object) (state.Hint, error) {
	if object.OldPod == nil {
		return state.Queue, errors.New("the pod deletion event has no old pod")
	}
	return state.QueueSkip, nil
}

// PostFilter nominates the node where preemption does the least harm.
// Without a candidate the status is Unschedulable and the nomination is cleared; a pod that may
// not preempt, or may not preempt again yet, keeps its nomination.
func (p *DefaultPreemption) PostFilter(c *plugin.Cycle, d *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	if why := ineligible(c, d); why != "" {
		return unschedulable(why)
	}
	s := search{c: c, d: d, list: p.deps.Budgets, counts: make(map[string]int)}
	candidates := p.candidates(&s)
	if len(candidates) == 0 {
		if err := s.err(); err != nil {
			return failed(err)
		}
		result, status := unschedulable(s.noCandidate())
		result.Override = true
		return result, status
	}
	if d.Extenders != nil {
		var err error
		if candidates, err = d.Extenders.ProcessPreemption(c, candidates); err != nil {
			return failed(err)
		}
		if len(candidates) == 0 {
			return unschedulable(ReasonNoCandidate)
		}
	}
	best := choose(candidates)
	node := c.Snapshot.Name(best.Row)
	result := plugin.PostFilterResult{
		Override: true, NominatedNode: node,
		Preemption: plugin.Preemption{Victims: best.Victims, ClearNominations: lessImportant(c, node)},
	}
	if p.deps.Quiet {
		return result, nil
	}
	return result, plugin.NewStatus(abi.Success, fmt.Sprintf(prefix+"found a potential placement for pod on node %s, preempting %d victims", node, len(best.Victims)))
}

// candidates tries the nodes where preemption may help, starting at a random one, until it has
// found enough candidates.
func (p *DefaultPreemption) candidates(s *search) []plugin.Candidate {
	var rows []uint32
	for row, code := range s.d.Codes {
		if code == abi.Unschedulable {
			rows = append(rows, uint32(row))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	enough := min(max(len(rows)*p.percentage/100, p.absolute), len(rows))
	return s.candidates(rows, rand.New(rand.NewPCG(s.c.Seed, stream)).IntN(len(rows)), enough)
}

func unschedulable(why string) (plugin.PostFilterResult, *plugin.Status) {
	return plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable, prefix+why)
}

func failed(err error) (plugin.PostFilterResult, *plugin.Status) {
	return plugin.PostFilterResult{}, plugin.Fail(fmt.Errorf(prefix+"%w", err))
}

// lessImportant returns the pods of lower priority that are nominated to the node.
func lessImportant(c *plugin.Cycle, node string) (out []types.UID) {
	if c.Nominations == nil {
		return nil
	}
	for name, pods := range c.Nominations.Nodes {
		if name != node {
			continue
		}
		for _, pod := range pods {
			if pod.Priority < c.Pod.Priority {
				out = append(out, pod.UID)
			}
		}
	}
	return out
}
