package compare

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Counts is how much was compared, by shape.
type Counts struct {
	// Cases is scenarios, Gates answers of PreEnqueue, Orders pairs of QueueSort,
	// PreFilters pods, of which Rejected were refused there and NodeSets got a set
	// of nodes; PreScores pods, Skips answers of both. Verdicts is (pod, node)
	// pairs at Filter, WhatIfs the same on changed nodes; Scores and Normalized are
	// (pod, node) scores. Placements is Reserve to Bind.
	Cases, Gates, Orders, PreFilters, Rejected, NodeSets, PreScores, Skips int
	Verdicts, WhatIfs, Scores, Normalized, Placements                      int
	// HintsQueue and HintsSkip are hints by answer.
	HintsQueue, HintsSkip int
	// NodeInfos is NodeInfos of the bridge, compared with kube-scheduler's own.
	NodeInfos int
	// Decisions is whole decisions, of which Placed found a node; Preemptions are
	// those of the others for which PostFilter was compared.
	Decisions, Placed, Preemptions int
	// Trials is (pod, node) pairs of which it was compared whether evicting pods
	// helps. Candidates are those where it does and victims were compared, Victims
	// these, and Violating the candidates that violate budgets.
	Trials, Candidates, Victims, Violating int
	// Steps are those of other comparisons: operations of the queue, configurations.
	Steps int
	// Refused is configurations that both refused.
	Refused int
	// Different is answers that differ, Listed those of them that are listed.
	Different, Listed int

	codes   [abi.NumCodes]int
	reasons map[string]int
	values  map[int64]int // normalised scores
}

// See notes a verdict.
func (n *Counts) See(code abi.Code, reasons []string) {
	n.codes[code]++
	if n.reasons == nil {
		n.reasons = make(map[string]int)
	}
	for _, reason := range reasons {
		n.reasons[reason]++
	}
}

// Candidate notes a candidate of preemption.
func (n *Counts) Candidate(victims int, violations int64) {
	n.Candidates++
	n.Victims += victims
	if violations > 0 {
		n.Violating++
	}
}

func (n *Counts) score(what string, value int64) {
	if what == "Score" {
		n.Scores++
		return
	}
	n.Normalized++
	if n.values == nil {
		n.values = make(map[int64]int)
	}
	n.values[value]++
}

// Code returns how many verdicts had a code.
func (n *Counts) Code(code abi.Code) int { return n.codes[code] }

// Reasons returns the texts of verdicts, sorted, with how often each was given.
func (n *Counts) Reasons() (texts []string, times map[string]int) {
	return slices.Sorted(maps.Keys(n.reasons)), n.reasons
}

// DistinctScores returns how many different normalised scores there were.
func (n *Counts) DistinctScores() int { return len(n.values) }

// Add adds o to n.
func (n *Counts) Add(o *Counts) {
	for _, f := range []struct {
		to   *int
		from int
	}{
		{&n.Cases, o.Cases}, {&n.Gates, o.Gates}, {&n.Orders, o.Orders}, {&n.PreFilters, o.PreFilters}, {&n.Rejected, o.Rejected},
		{&n.NodeSets, o.NodeSets}, {&n.PreScores, o.PreScores}, {&n.Skips, o.Skips}, {&n.Verdicts, o.Verdicts}, {&n.WhatIfs, o.WhatIfs},
		{&n.Scores, o.Scores}, {&n.Normalized, o.Normalized}, {&n.Placements, o.Placements}, {&n.HintsQueue, o.HintsQueue},
		{&n.HintsSkip, o.HintsSkip}, {&n.NodeInfos, o.NodeInfos}, {&n.Decisions, o.Decisions}, {&n.Placed, o.Placed},
		{&n.Preemptions, o.Preemptions}, {&n.Trials, o.Trials}, {&n.Candidates, o.Candidates}, {&n.Victims, o.Victims},
		{&n.Violating, o.Violating}, {&n.Steps, o.Steps}, {&n.Refused, o.Refused}, {&n.Different, o.Different}, {&n.Listed, o.Listed},
	} {
		*f.to += f.from
	}
	for code := range o.codes {
		n.codes[code] += o.codes[code]
	}
	for text, times := range o.reasons {
		if n.reasons == nil {
			n.reasons = make(map[string]int)
		}
		n.reasons[text] += times
	}
	for value, times := range o.values {
		if n.values == nil {
			n.values = make(map[int64]int)
		}
		n.values[value] += times
	}
}
