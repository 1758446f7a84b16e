package berth

import "time"

// Plugin is a plugin: a pointer to a struct that embeds Base.
type Plugin interface{ core() *core }

// Configurer is a plugin with a configuration.
type Configurer interface {
	Plugin
	// Configure gets the configuration as JSON, once, before any point. The host
	// has checked it against the manifest's schema. An error refuses it and is
	// shown to the user.
	Configure(config []byte) error
}

// Preparer is a plugin that looks at the pod once before the nodes of a call.
type Preparer interface {
	Plugin
	// Prepare is called at the start of each call of Filter or Score for many
	// nodes, with the pod of that call. It is where a plugin looks up what does not
	// depend on the node; fields that it sets must not depend on earlier calls.
	//
	// Success goes on to the nodes. Skip means that the plugin has no objection to
	// any node, or scores all of them 0. Error fails the call. Another status is
	// Filter's answer for every node of the call.
	Prepare(pod Pod) Status
}

// PreEnqueuer is a plugin with the point PreEnqueue.
type PreEnqueuer interface {
	Plugin
	// PreEnqueue lets a pod into the queue: Success; or holds it back until an event
	// that the manifest lists: Unschedulable, UnschedulableAndUnresolvable, Pending
	// or Error.
	PreEnqueue(pod Pod) Status
}

// QueueKeyer is a plugin with the point QueueSort.
type QueueKeyer interface {
	Plugin
	// QueueKey appends the pod's place in the queue to an empty key. It must depend
	// on the pod, on queued and on the configuration alone. Pods of equal keys are in
	// the order of their times.
	QueueKey(pod Pod, queued Queued, key *Key)
}

// Hinter is a plugin with the point QueueingHint.
type Hinter interface {
	Plugin
	// Hint says whether an event that the manifest lists makes another try worth
	// while for a pod that the plugin rejected: Queue or QueueSkip.
	Hint(event Event, pod Pod) HintResult
}

// PreFilterer is a plugin with the point PreFilter.
type PreFilterer interface {
	Plugin
	// PreFilter looks at the pod once before nodes are filtered. It may narrow the
	// nodes down to rows; nil is all of them. Skip leaves out Filter for this pod.
	// If all points of the plugin are of scope node, nodes is empty and rows must
	// be nil.
	PreFilter(pod Pod, nodes Nodes) (rows *Rows, status Status)
}

// PodAdder is a plugin with the points PreFilterExtensionAddPod and RemovePod,
// which bring up to date what PreFilter put into the state, when the host wants to
// know what would be with another pod on a node, or without one. The node's columns
// show it already; state is a copy for this node. A plugin whose Filter reads
// columns only needs neither.
type PodAdder interface {
	Plugin
	// AddPod is called when a pod was added to the node: Success or Error.
	AddPod(pod, added Pod, node Node) Status
	// RemovePod is called when a pod was removed from it.
	RemovePod(pod, removed Pod, node Node) Status
}

// Filterer is a plugin with the point Filter.
type Filterer interface {
	Plugin
	// Filter judges a node: Success, Unschedulable, UnschedulableAndUnresolvable,
	// Pending or Error.
	Filter(pod Pod, node Node) Status
}

// PostFilterer is a plugin with the point PostFilter.
type PostFilterer interface {
	Plugin
	// PostFilter is called when no node fits, with what the filters of all plugins
	// said of each. Success with Nominate promises the pod a node, and like
	// UnschedulableAndUnresolvable keeps other plugins from trying; Unschedulable
	// lets them.
	PostFilter(pod Pod, nodes Judged) Status
}

// PreScorer is a plugin with the point PreScore.
type PreScorer interface {
	Plugin
	// PreScore looks at the nodes that passed all filters, once before they are
	// scored. Skip leaves out Score for this pod.
	PreScore(pod Pod, nodes Nodes) Status
}

// Scorer is a plugin with the point Score.
type Scorer interface {
	Plugin
	// Score rates a node: 0 to 100, or any number if scores are normalised.
	Score(pod Pod, node Node) int64
}

// Normalizer is a plugin with the point Normalize.
type Normalizer interface {
	Plugin
	// Normalize brings the scores of all nodes, one a node, to 0 … 100.
	Normalize(pod Pod, nodes Nodes, scores []int64) Status
}

// Reserver is a plugin with the point Reserve. In this point and those after it
// the node is the chosen one, as it was when it was chosen, with its pods but
// without this one; the pod shows what earlier points wrote on it.
type Reserver interface {
	Plugin
	// Reserve takes what the pod needs on the node. What it writes on the pod, with
	// Annotate and Label, is visible to the next pod at once, as annotations and
	// labels of a pod on the node. It answers Success, Unschedulable,
	// UnschedulableAndUnresolvable, Pending or Error.
	Reserve(pod Pod, node Node) Status
}

// Unreserver is a plugin with the point Unreserve; it needs Reserve.
type Unreserver interface {
	Plugin
	// Unreserve is called when the pod does not get the node after all, whether or
	// not Reserve was called. The host drops what Reserve wrote. It answers Success
	// or Error.
	Unreserve(pod Pod, node Node) Status
}

// Permitter is a plugin with the point Permit.
type Permitter interface {
	Plugin
	// Permit answers Success, or Wait to hold the pod back until Allow names it in a
	// call for another pod, at most as long as wait says (rounded up to
	// milliseconds) and at most 15 minutes; then the pod is rejected. It rejects the
	// pod with Unschedulable, UnschedulableAndUnresolvable, Pending or Error.
	Permit(pod Pod, node Node) (wait time.Duration, status Status)
}

// PreBinder is a plugin with the point PreBind.
type PreBinder interface {
	Plugin
	// PreBind prepares the binding. What it writes on the pod goes to the API only.
	// It answers as Reserve does.
	PreBind(pod Pod, node Node) Status
}

// Binder is a plugin with the point Bind.
type Binder interface {
	Plugin
	// Bind answers Success after BindPod, Skip to leave the pod to the next plugin,
	// or as Reserve does.
	Bind(pod Pod, node Node) Status
}

// PostBinder is a plugin with the point PostBind.
type PostBinder interface {
	Plugin
	// PostBind hears of a pod that was bound. It answers Success or Error.
	PostBind(pod Pod, node Node) Status
}

// Judged is the nodes of a PostFilter and what filters said of them.
type Judged struct {
	Nodes
	codes []uint8
}

// Code is the verdict of the i-th node: why it is out, or Success for a node that
// no filter judged.
func (j Judged) Code(i int) Code { return Code(j.codes[i]) }

// Rows is a list of nodes that PreFilter narrows down to. Keep one in the plugin
// and Reset it, so that it does not allocate. Nodes are added in the order of
// their row numbers, which is the order of Nodes.
type Rows struct{ rows []uint32 }

// Reset empties the list.
func (r *Rows) Reset() { r.rows = r.rows[:0] }

// Add adds a node.
func (r *Rows) Add(n Node) { r.rows = append(r.rows, n.row) }

// Len returns the number of nodes.
func (r *Rows) Len() int { return len(r.rows) }
