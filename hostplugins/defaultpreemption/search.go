package defaultpreemption

import (
	"fmt"
	"slices"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// search is one PostFilter call.
type search struct {
	c    *plugin.Cycle
	d    *plugin.Diagnosis
	list objects.PodDisruptionBudgets

	budgets *budgets       // once they are needed
	failed  error          // to list them
	spared  int            // nodes without pods of lower priority
	judged  int            // nodes that are no candidates for another reason
	counts  map[string]int // these reasons
	errs    []error        // among them

	lower []*state.Pod // of the node that is tried
}

// err returns all failures as one error.
func (s *search) err() error { return utilerrors.NewAggregate(s.errs) }

// candidates tries rows from an index on, around the end. It stops when there are
// enough candidates, at least one of them without a violated budget; those come
// first.
func (s *search) candidates(rows []uint32, offset, enough int) []plugin.Candidate {
	var sound, violating []plugin.Candidate
	for i := range rows {
		candidate := plugin.Candidate{Row: rows[(offset+i)%len(rows)]}
		if s.findLower(candidate.Row); len(s.lower) == 0 {
			s.spared++
			continue
		}
		if err := s.c.Context.Err(); err != nil {
			s.errs = append(s.errs, err)
			break
		}
		status := s.try(&candidate)
		switch {
		case !status.Success():
			s.note(status)
			continue
		case candidate.PDBViolations == 0:
			sound = append(sound, candidate)
		case len(violating) < enough:
			violating = append(violating, candidate)
		}
		if len(sound) > 0 && len(sound)+len(violating) >= enough {
			break
		}
	}
	return append(sound, violating...)
}

// noCandidate says why there is none, in the form of a message about nodes. Those
// that were not tried are nodes where no preemption helps.
func (s *search) noCandidate() string {
	n := s.c.Snapshot.Len()
	for reason, nodes := range map[string]int{ReasonNoVictims: s.spared, ReasonNoHelp: n - s.judged - s.spared} {
		if nodes > 0 {
			s.counts[reason] += nodes
		}
	}
	return report.NoFit(n, "", s.counts, "")
}

// note counts why a node is no candidate.
func (s *search) note(status *plugin.Status) {
	s.judged++
	if status.Is(abi.Error) {
		s.errs = append(s.errs, status.AsError())
	}
	for _, reason := range status.AllReasons() {
		s.counts[reason]++
	}
}

// findLower finds the pods of lower priority on a node.
func (s *search) findLower(row uint32) {
	t := &s.c.Snapshot.Pods
	s.lower = s.lower[:0]
	for _, slot := range s.c.Snapshot.Nodes.Pods.Row(row) {
		if t.Priority[slot] < s.c.Pod.Priority {
			s.lower = append(s.lower, t.Pod[slot])
		}
	}
}

// try finds the pods that must leave a node: all of lower priority go, and if
// that lets the pod in, as many as possible come back. Those whose eviction would
// violate a budget have the first chance, and among them and the others the more
// important ones.
func (s *search) try(candidate *plugin.Candidate) *plugin.Status {
	if err := s.needBudgets(); err != nil {
		return plugin.Fail(err)
	}
	node := s.d.WhatIf.Node(candidate.Row)
	defer node.Close()
	for _, pod := range s.lower {
		if status := node.Remove(pod); !status.Success() {
			return plugin.Fail(status.AsError())
		}
	}
	if status := node.Judge(); !status.Success() {
		return status
	}
	slices.SortStableFunc(s.lower, byImportance)
	violating, sound := s.budgets.split(s.lower)
	for _, pod := range violating {
		if status := s.reprieve(node, pod, candidate); !status.Success() {
			return status
		}
	}
	candidate.PDBViolations = int64(len(candidate.Victims))
	for _, pod := range sound {
		if status := s.reprieve(node, pod, candidate); !status.Success() {
			return status
		}
	}
	if len(candidate.Victims) == 0 {
		return plugin.Fail(fmt.Errorf("expected at least one victim pod on node %q", s.c.Snapshot.Name(candidate.Row)))
	}
	slices.SortStableFunc(candidate.Victims, byImportance)
	return nil
}

// reprieve puts a pod back, and takes it off again if the cycle's pod does not fit
// with it. A filter that fails counts as one that rejects.
func (s *search) reprieve(node plugin.HypotheticalNode, pod *state.Pod, candidate *plugin.Candidate) *plugin.Status {
	if status := node.Add(pod); !status.Success() {
		return plugin.Fail(status.AsError())
	}
	if node.Judge().Success() {
		return nil
	}
	candidate.Victims = append(candidate.Victims, pod)
	if status := node.Remove(pod); !status.Success() {
		return plugin.Fail(status.AsError())
	}
	return nil
}

// needBudgets lists the budgets when the first node has pods that may go.
func (s *search) needBudgets() error {
	if s.budgets == nil && s.failed == nil {
		s.budgets, s.failed = newBudgets(s.list)
	}
	return s.failed
}
