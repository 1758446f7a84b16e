package compare

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Counts counts comparisons, by kind.
type Counts struct {
	// Cases counts scenarios, Gates answers of PreEnqueue, Orders pairs of QueueSort, PreFilters
	// pods, of which Rejected were rejected there and NodeSets got a set of nodes; PreScores
	// pods, Skips answers of both. Verdicts counts (pod, node) pairs at Filter, WhatIfs the same
	// on changed nodes; Scores and Normalized (pod, node) scores, and Placements runs from
	// Reserve to Bind.
	Cases, Gates, Orders, PreFilters, Rejected, NodeSets, PreScores, Skips int
	Verdicts, WhatIfs, Scores, Normalized, Placements                      int
	// HintsQueue and HintsSkip count hints by answer.
	HintsQueue, HintsSkip int
	// NodeInfos counts NodeInfos of the bridge that were compared with kube-scheduler's own.
	NodeInfos int
	// Decisions counts whole decisions, of which Placed found a node; Preemptions counts those
	// of the others for which PostFilter was compared.
	Decisions, Placed, Preemptions int
	// Trials counts (pod, node) pairs for which it was compared whether evicting pods helps.
	// Candidates counts those where it does and victims were compared, Victims these, and
	// Violating the candidates that violate budgets.
	Trials, Candidates, Victims, Violating int
	// Steps counts steps of other comparisons: operations of the queue, configurations.
	Steps int
	// Refused counts configurations that both rejected.
	Refused int
	// Different counts answers that differ, Listed those of them that are listed.
	Different, Listed int

	codes   [abi.NumCodes]int
	reasons map[string]int
	values  map[int64]int // normalized scores
}

// See counts a verdict.
func (n *Counts) See(code abi.Code, reasons []string) {
	n.codes[code]++
	if n.reasons == nil {
		n.reasons = make(map[string]int)
	}
	for _, reason := range reasons {
		n.reasons[reason]++
	}
}

// Candidate counts a candidate of preemption.
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

// Code returns the number of verdicts with a code.
func (n *Counts) Code(code abi.Code) int { return n.codes[code] }

// Reasons returns the reasons of verdicts, sorted, with their counts.
func (n *Counts) Reasons() (texts []string, times map[string]int) {
	return slices.Sorted(maps.Keys(n.reasons)), n.reasons
}

// DistinctScores returns the number of distinct normalized scores.
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
