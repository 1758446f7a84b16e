// Package report records what happened in one attempt to place a pod, so that every decision
// can be explained: which plugins rejected which nodes and why, how the best nodes scored, and
// how long each plugin took.
package report

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
)

// Attempt is one attempt to place a pod. The scheduler passes it to an observer and reuses its
// arrays for the next attempt; an observer that keeps it must Clone it.
type Attempt struct {
	// Sequence numbers the attempts of this scheduler from 1.
	Sequence  uint64 `json:"sequence"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// UID distinguishes the pod from earlier and later pods of the same name.
	UID     types.UID `json:"-"`
	Profile string    `json:"profile"`
	// Try numbers the attempts of this pod from 1.
	Try int `json:"try"`
	// Nodes is the number of nodes in the snapshot, Evaluated the number that filters were
	// called for, and Feasible the number that passed all filters.
	Nodes     int `json:"nodes"`
	Evaluated int `json:"evaluated"`
	Feasible  int `json:"feasible"`
	// Node is the chosen node; may be empty.
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
	// Victims are the pods, NAMESPACE/NAME, that must leave that node for this pod, the most
	// important first.
	Victims []string `json:"victims,omitempty"`
	// Rejections are the rejected nodes, grouped.
	Rejections []Rejection `json:"rejections,omitempty"`
	// Candidates are the best nodes by total score, the chosen one first.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Timings has an entry for each called plugin and point. Points has one for each run of a
	// point.
	Timings []Timing      `json:"-"`
	Points  []PointTiming `json:"-"`
	// Duration is the time from popping the pod to the decision.
	Duration time.Duration `json:"-"`
}

// Rejection is a set of nodes that one plugin rejected with the same code and the same reasons.
type Rejection struct {
	Plugin  string   `json:"plugin"`
	Code    abi.Code `json:"code"`
	Reasons []string `json:"reasons"`
	// Rows are the rows of the snapshot, ascending; of a pod that was placed the lowest
	// ones, unless all are wanted.
	Rows []uint32 `json:"-"`
	// Count is how many rows there are in all.
	Count int `json:"count"`
	// Nodes is the names of Rows, or of the first of them; Clone and Brief fill it in.
	Nodes []string `json:"nodes"`
	// Details is what the plugin says besides, if the pod fits nowhere.
	Details []Detail `json:"details,omitempty"`
}

// Detail is what a plugin says of some of the nodes that it rejected.
type Detail struct {
	Text  string `json:"text"`
	Nodes int    `json:"nodes"`
}

// Candidate is a feasible node and its scores.
type Candidate struct {
	Node  string `json:"node"`
	Total int64  `json:"total"`
	// Scores has one element per scoring plugin. It is empty if only one node was feasible,
	// because scoring is then skipped.
	Scores []Score `json:"scores,omitempty"`
	// Feeds is what feeds said of the node, by the plugins of Scores that read them.
	Feeds []FeedValue `json:"feeds,omitempty"`
}

// FeedValue is what a feed said of a node when a plugin read it.
type FeedValue struct {
	Plugin string `json:"plugin"`
	// Feed is its name and, after a colon, its unit.
	Feed  string `json:"feed"`
	Value int64  `json:"value"`
	// State is one of abi: FeedNone, FeedFresh or FeedStale.
	State uint8 `json:"state"`
	// At is when the sample was taken, in seconds since 1970; 0 if that is not known.
	At int64 `json:"at,omitempty"`
}

// Score is the score that one plugin gave one node: raw, normalized, and weighted.
type Score struct {
	Plugin     string `json:"plugin"`
	Raw        int64  `json:"raw"`
	Normalized int64  `json:"normalized"`
	Weighted   int64  `json:"weighted"`
}

// Timing is the work of one plugin at one point in one attempt.
type Timing struct {
	Plugin string
	// Module and Digest are as in plugin.Info.
	Module, Digest string
	Point          abi.Point
	// Code is the plugin's answer, the lowest code of several: a filter that passed any node has
	// answered Success. It is Success at points without an answer.
	Code     abi.Code
	Calls    int64
	Rows     int64 // rows over all calls; 0 for points without rows
	Reused   int64 // rows whose answers were reused
	Faults   int64
	Duration time.Duration
}

// PointTiming is one run of all plugins of a point. Code is the code of the whole point:
// Filter's is Success even if no node passed.
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

// Clone returns a copy that shares no arrays with a, with the names of rejected nodes set from
// their rows.
func (a *Attempt) Clone(name func(row uint32) string) *Attempt {
	return a.copied(name, math.MaxInt, true)
}

// Brief is a Clone with at most most names in each group of rejected nodes, those of the lowest
// rows, and without rows: its cost does not grow with the cluster.
func (a *Attempt) Brief(name func(row uint32) string, most int) *Attempt {
	return a.copied(name, most, false)
}

func (a *Attempt) copied(name func(row uint32) string, most int, rows bool) *Attempt {
	c := *a
	c.Rejections = slices.Clone(a.Rejections)
	for i := range c.Rejections {
		r := &c.Rejections[i]
		from := r.Rows
		r.Rows = nil
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
		c.Candidates[i].Scores, c.Candidates[i].Feeds = slices.Clone(c.Candidates[i].Scores), slices.Clone(c.Candidates[i].Feeds)
	}
	c.Timings, c.Points = slices.Clone(a.Timings), slices.Clone(a.Points)
	return &c
}

// Ending says how the placement of a pod ended after its scheduling cycle: the pod was bound,
// or it failed at Permit or later.
type Ending struct {
	// Sequence is the attempt's sequence number.
	Sequence  uint64
	Namespace string
	Pod       string
	Profile   string
	Node      string
	// Try numbers the attempts of this pod from 1.
	Try int
	// Duration is the time from popping the pod to the end, including the wait at Permit.
	// SinceFirst is the time since the pod was first ready to be tried.
	Duration, SinceFirst time.Duration
	// Code is Success for a bound pod. Otherwise Message says why the pod was not bound.
	Code    abi.Code
	Message string
	// Flushed is true if the pod was tried because it had been unschedulable for long, not
	// because of an event.
	Flushed bool
	// LeftToOthers are features of the pod that no plugin enforces and that its profile leaves
	// to others.
	LeftToOthers []string
	// Wait is the pod's wait at Permit; nil if it did not wait.
	Wait *PermitWait
	// Timings has an entry for each plugin and point that was called since the node was chosen,
	// including Reserve and Permit. Points has one for each of these points. The loop owns both.
	Timings []Timing
	Points  []PointTiming
}

// PermitWait is how long a pod waited at Permit, and how the wait ended.
type PermitWait struct {
	Code     abi.Code
	Duration time.Duration
}
