package conformance

import (
	"context"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Host is what Run tests: a scheduler, or the part of it that runs plugins.
type Host interface {
	// Load loads plugins into one profile, in this order. An error refuses them; its
	// text is what the user would be shown.
	Load(ctx context.Context, plugins []Plugin) (Profile, error)
}

// Plugin is a module as a user installs it.
type Plugin struct {
	// Name is that in the profile.
	Name string
	// Module is the module with its manifest.
	Module []byte
	// Config is JSON; nil when the user gave none.
	Config []byte
	// Namespaces are those that the plugin is attached to; none for all.
	Namespaces []string
	// Grants are the directives that the user allows.
	Grants wire.ManifestDirectives
	// Verify asks the host to look after each call whether the guest wrote where it
	// must not (ABI-2.9). A host that never looks omits ABI-2.9, see Omitter.
	Verify bool
	// Log takes each text that the guest logs, as soon as the host is called. Calls
	// that run at the same time must not mix their texts.
	Log func(level int, text string)
}

// Profile is plugins that were loaded together.
type Profile interface {
	// Begin begins the cycle of a pod in a cluster. From one Begin to the next the
	// cluster may have changed, as it does between cycles. The pod is nil for calls
	// that are about pods of their own.
	Begin(ctx context.Context, c *cluster.Cluster, pod *cluster.Pod) (Cycle, error)
	// Close ends the profile.
	Close(ctx context.Context) error
}

// Cycle is one pod's way through the points. It has the state of all plugins, and
// from reserve on what they patched.
type Cycle interface {
	// Call calls a point of one plugin. An error means that the call could not be
	// made, and fails the case; what the guest did wrong is an Answer with a Fault.
	Call(ctx context.Context, c *Call) (*Answer, error)
}

// Call is one call of a point. What does not apply to the point is empty.
type Call struct {
	// Plugin is the plugin's name.
	Plugin string
	Point  abi.Point
	// Nodes are the nodes asked by filter, pre_score, score and normalize.
	Nodes []string
	// Scores are normalize's input, by Nodes. A plugin that declares a normalisation
	// (ABI-9.5) is called for normalize too.
	Scores []int64
	// Verdicts are post_filter's input, by the nodes of the cluster.
	Verdicts []abi.Code
	// WhatIf makes filter judge the one node of Nodes as an overlay row.
	WhatIf *WhatIf
	// Node is the chosen node of reserve and the points after it.
	Node string
	// Pods are the pods of pre_enqueue, queue_key and hint.
	Pods []cluster.Pod
	// Queue is by Pods, for queue_key.
	Queue []wire.QueueEntry
	// Event is hint's.
	Event *Event
}

// WhatIf is pods that a node does not have, and UIDs of pods that it has: with
// the one added and the other removed, in this order, add_pod and remove_pod are
// called for each if the plugin has them, and then filter for the row.
type WhatIf struct {
	Add    []cluster.Pod `json:"add,omitempty"`
	Remove []string      `json:"remove,omitempty"`
}

// Event is a cluster event, with the numbers of ABI-3.10.
type Event struct {
	Resource abi.EventKind   `json:"resource"`
	Actions  abi.EventAction `json:"actions"`
	OldPod   *cluster.Pod    `json:"oldPod,omitempty"`
	NewPod   *cluster.Pod    `json:"newPod,omitempty"`
	OldNode  *cluster.Node   `json:"oldNode,omitempty"`
	NewNode  *cluster.Node   `json:"newNode,omitempty"`
	// Namespace and Name are of an object of another kind.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Answer is what the host made of a call.
type Answer struct {
	// Fault is set if the guest failed; then nothing of the call counts.
	Fault Fault
	// Output is what the host kept of the guest's stdout and stderr in this call; it
	// is looked at together with a Fault.
	Output string
	// Code is the result, with the texts of its reason set. Where a point is about
	// rows or pods and their answers count it is Success.
	Code    abi.Code
	Reasons []string
	// Codes are the answers of filter by Nodes, and of pre_enqueue and hint by Pods,
	// with the texts of their reason sets in RowReasons (which may be nil).
	Codes      []abi.Code
	RowReasons [][]string
	// Scores are the answers of score and normalize, by Nodes.
	Scores []int64
	// Narrowed tells that pre_filter's row set counts, which is Rows, by name.
	Narrowed bool
	Rows     []string
	// Keys are queue_key's answers, by Pods.
	Keys [][]byte
	// Directives are those that the host carries out.
	Directives []wire.Directive
	// Wait is how long permit lets the pod wait.
	Wait time.Duration
}

// Fault is a kind of failure of a guest.
type Fault string

// The kinds. A host may tell more of them apart.
const (
	// FaultTrap is code that does not return: a trap, proc_exit, a pointer out of
	// bounds that is given to a host function.
	FaultTrap Fault = "trap"
	// FaultAnswer is an answer that SPEC.md does not allow.
	FaultAnswer Fault = "answer"
	// FaultRegion is a write into what is the host's (ABI-2.9).
	FaultRegion Fault = "region"
	// FaultMemory is a berth_alloc that gives no room, or not where it can be.
	FaultMemory Fault = "memory"
)

// Omitter is a Host that makes no use of some sentences that say may. Cases about
// them are skipped.
type Omitter interface {
	// Omits returns sentences, as "ABI-2.9".
	Omits() []string
}
