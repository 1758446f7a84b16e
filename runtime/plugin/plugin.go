package plugin

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Info describes a plugin and its dependencies. It does not change during the plugin's life.
type Info struct {
	// Name is the plugin's name in a profile.
	Name string
	// Module is the name and version in the module's manifest, and Digest is the digest of its
	// bytes; both are empty for a native plugin.
	Module, Digest string
	// Namespaces are the namespaces whose pods the plugin may act on, sorted; nil means all.
	Namespaces []string
	// Budget is how many attempts the plugin may cause, if it is attached to namespaces.
	Budget Budget
	// MaxPriority is the priority with which pods of Namespaces compete at most with others for their turn in the queue; nil means
	// their own.
	MaxPriority *int32
	// Holds says that the plugin only keeps back the pods of plugins that do not run.
	Holds bool
	// Reads are the columns and pod fields that the plugin's answers depend on.
	Reads []Read
	// Feeds are the feeds of which it reads what they say of nodes, each with its unit, as node.cpu.usage:milli.
	Feeds []string
	// NodeScoped are the points, Filter or Score, at which the answer for a row depends only on
	// that row and the pod, as far as Reads names them. Calls of these points may be split over
	// rows, and their answers are kept for other pods. All other points have the scope of the
	// cluster. PreFilter of such a plugin, and PreScore if its Score is such a point, look at no
	// row, and their answers depend on the pod only as far as Reads names it.
	NodeScoped []abi.Point
	// ByPriority says that its QueueSort orders pods by priority, then by age.
	ByPriority bool
	// Enforces are the features of a pod's spec that this plugin enforces.
	Enforces state.Feature
	// Resizes says that the plugin has its say about a pod whose resize in place is deferred, at all its points. Other plugins
	// are not asked about such a pod: it runs on its node already, and only the resources are in question.
	Resizes bool
	// TriesResizes has such pods tried at all (KEP-5836). If there is room for the resize, Permit of the plugin is called with the
	// pod on its node, without Reserve before, and rejects it: nothing is left to bind.
	TriesResizes bool
	// Events can make another attempt for a pod that this plugin rejected worthwhile. Without
	// events, such a pod is retried only by the flush of leftovers.
	Events []Event
}

// Budget is how many attempts a minute a plugin may cause for pods of a namespace that are not bound then; 0 means
// DefaultBudget. Pods wait for their turn beyond it.
type Budget struct {
	// Pending is for pods that its Pending verdicts have retried without backoff, Wakeups for those that its hints have
	// retried, or its errors, and Activations for those that it activates.
	Pending, Wakeups, Activations int
	// All is for all of these, of all plugins that are attached to the namespace.
	All int
}

// DefaultBudget is the default of each number of a Budget.
const DefaultBudget = 30

// Read is a column of the snapshot, or a field of the incoming pod, that a plugin reads.
type Read struct {
	Column abi.ColumnID
	// Args are the resources, keys or types that it reads in a column with many; nil means all.
	// Those of abi.NodePods are empty if the plugin reads no more of the pods than Reads names
	// columns of the pods table; nil means that it may read anything of them.
	Args []string
	// Step is by how many seconds abi.IncomingNow moves; 0 means 1.
	Step int64
}

// Whole returns reads of columns with all their content.
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

// Event is a cluster event that a plugin registers, with the hint that decides for each pod;
// without a hint every such event means Queue.
type Event struct {
	state.ClusterEvent
	// Hint is called only for pods that this plugin rejected. An error means Queue.
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

// Hinter is a plugin that judges an event for many pods at once, instead of with the hints of
// its Events.
type Hinter interface {
	Plugin
	// Hint sets out[i] for pods[i], all rejected by this plugin; out is Queue before.
	// Info().Events covers the event.
	Hint(event state.ClusterEvent, object state.Object, pods []*state.Pod, out []state.Hint)
}

// Plugin is what all plugins have in common.
type Plugin interface {
	Info() *Info
}

// Cycle is the input that all points of one scheduling cycle share. Plugins may write only to
// State.
type Cycle struct {
	Context  context.Context
	Snapshot *state.Snapshot
	Pod      *state.Pod
	State    *state.CycleState
	// Seed is this cycle's random number, the only randomness that a plugin may use.
	Seed uint64
	// Now is the time of the loop in seconds since 1970, the only time that an answer may depend on.
	Now int64
	// Nominations are the pods with nominated nodes.
	Nominations state.Nominations
	// Unenforced are the features that no plugin of the profile enforces, and that it does not leave to others.
	Unenforced state.Feature
	// Resize says that Pod runs on a node, which counts its requests already, and waits for a resize in place.
	Resize bool
}

// PreEnqueue decides whether pods may enter the queue. A pod that is not admitted is gated
// until an event that the plugin registered.
type PreEnqueue interface {
	Plugin
	// PreEnqueue sets out[i] to nil to admit pods[i], or to a rejection, whose RetryAfter counts.
	PreEnqueue(pods []*state.Pod, out []*Status)
}

// QueueSort orders the scheduling queue. All profiles share one.
type QueueSort interface {
	Plugin
	// Less reports whether a is tried before b. It must be a strict weak order and must not
	// depend on the time of the call.
	Less(a, b *state.QueuedPod) bool
}

// QueueKeyer is a QueueSort that compares precomputed keys, computed for many pods at once.
type QueueKeyer interface {
	QueueSort
	// Keys sets SortKey of each pod. It is called when a pod enters the queue or changes in it.
	// A pod whose key cannot be computed keeps its old one.
	Keys(pods []*state.QueuedPod)
	// SameOrder reports whether another profile's plugin computes the same keys.
	SameOrder(o QueueSort) bool
}

// PreFilter is called once per pod, before nodes are filtered.
type PreFilter interface {
	Plugin
	// PreFilter returns the rows that can fit, ascending, or nil for all. Skip skips the
	// plugin's Filter for this pod. After Unschedulable, PreFilter of other plugins still runs;
	// after UnschedulableAndUnresolvable and Error it does not.
	PreFilter(c *Cycle) (rows []uint32, status *Status)
}

// PreFilterExtensions update what PreFilter computed when pods are added to or removed from an
// overlay row in a what-if.
type PreFilterExtensions interface {
	Plugin
	AddPod(c *Cycle, overlay uint32, pod *state.Pod) *Status
	RemovePod(c *Cycle, overlay uint32, pod *state.Pod) *Status
}

// BlockRows is the number of row numbers in a block. Calls of points of scope node are divided
// only at multiples of it, so that they do not depend on the number of workers.
const BlockRows = 1024

// Filter judges nodes.
type Filter interface {
	Plugin
	// Filter rejects rows by position in out, which has Success for each row before. rows is
	// strictly ascending. A filter of scope node may be called concurrently with different rows
	// of the same cycle.
	Filter(c *Cycle, rows []uint32, out *Verdicts)
}

// Ordered is a Filter or Score of scope node that remembers calls: what it answers to one, and what that costs, may depend on
// those before. It is called block by block in an order that does not depend on workers.
type Ordered interface {
	Plugin
	// Lanes returns n such that calls about blocks whose numbers differ by a multiple of n have to come one after another, in
	// ascending order. It is called right before a call of the point.
	Lanes(c *Cycle, point abi.Point) int
}

// Detailer is a Filter that can say more about rows than its reasons do.
type Detailer interface {
	Filter
	// Details is called if no row is feasible, with rows that the plugin rejected for the same
	// reasons. It bounds what it says itself.
	Details(c *Cycle, rows []uint32) []Detail
}

// Detail is what a plugin says of some rows, for people.
type Detail struct {
	Text string
	Rows int // how many
}

// PostFilter runs when no node fits, usually to preempt.
type PostFilter interface {
	Plugin
	// PostFilter returns a node to nominate. Success and UnschedulableAndUnresolvable end the
	// chain.
	PostFilter(c *Cycle, d *Diagnosis) (PostFilterResult, *Status)
}

// PreScore is called once per pod, before the feasible nodes are scored. Skip skips the
// plugin's Score for this pod.
type PreScore interface {
	Plugin
	PreScore(c *Cycle, rows []uint32) *Status
}

// Score scores feasible nodes.
type Score interface {
	Plugin
	// Score sets out[i] for rows[i]; out is zero before. After Normalize, if the plugin has it,
	// scores are in abi.MinScore … abi.MaxScore.
	Score(c *Cycle, rows []uint32, out []int64) *Status
}

// Normalize scales the scores of all feasible nodes to the range.
type Normalize interface {
	Plugin
	Normalize(c *Cycle, rows []uint32, scores []int64) *Status
}

// Aggregates is a plugin whose answers of scope node depend on sums over the nodes, too.
type Aggregates interface {
	Plugin
	// AppendAggregates appends those that count for the cycle's pod: the same bytes if
	// and only if they are equal. It looks at no row.
	AppendAggregates(b []byte, c *Cycle) []byte
}

// Indifferent is a Score plugin that gives all nodes 0 for some pods. It is not asked about the
// nodes of such a pod.
type Indifferent interface {
	Score
	// Indifferent reports that of the cycle's pod. It is called before Score, once a cycle.
	Indifferent(c *Cycle) bool
}

// Scaler is a plugin whose Normalize is a Scaling.
type Scaler interface {
	Normalize
	// Scaling returns false if Normalize does something else.
	Scaling() (Scaling, bool)
}

// Placement is the input of the points after a node is chosen.
type Placement struct {
	Context context.Context
	// Pod is assumed on the node, with the patches of earlier plugins.
	Pod  *state.Pod
	Node *state.Node
	// Info is the node with its pods in the cycle that chose it, without Pod; nil unless a
	// plugin of the profile needs it.
	Info *state.NodeInfo
	// Namespace is the pod's namespace; nil if its object is unknown.
	Namespace *state.Namespace
	// Seed is the seed of the cycle that chose the node.
	Seed  uint64
	State *state.CycleState
	// Patch is what plugins have set on the pod so far; it is written with the binding.
	Patch state.Patch
	// Faults is how many calls for the placement a guest has failed since the pipeline last read
	// it.
	Faults int
	// Ended are functions of plugins that the loop calls when it handles the result of the
	// binding cycle.
	Ended []func()
	// Beside are the calls of modules in the binding cycle so far.
	Beside []Beside
	// Waits (optional) is told whether the pod waits only for its binding to be sent. That is so when the binding cycle begins.
	Waits func(waits bool)
}

// Sent is called when the binding has begun to be sent.
func (p *Placement) Sent() {
	if p.Waits != nil {
		p.Waits(false)
	}
}

// Beside is how a call of a module in a binding cycle ended. The module's breaker learns of it when the loop handles
// the result, and in a replay from the recording.
type Beside struct {
	Plugin string    `json:"plugin"`
	Point  abi.Point `json:"point"`
	// Kind, Detail, Output and Trace are those of the fault; Kind is empty if there was none.
	Kind   string `json:"kind,omitempty"`
	Detail string `json:"detail,omitempty"`
	Output string `json:"output,omitempty"`
	Trace  string `json:"trace,omitempty"`
	// Lost tells that the call lost its instance. Used is the fuel that it used, and Started that of starts that no fault is
	// charged for.
	Lost    bool  `json:"lost,omitempty"`
	Used    int64 `json:"used,omitempty"`
	Started int64 `json:"started,omitempty"`
}

// Directives are the effects that a plugin requests; the scheduler checks and carries them out.
type Directives struct {
	// Plugin is the name of the requesting plugin. The pipeline sets it.
	Plugin string
	// Patch is for the pod. Reserve's patch applies immediately in the cache, and in the API
	// with the binding; PreBind's applies only in the API. Other points have none: a Bind that
	// patches the pod does so itself.
	Patch state.Patch
	// Allow and Reject name waiting pods by UID.
	Allow  []types.UID
	Reject []Rejection
	// Activate moves parked pods, by UID, to the active queue if the requesting cycle succeeds.
	Activate []types.UID
}

// By returns the directives with the name of the requesting plugin.
func (d Directives) By(plugin string) Directives {
	d.Plugin = plugin
	return d
}

// Rejection returns a waiting pod to the queue.
type Rejection struct {
	UID    types.UID
	Reason string
}

// Reserve is called when a pod is assumed on a node, and Unreserve when it no longer is.
// Unreserve is called for all plugins in reverse order, even those whose Reserve was not
// called, and must be idempotent.
type Reserve interface {
	Plugin
	Reserve(p *Placement) (Directives, *Status)
	Unreserve(p *Placement) Directives
}

// Permit allows, rejects or delays the binding of a pod.
type Permit interface {
	Plugin
	// Permit returns Wait with the maximum time to wait, at most 15 minutes; after it the pod is
	// rejected.
	Permit(p *Placement) (wait time.Duration, d Directives, status *Status)
}

// PreBind prepares the binding, for example by attaching volumes.
type PreBind interface {
	Plugin
	// PreBindPreFlight returns Skip if PreBind has nothing to do for the pod.
	PreBindPreFlight(p *Placement) *Status
	PreBind(p *Placement) (Directives, *Status)
}

// Bind binds the pod. The first plugin that does not return Skip has bound it or failed.
type Bind interface {
	Plugin
	Bind(p *Placement) (Directives, *Status)
}

// Delegator is a plugin that leaves something that a pod asks for to plugins that enforce another
// feature, on nodes where that has it.
type Delegator interface {
	Plugin
	// Delegates returns these features for a placement. It is called on the scheduler's loop.
	Delegates(p *Placement) state.Feature
}

// Breaker is a plugin that is not called for a while if it keeps failing: for pods of the namespaces with whose pods it does,
// or for all.
type Breaker interface {
	Plugin
	// Settle is called at the end of each scheduling cycle, with the namespace of its pod.
	Settle(namespace string)
	// RetryAt returns when the plugin is called again for pods of a namespace; false if its breaker is closed for them.
	RetryAt(namespace string) (time.Time, bool)
	// Retries returns these times for all namespaces, in the order in which these have their turn.
	Retries() []Retry
	// Learn takes in how a call in a binding cycle of a pod of a namespace ended.
	Learn(namespace string, call Beside)
	// Fuel returns what calls of the guest have used so far.
	Fuel() int64
	// TakeStarts returns the starts of the guest since the last call that no fault was charged for, and Charge charges one.
	TakeStarts() []Start
	Charge(s Start)
	// Carried returns what the breaker knows, and when pods were released for Retries, by namespace, for a checkpoint of a
	// recording; nil if no call has been faulted. Resume sets it, and returns the latter.
	Carried(released map[string]time.Time) json.RawMessage
	Resume(carried json.RawMessage) (released map[string]time.Time, err error)
}

// Start is fuel for starts of a guest's instances which calls at a point, about pods of a namespace, caused.
type Start struct {
	Namespace string
	Point     abi.Point
	Fuel      int64
}

// Retry is when a plugin is called again for pods of a namespace; without a name, for those of all namespaces that
// have no Retry of their own.
type Retry struct {
	Namespace string
	At        time.Time
}

// Carrier is a plugin that can say what it keeps for pods in flight, from Reserve to the end of their binding, so that
// a checkpoint of a recording has it. In a replay the binding cycle does not run, so this is what Unreserve needs, and
// what attempts for other pods depend on.
type Carrier interface {
	Plugin
	// CarriedFor returns what is kept for a pod, as it was when Permit ended; nil for nothing. The loop calls it, maybe
	// while the binding cycle runs. For nil it returns what is kept for pods that are not in flight any more.
	CarriedFor(p *Placement) json.RawMessage
	// ChangedFor returns what the binding cycle made of that; nil if that is the same. It is called at the end of a cycle
	// that failed, beside the loop.
	ChangedFor(p *Placement) json.RawMessage
	// ResumeFor sets either. For nil it is called after the calls for all pods.
	ResumeFor(p *Placement, carried json.RawMessage) error
}

// Carried is what a Carrier keeps for a pod.
type Carried struct {
	Plugin  string          `json:"plugin"`
	Carried json.RawMessage `json:"carried"`
}

// Patcher is a plugin that counts what its patches hold. Those of Reserve hold it for as long as the pod is assumed.
type Patcher interface {
	Plugin
	// Unassumed is called when a pod was confirmed or given up. Only the loop calls it.
	Unassumed(pod types.UID)
}

// Fallible is a plugin whose calls can end without an answer, like a guest's.
type Fallible interface {
	Plugin
	// Unanswered returns the number of such calls of a point so far.
	Unanswered(point abi.Point) int64
}

// NodeReader is a plugin that reads Placement.Info.
type NodeReader interface{ ReadsNodeInfo() bool }

// PostBind is called after a successful binding.
type PostBind interface {
	Plugin
	PostBind(p *Placement) Directives
}
