package shadow

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Kind is how a decision with the plugin on trial compares to the one that was made.
type Kind string

// The kinds.
const (
	// Same is the same node, or no node and the same preemption.
	Same Kind = "same"
	// Elsewhere is another node.
	Elsewhere Kind = "elsewhere"
	// Placed is a node for a pod that stayed pending.
	Placed Kind = "placed"
	// Pending is no node for a pod that was placed.
	Pending Kind = "pending"
	// Preemption is no node either, and a preemption of other pods or on another node.
	Preemption Kind = "preemption"
	// Failed is an error, such as a fault of the plugin on trial, where there was none.
	Failed Kind = "failed"
)

// Report is the result of a trial.
type Report struct {
	Profile string `json:"profile"`
	Plugin  string `json:"plugin"`
	// Replaces is the plugin whose place it takes; empty if it runs beside all others.
	Replaces string `json:"replaces,omitempty"`
	// Attempts were decided again, and Missed were not, because the time of trials was used up.
	Attempts int64 `json:"attempts"`
	Missed   int64 `json:"missed"`
	// These are numbers of Attempts by kind.
	Same       int64 `json:"same"`
	Elsewhere  int64 `json:"elsewhere"`
	Placed     int64 `json:"placed"`
	Pending    int64 `json:"pending"`
	Preemption int64 `json:"preemption"`
	Failed     int64 `json:"failed"`
	// Tied are those of Elsewhere where, with the plugin, the node that was chosen scores as much as the other.
	Tied int64 `json:"tied,omitempty"`
	// WasPlaced are those of Attempts that placed the pod, as it was decided.
	WasPlaced int64 `json:"wasPlaced,omitempty"`
	// Differences are the last ones, the latest first.
	Differences []Difference `json:"differences,omitempty"`
}

func (r *Report) count(k Kind) {
	switch k {
	case Same:
		r.Same++
	case Elsewhere:
		r.Elsewhere++
	case Placed:
		r.Placed++
	case Pending:
		r.Pending++
	case Preemption:
		r.Preemption++
	case Failed:
		r.Failed++
	}
}

// Add adds the counts of another report.
func (r *Report) Add(o *Report) {
	r.Attempts += o.Attempts
	r.Missed += o.Missed
	r.Same += o.Same
	r.Elsewhere += o.Elsewhere
	r.Placed += o.Placed
	r.Pending += o.Pending
	r.Preemption += o.Preemption
	r.Failed += o.Failed
	r.Tied += o.Tied
	r.WasPlaced += o.WasPlaced
}

// String says the counts in a line.
func (r *Report) String() string {
	out := fmt.Sprintf("%d decisions made again, %d the same", r.Attempts, r.Same)
	for _, x := range []struct {
		n    int64
		what string
	}{
		{r.Elsewhere, "elsewhere"}, {r.Tied, "of these by a tie"}, {r.Placed, "placed"}, {r.Pending, "pending"},
		{r.Preemption, "another preemption"}, {r.Failed, "failed"}, {r.Missed, "missed"},
	} {
		if x.n > 0 {
			out += fmt.Sprintf(", %d %s", x.n, x.what)
		}
	}
	return out
}

// Difference is a decision that would have been another one.
type Difference struct {
	// Sequence is that of the attempt.
	Sequence  uint64 `json:"sequence"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Kind      Kind   `json:"kind"`
	// Was is what was decided, and Would what would have been with the plugin on trial.
	Was   Outcome `json:"was"`
	Would Outcome `json:"would"`
	// Why says what the difference comes from.
	Why string `json:"why"`
}

// Outcome is a decision in short.
type Outcome struct {
	// Node is empty if the pod was not placed. Then Message says why, and Nominated and Victims,
	// as NAMESPACE/NAME, are the preemption, if there is one.
	Node      string   `json:"node,omitempty"`
	Message   string   `json:"message,omitempty"`
	Nominated string   `json:"nominated,omitempty"`
	Victims   []string `json:"victims,omitempty"`
}

func outcome(d *cycle.Decision) Outcome {
	if d.Node != nil {
		return Outcome{Node: d.Node.Name}
	}
	return Outcome{Message: d.Attempt.Message, Nominated: d.Attempt.Nominated, Victims: slices.Clone(d.Attempt.Victims)}
}

// failed reports whether a decision ended with an error. What Reserve and later points say of a
// chosen node is not compared.
func failed(d *cycle.Decision) bool {
	return d.Node == nil && d.Status.CodeOf() == abi.Error
}

func compare(was, would *cycle.Decision) Kind {
	switch {
	case failed(would) && !failed(was):
		return Failed
	case was.Node != nil && would.Node != nil:
		if was.Node.Name == would.Node.Name {
			return Same
		}
		return Elsewhere
	case would.Node != nil:
		return Placed
	case was.Node != nil:
		return Pending
	case was.Attempt.Nominated != would.Attempt.Nominated || !slices.Equal(was.Attempt.Victims, would.Attempt.Victims):
		return Preemption
	}
	return Same
}

func difference(snapshot *state.Snapshot, was, would *cycle.Decision, kind Kind) Difference {
	pod := would.Pod.Pod
	d := Difference{
		Sequence: would.Attempt.Sequence, Namespace: pod.Namespace, Pod: pod.Name, Kind: kind,
		Was: outcome(was), Would: outcome(would),
	}
	without := func() string {
		if why := was.Attempt.Rejected(d.Would.Node, snapshot.Name); why != "" {
			return "without it, " + why
		}
		return ""
	}
	switch kind {
	case Elsewhere:
		if d.Why = would.Attempt.Rejected(d.Was.Node, snapshot.Name); d.Why == "" {
			d.Why = without()
		}
		if d.Why == "" {
			d.Why = would.Attempt.RatherThan(d.Was.Node, snapshot.Name)
		}
	case Placed:
		d.Why = without()
	case Pending:
		d.Why = would.Attempt.Rejected(d.Was.Node, snapshot.Name)
	default: // the outcomes say all
	}
	if d.Why == "" {
		d.Why = d.Would.Message
	}
	if d.Why == "" {
		d.Why = d.Was.Message
	}
	return d
}
