package plugin

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Info says what a plugin is and what it depends on. It does not change during
// the plugin's life.
type Info struct {
	// Name is the plugin's name in a profile.
	Name string
	// Module is the name and version of the module's manifest, and Digest names its
	// bytes; both are empty for a native plugin.
	Module, Digest string
	// Namespaces are those whose pods the plugin may act on, sorted; nil for all.
	Namespaces []string
	// Reads is the columns and pod fields that the plugin's answers depend on.
	Reads []Read
	// NodeScoped is the points, Filter or Score, at which an answer for a row depends on
	// nothing but that row and the pod, as far as Reads names them. A call of them may be
	// split over rows, and its answers are kept for other pods. All others have the scope
	// of the cluster.
	NodeScoped []abi.Point
	// Enforces is the features of a pod's spec that this plugin sees to.
	Enforces state.Feature
	// Events is what can make a pod that this plugin rejected worth another try.
	// None means that only the leftover flush brings such a pod back.
	Events []Event
}

// Read is a column of the snapshot, or a field of the incoming pod, that a plugin reads.
type Read struct {
	Column abi.ColumnID
	// Args are the resources, keys or types that it reads of a column that has many; nil
	// means all.
	Args []string
}

// Whole returns reads of columns with all that they have.
func Whole(columns ...abi.ColumnID) []Read {
	out := make([]Read, len(columns))
	for i, c := range columns {
		out[i].Column = c
	}
	return out
}

// Scope returns what an answer for a row depends on at a point.
func (i *Info) Scope(point abi.Point) abi.Scope {
	if slices.Contains(i.NodeScoped, point) {
		return abi.ScopeNode
	}
	return abi.ScopeCluster
}

// Event is a cluster event that a plugin registers, with the hint that decides
// for each pod; without a hint every such event means Queue.
type Event struct {
	state.ClusterEvent
	// Hint is asked only about pods that this plugin rejected. An error means
	// Queue.
	Hint func(pod *state.Pod, object state.Object) (state.Hint, error)
}

// MayActOn reports whether the plugin may act on pods of a namespace.
func (i *Info) MayActOn(namespace string) bool {
	if i.Namespaces == nil {
		return true
	}
	_, ok := slices.BinarySearch(i.Namespaces, namespace)
	return ok
}

// Hinter is a plugin that judges an event for many pods at once, instead of the
// hints of its Events.
type Hinter interface {
	Plugin
	// Hint sets out[i] for pods[i], all rejected by this plugin; out starts as
	// Queue. The event is one that Info().Events covers.
	Hint(event state.ClusterEvent, object state.Object, pods []*state.Pod, out []state.Hint)
}

// Plugin is what all plugins have in common.
type Plugin interface {
	Info() *Info
}

// Cycle is the input that the points of one scheduling cycle share. Plugins read
// it, and write to State only.
type Cycle struct {
	Context  context.Context
	Snapshot *state.Snapshot
	Pod      *state.Pod
	State    *state.CycleState
	// Seed is this cycle's own random number: the only randomness that a plugin
	// may use.
	Seed uint64
	// Nominations is the pods that preemption promised nodes to.
	Nominations state.Nominations
}

// PreEnqueue decides whether pods may enter the queue at all. A pod that is not
// admitted is gated until an event that the plugin registered.
type PreEnqueue interface {
	Plugin
	// PreEnqueue sets out[i] to nil to admit pods[i], or to a rejection.
	PreEnqueue(pods []*state.Pod, out []*Status)
}

// QueueSort orders the scheduling queue. All profiles share one.
type QueueSort interface {
	Plugin
	// Less reports whether a is to be tried before b. It must be a strict weak
	// order and must not depend on the time of the call.
	Less(a, b *state.QueuedPod) bool
}

// QueueKeyer is a QueueSort that compares keys which it computes beforehand, for
// many pods at once.
type QueueKeyer interface {
	QueueSort
	// Keys sets SortKey of each pod. It is called when a pod enters the queue, and
	// when a pod in it changes. A pod whose key cannot be computed keeps its own.
	Keys(pods []*state.QueuedPod)
	// SameOrder reports whether another profile's plugin gives the same keys.
	SameOrder(o QueueSort) bool
}

// PreFilter looks at the pod once before nodes are filtered.
type PreFilter interface {
	Plugin
	// PreFilter returns the rows that can fit, ascending, or nil for no opinion.
	// Skip leaves out the plugin's Filter for this pod. Unschedulable lets other
	// plugins' PreFilter run; UnschedulableAndUnresolvable and Error do not.
	PreFilter(c *Cycle) (rows []uint32, status *Status)
}

// PreFilterExtensions keeps what PreFilter computed right when pods are added to
// or removed from an overlay row in a what-if.
type PreFilterExtensions interface {
	Plugin
	AddPod(c *Cycle, overlay uint32, pod *state.Pod) *Status
	RemovePod(c *Cycle, overlay uint32, pod *state.Pod) *Status
}

// BlockRows is the number of row numbers in a block. Calls of points of scope node are
// cut at multiples of it and nowhere else, so that what a call sees does not depend on the
// number of workers.
const BlockRows = 1024

// Filter judges nodes.
type Filter interface {
	Plugin
	// Filter rejects rows by position in out, which starts as Success for each
	// row. rows is strictly ascending. A filter of scope node may be called by
	// several goroutines at once with different rows of the same cycle.
	Filter(c *Cycle, rows []uint32, out *Verdicts)
}

// PostFilter runs when no node fits, usually to preempt.
type PostFilter interface {
	Plugin
	// PostFilter returns a node to nominate. Success and
	// UnschedulableAndUnresolvable end the chain.
	PostFilter(c *Cycle, d *Diagnosis) (PostFilterResult, *Status)
}

// PreScore looks at the feasible nodes once before they are scored. Skip leaves
// out the plugin's Score for this pod.
type PreScore interface {
	Plugin
	PreScore(c *Cycle, rows []uint32) *Status
}

// Score rates feasible nodes.
type Score interface {
	Plugin
	// Score sets out[i] for rows[i]; out starts as zero. After Normalize, if the
	// plugin has it, scores lie in abi.MinScore … abi.MaxScore.
	Score(c *Cycle, rows []uint32, out []int64) *Status
}

// Normalize brings the scores of all feasible nodes into range.
type Normalize interface {
	Plugin
	Normalize(c *Cycle, rows []uint32, scores []int64) *Status
}

// Placement is the input of the points after a node is chosen.
type Placement struct {
	Context context.Context
	// Pod is assumed on the node, with the patches of earlier plugins.
	Pod  *state.Pod
	Node *state.Node
	// Info is the node with its pods as they were in the cycle that chose it,
	// without Pod; nil unless a plugin of the profile wants it.
	Info *state.NodeInfo
	// Namespace is the pod's; nil if its object is not known.
	Namespace *state.Namespace
	// Seed is that of the cycle which chose the node.
	Seed  uint64
	State *state.CycleState
	// Patch is what plugins wrote on the pod so far; it travels in the binding.
	Patch state.Patch
	// Faults is how many calls about the placement a guest failed since the pipeline
	// last took account of them.
	Faults int
	// Ended is what plugins want done on the loop when it takes in the result of the
	// binding cycle.
	Ended []func()
}

// Directives are the effects that a plugin asks for; the scheduler checks them
// and carries them out.
type Directives struct {
	// Plugin is the name of the plugin that asks. The pipeline fills it in.
	Plugin string
	// Patch is written on the pod, by Reserve at once in the cache, and in the
	// API with the binding; by PreBind in the API only. Other points have none: a
	// Bind that writes on the pod does so itself.
	Patch state.Patch
	// Allow and Reject name waiting pods by UID.
	Allow  []types.UID
	Reject []Rejection
	// Activate moves parked pods, by UID, to the active queue, if the cycle in
	// which it is asked for succeeds.
	Activate []types.UID
}

// By returns the directives with the name of the plugin that asks for them.
func (d Directives) By(plugin string) Directives {
	d.Plugin = plugin
	return d
}

// Rejection returns a waiting pod to the queue.
type Rejection struct {
	UID    types.UID
	Reason string
}

// Reserve notes that a pod is assumed on a node, and Unreserve that it no longer is.
// Unreserve is called for all plugins in reverse order, whether
// or not their Reserve was called, and must be idempotent.
type Reserve interface {
	Plugin
	Reserve(p *Placement) (Directives, *Status)
	Unreserve(p *Placement) Directives
}

// Permit allows, rejects or delays the binding of a pod.
type Permit interface {
	Plugin
	// Permit returns Wait with the longest time to wait, at most 15 minutes;
	// after it the pod is rejected.
	Permit(p *Placement) (wait time.Duration, d Directives, status *Status)
}

// PreBind prepares the binding, like attaching what the pod needs.
type PreBind interface {
	Plugin
	// PreBindPreFlight returns Skip when PreBind has nothing to do for the pod.
	PreBindPreFlight(p *Placement) *Status
	PreBind(p *Placement) (Directives, *Status)
}

// Bind binds the pod. The first plugin that does not Skip has bound it or failed.
type Bind interface {
	Plugin
	Bind(p *Placement) (Directives, *Status)
}

// Breaker is a plugin that is left alone for a while when it keeps failing.
type Breaker interface {
	Plugin
	// Settle is called at the end of each scheduling cycle.
	Settle()
	// RetryAt returns when the plugin is tried again; false if it is not left alone.
	RetryAt() (time.Time, bool)
}

// Fallible is a plugin whose calls can end without an answer of its own, like a guest's.
type Fallible interface {
	Plugin
	// Unanswered returns how many calls of a point did so far.
	Unanswered(point abi.Point) int64
}

// NodeReader is a plugin that reads Placement.Info.
type NodeReader interface{ ReadsNodeInfo() bool }

// PostBind hears of a binding that was made.
type PostBind interface {
	Plugin
	PostBind(p *Placement) Directives
}

// WaitingPod is a pod that waits at Permit, as code outside of the loop sees it.
type WaitingPod struct {
	Pod *state.Pod
	// Plugins are those that have not allowed it yet.
	Plugins []string
}
