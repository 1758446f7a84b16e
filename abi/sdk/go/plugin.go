package berth

import "time"

// Plugin is a plugin: a pointer to a struct that embeds Base.
type Plugin interface{ core() *core }

// Configurer is a plugin with a configuration.
type Configurer interface {
	Plugin
	// Configure gets the configuration as JSON, once, before any point. The host has checked it
	// against the manifest's schema. An error refuses the configuration and is shown to the
	// user.
	Configure(config []byte) error
}

// Preparer is a plugin with a step for the pod before the nodes of a call.
type Preparer interface {
	Plugin
	// Prepare is called at the start of each call of Filter or Score for many nodes, with the
	// pod of that call. It looks up what does not depend on the node; fields that it sets must
	// not depend on earlier calls.
	//
	// Success continues with the nodes. Skip means that the plugin has no objection to any node,
	// or scores all of them 0. Error fails the call. Another status is Filter's answer for every
	// node of the call.
	Prepare(pod Pod) Status
}

// PreEnqueuer is a plugin with the point PreEnqueue.
type PreEnqueuer interface {
	Plugin
	// PreEnqueue admits a pod to the queue with Success. Unschedulable,
	// UnschedulableAndUnresolvable, Pending or Error gates it until an event that the manifest
	// lists.
	PreEnqueue(pod Pod) Status
}

// QueueKeyer is a plugin with the point QueueSort.
type QueueKeyer interface {
	Plugin
	// QueueKey appends the pod's place in the queue to an empty key. It must depend only on the
	// pod, on queued and on the configuration. Pods with equal keys are in the order of their
	// times.
	QueueKey(pod Pod, queued Queued, key *Key)
}

// Hinter is a plugin with the point QueueingHint.
type Hinter interface {
	Plugin
	// Hint says whether an event that the manifest lists makes another attempt worthwhile for a
	// pod that the plugin rejected: Queue or QueueSkip.
	Hint(event Event, pod Pod) HintResult
}

// PreFilterer is a plugin with the point PreFilter.
type PreFilterer interface {
	Plugin
	// PreFilter is called once per pod, before nodes are filtered. It may narrow the nodes down
	// to rows; nil means all. Skip skips Filter for this pod. If all points of the plugin have
	// scope node, nodes is empty and rows must be nil.
	PreFilter(pod Pod, nodes Nodes) (rows *Rows, status Status)
}

// PodAdder is a plugin with the points PreFilterExtensionAddPod and RemovePod. They update what
// PreFilter put into the state when the host asks about a node with another pod, or without
// one. The node's columns already show the change; the state is a copy for this node. A plugin
// whose Filter reads only columns needs neither.
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
	// PostFilter is called when no node fits, with the verdicts of all plugins' filters. Success
	// with Nominate sets the pod's nominated node. Success and UnschedulableAndUnresolvable keep
	// other plugins from trying; Unschedulable lets them.
	PostFilter(pod Pod, nodes Judged) Status
}

// PreScorer is a plugin with the point PreScore.
type PreScorer interface {
	Plugin
	// PreScore is called once per pod with the nodes that passed all filters, before they are
	// scored. Skip skips Score for this pod.
	PreScore(pod Pod, nodes Nodes) Status
}

// Scorer is a plugin with the point Score.
type Scorer interface {
	Plugin
	// Score scores a node: 0 to 100, or any number if scores are normalized, or [NoScore] if the host normalizes them.
	Score(pod Pod, node Node) int64
}

// Normalizer is a plugin with the point Normalize.
type Normalizer interface {
	Plugin
	// Normalize scales the scores of all nodes, one per node, to 0 … 100.
	Normalize(pod Pod, nodes Nodes, scores []int64) Status
}

// Reserver is a plugin with the point Reserve. In this point and later ones the node is the
// chosen one, as it was when it was chosen, with its pods but without this one; the pod shows
// the patches of earlier points.
type Reserver interface {
	Plugin
	// Reserve reserves what the pod needs on the node. The next pod immediately sees what it
	// sets on the pod with Annotate and Label, as annotations and labels of a pod on the node.
	// It returns Success, Unschedulable, UnschedulableAndUnresolvable, Pending or Error.
	Reserve(pod Pod, node Node) Status
}

// Unreserver is a plugin with the point Unreserve; it needs Reserve.
type Unreserver interface {
	Plugin
	// Unreserve is called when the pod does not get the node after all, even if Reserve was not
	// called. The host drops the patches of Reserve. It returns Success or Error.
	Unreserve(pod Pod, node Node) Status
}

// Permitter is a plugin with the point Permit.
type Permitter interface {
	Plugin
	// Permit returns Success, or Wait to hold the pod until Allow names it in a call for another
	// pod, for at most wait (rounded up to milliseconds) and 15 minutes; then the pod is
	// rejected. Unschedulable, UnschedulableAndUnresolvable, Pending and Error reject the pod.
	Permit(pod Pod, node Node) (wait time.Duration, status Status)
}

// PreBinder is a plugin with the point PreBind.
type PreBinder interface {
	Plugin
	// PreBind prepares the binding. Its patches go only to the API. It returns the statuses of
	// Reserve.
	PreBind(pod Pod, node Node) Status
}

// Binder is a plugin with the point Bind.
type Binder interface {
	Plugin
	// Bind returns Success after BindPod, Skip to leave the pod to the next plugin, or the
	// statuses of Reserve.
	Bind(pod Pod, node Node) Status
}

// PostBinder is a plugin with the point PostBind.
type PostBinder interface {
	Plugin
	// PostBind is called for a bound pod. It returns Success or Error.
	PostBind(pod Pod, node Node) Status
}

// Judged are the nodes of a PostFilter with their verdicts.
type Judged struct {
	Nodes
	codes []uint8
}

// Code is the verdict on the i-th node: why it was rejected, or Success if no filter judged it.
func (j Judged) Code(i int) Code { return Code(j.codes[i]) }

// Rows is the list of nodes that PreFilter narrows down to. Keep one in the plugin and Reset
// it, to avoid allocation. Nodes must be added in the order of their row numbers, which is the
// order of Nodes.
type Rows struct{ rows []uint32 }

// Reset empties the list.
func (r *Rows) Reset() { r.rows = r.rows[:0] }

// Add adds a node.
func (r *Rows) Add(n Node) { r.rows = append(r.rows, n.row) }

// Len returns the number of nodes.
func (r *Rows) Len() int { return len(r.rows) }
