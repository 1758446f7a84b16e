// Package report records what happened in one try to place a pod, so that a
// decision can always be shown: who rejected which nodes and why, how the best
// nodes scored, and how long each plugin took.
package report

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
)

// Attempt is one try to place a pod. The scheduler hands it to an observer and
// reuses its arrays for the next try; an observer that keeps it keeps a Clone.
type Attempt struct {
	// Sequence numbers the tries of this scheduler from 1.
	Sequence  uint64 `json:"sequence"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// UID tells the pod from others that had or will have its name.
	UID     types.UID `json:"-"`
	Profile string    `json:"profile"`
	// Try counts the tries of this pod from 1.
	Try int `json:"try"`
	// Nodes is the number of nodes in the snapshot, Evaluated the number that
	// filters looked at, and Feasible the number that all filters passed.
	Nodes     int `json:"nodes"`
	Evaluated int `json:"evaluated"`
	Feasible  int `json:"feasible"`
	// Node is the chosen node; empty when none was.
	Node string `json:"node,omitempty"`
	// Code is the result: Success, a rejection, or Error.
	Code abi.Code `json:"-"`
	// Message says why the pod was not placed, in kube-scheduler's words.
	Message string `json:"message,omitempty"`
	// PreFilter and PostFilter are the messages of those points.
	PreFilter  string `json:"preFilter,omitempty"`
	PostFilter string `json:"postFilter,omitempty"`
	// Nominated is the node that PostFilter nominated.
	Nominated string `json:"nominated,omitempty"`
	// Victims are the pods, NAMESPACE/NAME, that have to leave that node for this
	// one, the most important first.
	Victims []string `json:"victims,omitempty"`
	// Rejections are the verdicts against nodes, grouped.
	Rejections []Rejection `json:"rejections,omitempty"`
	// Candidates are the best nodes by total score, the chosen one first.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Timings has an entry for each plugin and point that was called, and Points one
	// for each time that the plugins of a point were run.
	Timings []Timing      `json:"-"`
	Points  []PointTiming `json:"-"`
	// Duration is the time from popping the pod to the decision.
	Duration time.Duration `json:"-"`
}

// Rejection is a set of nodes that one plugin rejected with the same code and
// the same reasons.
type Rejection struct {
	Plugin  string   `json:"plugin"`
	Code    abi.Code `json:"code"`
	Reasons []string `json:"reasons"`
	// Rows are the rows of the snapshot, ascending.
	Rows []uint32 `json:"-"`
	// Count is how many rows there are, and Nodes their names, or those of some of
	// them; Clone and Brief fill them in.
	Count int      `json:"count"`
	Nodes []string `json:"nodes"`
}

// Candidate is a feasible node and its scores.
type Candidate struct {
	Node  string `json:"node"`
	Total int64  `json:"total"`
	// Scores has one element a scoring plugin; empty when scoring was skipped
	// because only one node was feasible.
	Scores []Score `json:"scores,omitempty"`
}

// Score is what one plugin gave one node: as it came, in range, and weighted.
type Score struct {
	Plugin     string `json:"plugin"`
	Raw        int64  `json:"raw"`
	Normalized int64  `json:"normalized"`
	Weighted   int64  `json:"weighted"`
}

// Timing is the work of one plugin at one point during one try.
type Timing struct {
	Plugin string
	// Module and Digest are as in plugin.Info.
	Module, Digest string
	Point          abi.Point
	// Code is the answer, of several the lowest: a filter that let any node pass has
	// answered Success. It is Success at points that have no answer.
	Code     abi.Code
	Calls    int64
	Rows     int64 // rows asked, over all calls; 0 for points without rows
	Reused   int64 // rows whose answers were kept from pods that are alike
	Faults   int64
	Duration time.Duration
}

// PointTiming is one run of all plugins of a point. The code is that of the whole
// point: Filter's is Success though no node may have passed.
type PointTiming struct {
	Point    abi.Point
	Code     abi.Code
	Duration time.Duration
}

// Add adds the work of another timing of the same plugin and point.
func (t *Timing) Add(o Timing) {
	t.Code = min(t.Code, o.Code)
	t.Calls += o.Calls
	t.Rows += o.Rows
	t.Reused += o.Reused
	t.Faults += o.Faults
	t.Duration += o.Duration
}

// Clone returns a copy that shares no array with a, with the names of rejected
// nodes filled in from their rows.
func (a *Attempt) Clone(name func(row uint32) string) *Attempt {
	return a.copied(name, math.MaxInt, true)
}

// Brief is a Clone that names at most some of the nodes that were rejected for the
// same reasons, those of the lowest rows, and leaves out the rows: what it costs does
// not grow with the cluster.
func (a *Attempt) Brief(name func(row uint32) string, most int) *Attempt {
	return a.copied(name, most, false)
}

func (a *Attempt) copied(name func(row uint32) string, most int, rows bool) *Attempt {
	c := *a
	c.Rejections = slices.Clone(a.Rejections)
	for i := range c.Rejections {
		r := &c.Rejections[i]
		from := r.Rows
		r.Count, r.Rows = len(from), nil
		if rows {
			r.Rows = slices.Clone(from)
		}
		r.Nodes = make([]string, min(most, len(from)))
		for j := range r.Nodes {
			r.Nodes[j] = name(from[j])
		}
		slices.Sort(r.Nodes)
	}
	c.Victims = slices.Clone(a.Victims)
	c.Candidates = slices.Clone(a.Candidates)
	for i := range c.Candidates {
		c.Candidates[i].Scores = slices.Clone(c.Candidates[i].Scores)
	}
	c.Timings, c.Points = slices.Clone(a.Timings), slices.Clone(a.Points)
	return &c
}

// Ending is how the placement of an attempt ended after its scheduling cycle: the
// pod was bound, or was not after all, at Permit or later.
type Ending struct {
	// Sequence is that of the attempt.
	Sequence  uint64
	Namespace string
	Pod       string
	Profile   string
	Node      string
	// Try counts the tries of this pod from 1.
	Try int
	// Duration is the time from popping the pod to the end, waiting at Permit
	// included, and SinceFirst that since the pod was first ready to be tried.
	Duration, SinceFirst time.Duration
	// Code is Success for a pod that was bound, otherwise why it was not, and
	// Message says so in words.
	Code    abi.Code
	Message string
	// Flushed tells that the pod was tried because it had been unschedulable for long,
	// and not for any event.
	Flushed bool
	// Wait is how the pod waited at Permit; nil if it did not.
	Wait *PermitWait
	// Timings has an entry for each plugin and point that was called since the
	// node was chosen, Reserve and Permit included, and Points one for each of these
	// points. They are the loop's own.
	Timings []Timing
	Points  []PointTiming
}

// PermitWait is how long a pod waited at Permit, and how that ended.
type PermitWait struct {
	Code     abi.Code
	Duration time.Duration
}
