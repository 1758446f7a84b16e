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
	// Load loads plugins into one profile, in this order. An error refuses them; its text is
	// what the user would see.
	Load(ctx context.Context, plugins []Plugin) (Profile, error)
}

// Plugin is a module as a user installs it.
type Plugin struct {
	// Name is the name in the profile.
	Name string
	// Module is the module with its manifest.
	Module []byte
	// Config is JSON; nil if the user gave none.
	Config []byte
	// Namespaces are the ones that the plugin is attached to; empty means all.
	Namespaces []string
	// Grants are the directives that the user allows.
	Grants wire.ManifestDirectives
	// Verify asks the host to check after each call whether the guest wrote where it must not
	// (ABI-2.9). A host that never checks omits ABI-2.9, see Omitter.
	Verify bool
	// Log receives each text that the guest logs, immediately. Concurrent calls must not mix
	// their texts.
	Log func(level int, text string)
}

// Profile is a set of plugins that were loaded together.
type Profile interface {
	// Begin begins the cycle of a pod in a cluster. The cluster may change between cycles. The
	// pod is nil for calls that have pods of their own.
	Begin(ctx context.Context, c *cluster.Cluster, pod *cluster.Pod) (Cycle, error)
	// Close frees the profile.
	Close(ctx context.Context) error
}

// Cycle is one pod's way through the points. It has the state of all plugins, and from reserve
// on their patches.
type Cycle interface {
	// Call calls a point of one plugin. An error means that the call could not be made, and
	// fails the case; a mistake of the guest is an Answer with a Fault.
	Call(ctx context.Context, c *Call) (*Answer, error)
}

// Call is one call of a point. Fields that do not apply to the point are empty.
type Call struct {
	// Plugin is the plugin's name.
	Plugin string
	Point  abi.Point
	// Nodes are the nodes in a call of filter, pre_score, score or normalize.
	Nodes []string
	// Scores are normalize's input, by Nodes. A plugin that declares a normalization (ABI-9.5)
	// is called for normalize too.
	Scores []int64
	// Verdicts are post_filter's input, by the nodes of the cluster.
	Verdicts []abi.Code
	// WhatIf makes filter judge the only node of Nodes as an overlay row.
	WhatIf *WhatIf
	// Node is the chosen node for reserve and later points.
	Node string
	// Pods are the pods of pre_enqueue, queue_key and hint.
	Pods []cluster.Pod
	// Queue is by Pods, for queue_key.
	Queue []wire.QueueEntry
	// Event is hint's event.
	Event *Event
}

// WhatIf has pods to add to a node and UIDs of pods to remove from it, in this order. add_pod
// and remove_pod are called for each if the plugin has them, and then filter for the row.
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
	// Namespace and Name belong to an object of another kind.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Answer is the host's result of a call.
type Answer struct {
	// Fault is set if the guest failed; then nothing else of the call counts.
	Fault Fault
	// Output is what the host kept of the guest's stdout and stderr in this call; it is checked
	// together with a Fault.
	Output string
	// Code is the result, and Reasons are the texts of its reason set. At a point about rows or
	// pods it is Success if their answers count.
	Code    abi.Code
	Reasons []string
	// Codes are the answers of filter by Nodes, and of pre_enqueue and hint by Pods. RowReasons,
	// which may be nil, has the texts of their reason sets.
	Codes      []abi.Code
	RowReasons [][]string
	// Scores are the answers of score and normalize, by Nodes.
	Scores []int64
	// Narrowed is true if pre_filter's row set counts; Rows is that set, by name.
	Narrowed bool
	Rows     []string
	// Keys are queue_key's answers, by Pods.
	Keys [][]byte
	// Directives are the ones that the host carries out.
	Directives []wire.Directive
	// Wait is how long permit makes the pod wait.
	Wait time.Duration
	// RetryAfter is how soon pre_filter, reserve or permit has the pod tried again, and RetryAfters, by Pods, how soon pre_enqueue is asked
	// again; 0 leaves it to events.
	RetryAfter  time.Duration
	RetryAfters []time.Duration
}

// Fault is a kind of failure of a guest.
type Fault string

// The kinds. A host may distinguish more.
const (
	// FaultTrap is code that does not return: a trap, proc_exit, an out-of-bounds pointer passed
	// to a host function.
	FaultTrap Fault = "trap"
	// FaultAnswer is an answer that SPEC.md does not allow.
	FaultAnswer Fault = "answer"
	// FaultRegion is a write to memory of the host (ABI-2.9).
	FaultRegion Fault = "region"
	// FaultMemory is a berth_alloc that returns no memory, or memory in an invalid place.
	FaultMemory Fault = "memory"
)

// Omitter is a Host that does not use some sentences that say may. Cases about them are
// skipped.
type Omitter interface {
	// Omits returns sentences, such as "ABI-2.9".
	Omits() []string
}
