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

// search is the state of one PostFilter call.
type search struct {
	c    *plugin.Cycle
	d    *plugin.Diagnosis
	list objects.PodDisruptionBudgets

	budgets *budgets       // listed on first use
	failed  error          // of listing them
	spared  int            // nodes without pods of lower priority
	judged  int            // nodes that are not candidates for another reason
	counts  map[string]int // by reason
	errs    []error        // those that are errors
	texts   int            // bytes of counts and errs

	lower []*state.Pod // of the current node
	stays string       // why others of lower priority stay on it; empty if none do
}

// err returns all failures as one error.
func (s *search) err() error { return utilerrors.NewAggregate(s.errs) }

// candidates tries rows from an offset on, wrapping around. It stops when there are enough
// candidates, at least one of them without a violated budget; those come first.
func (s *search) candidates(rows []uint32, offset, enough int) []plugin.Candidate {
	var sound, violating []plugin.Candidate
	for i := range rows {
		candidate := plugin.Candidate{Row: rows[(offset+i)%len(rows)]}
		if s.findLower(candidate.Row); len(s.lower) == 0 {
			if s.stays != "" {
				s.note(plugin.NewStatus(abi.Unschedulable, s.stays))
			} else {
				s.spared++
			}
			continue
		}
		if err := s.c.Context.Err(); err != nil {
			s.errs = append(s.errs, err)
			break
		}
		status := s.try(&candidate)
		switch {
		case !status.Success():
			if status.Rejected() && s.stays != "" {
				status = plugin.NewStatus(status.Code, s.stays)
			}
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

// noCandidate explains why there is no candidate, in the format of a message about nodes. Nodes
// that were not tried count as nodes where preemption does not help.
func (s *search) noCandidate() string {
	n := s.c.Snapshot.Len()
	for reason, nodes := range map[string]int{ReasonNoVictims: s.spared, ReasonNoHelp: n - s.judged - s.spared} {
		if nodes > 0 {
			s.counts[reason] += nodes
		}
	}
	return report.NoFit(n, "", s.counts, "")
}

// maxTexts bounds the texts of different reasons, in bytes: filters may give another one for
// each node.
const maxTexts = 1 << 20

// note counts a reason why a node is not a candidate. When there are too many different ones,
// it counts the others as one.
func (s *search) note(status *plugin.Status) {
	s.judged++
	if status.Is(abi.Error) && s.texts < maxTexts {
		err := status.AsError()
		s.texts += len(err.Error())
		s.errs = append(s.errs, err)
	}
	for _, reason := range status.AllReasons() {
		if s.counts[reason] == 0 {
			if s.texts += len(reason); s.texts > maxTexts {
				reason = ReasonOther
			}
		}
		s.counts[reason]++
	}
}

// findLower collects the pods of lower priority that may leave a node.
func (s *search) findLower(row uint32) {
	t := &s.c.Snapshot.Pods
	s.lower, s.stays = s.lower[:0], ""
	for _, slot := range s.c.Snapshot.Nodes.Pods.Row(row) {
		if t.Priority[slot] >= s.c.Pod.Priority {
			continue
		}
		if why := s.d.Stays(row, t.Pod[slot]); why != "" {
			s.stays = why
			continue
		}
		s.lower = append(s.lower, t.Pod[slot])
	}
}

// try finds the pods that must be evicted from a node: all pods of lower priority are removed,
// and if the pod then fits, as many as possible are added back. Pods whose eviction would
// violate a budget are added back first, and within both sets the more important pods first.
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

// reprieve adds a pod back, and removes it again if the cycle's pod does not fit with it. A
// filter error counts as a rejection.
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

// needBudgets lists the budgets when the first node with pods that can be evicted is tried.
func (s *search) needBudgets() error {
	if s.budgets == nil && s.failed == nil {
		s.budgets, s.failed = newBudgets(s.list)
	}
	return s.failed
}
