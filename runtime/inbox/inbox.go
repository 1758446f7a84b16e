// Package inbox has what enters the scheduler's loop, as values of a closed set of types, and
// their two forms: a compact encoding and a line of text. The same values are handled by the loop,
// written to recordings and replayed from them.
//
// The loop is a function of its events: the same events in the same order give the same decisions.
// Two of the types are the loop's own: a [Clock] is a reading of the clock, and a [Step] is one turn
// of the loop, which may try a pod. Time stands still from one reading to the next.
//
// Some types are not handled by the loop but stand in recordings: settings, what was asked for
// during an event (answers, which follow that event), and decisions.
package inbox

import (
	"encoding/json"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Event is a value of one of the types of this package.
type Event interface {
	// visit calls f with each field, in the order of the encodings, and sets it to the result.
	visit(f fields)
}

// Recorder receives the events of a loop. What it is given must never be changed: it may be read later, beside the
// loop. All calls are made on the loop, except those with modules that a Swap is about to need.
type Recorder interface {
	// Enter is called before an event is handled, with answers while it is handled, and with
	// decisions after it. Answers of extenders may come concurrently.
	Enter(e Event)
}

// Segmented is a Recorder that begins a new segment from time to time, so that the last segments can be used
// without what came before.
type Segmented interface {
	Recorder
	// Full reports whether it is time to begin anew.
	Full() bool
	// Begin begins anew. What the loop carries on follows.
	Begin()
}

// Objects that came, changed or went.
type (
	// Node is a node that came or changed.
	Node struct{ Node *state.Node }
	// NodeGone is a node that was deleted.
	NodeGone struct{ Name string }
	// Pods are pods that came or changed, bound or not.
	Pods struct{ Pods []*state.Pod }
	// PodGone is a pod that was deleted.
	PodGone struct{ UID types.UID }
	// Namespace is a namespace that came or changed.
	Namespace struct{ Namespace *state.Namespace }
	// NamespaceGone is a namespace that was deleted.
	NamespaceGone struct{ Name string }
	// Object is a storage object, an object of dynamic resource allocation, an owner of pods or a
	// PodDisruptionBudget that came or changed.
	Object struct {
		Object metav1.Object
		// Early is true if plugins can see the object already, and if no cluster event follows from
		// this one: the simulated API server stores an object at once, and sends a Raise later.
		Early bool
	}
	// ObjectGone is such an object that was deleted.
	ObjectGone struct{ Object metav1.Object }
	// Feeds is what a round of fetching brought. Only it makes a value stale.
	Feeds struct{ Changed []state.Feed }
	// Raise is a cluster event about objects that the loop does not keep.
	Raise struct {
		Event  state.ClusterEvent
		Object state.Object // Old and New are nil or objects of Object's kinds
	}
)

// What code outside the loop asks for.
type (
	// Activate moves parked pods to the active queue.
	Activate struct{ UIDs []types.UID }
	// Allow ends one plugin's wait for a pod at Permit.
	Allow struct {
		UID    types.UID
		Plugin string
	}
	// Reject returns a pod that waits at Permit to the queue.
	Reject struct {
		UID            types.UID
		Plugin, Reason string
	}
	// Forgive forgets that others made room for a pod of a namespace, or for the pod of a UID.
	Forgive struct {
		Namespace string
		Pod       types.UID
	}
	// Release retries the pods of a plugin that works again, has changed, or was removed.
	Release struct{ Plugin string }
	// Swap makes the oldest prepared set of pipelines the current one. The fields are as in
	// Settings; they are empty if nobody records.
	Swap struct {
		Config      string
		Annotations []string
		Attached    json.RawMessage
		Lacks       string
	}
	// Inspect lets code outside the loop read its state. It is not recorded.
	Inspect struct{ Call func() }
)

// Results of what runs beside the loop.
type (
	// Bound is the end of a binding cycle.
	Bound struct {
		// Attempt is the number of the attempt that chose the node.
		Attempt    uint64
		Status     *plugin.Status
		Directives []plugin.Directives
		// Patch is what the plugins of the binding cycle and of Reserve wrote on the pod.
		Patch state.Patch
		// Beside are the calls of modules in the binding cycle.
		Beside []plugin.Beside
		// Changed is, after a failure, what the cycle made of what plugins keep for the pod.
		Changed []plugin.Carried
		// Ran is true if the cycle ran here, so that nothing is to be taken from the event. It is not recorded.
		Ran bool
	}
	// Evicted is the end of an eviction.
	Evicted struct {
		// Eviction is its number, from 1 on.
		Eviction uint64
		// Stopped means that the victim's binding cycle was stopped instead.
		Stopped bool
		Err     string
	}
	// Written is what the API server answered to a request about a resource claim, or, if nobody knows
	// whether it has carried a write out, what was sent.
	Written struct{ Claim *resourcev1.ResourceClaim }
)

// What the loop adds.
type (
	// Clock is a reading of the clock.
	Clock struct{ At time.Time }
	// Step ends waits that are due, moves pods whose backoff is over, and tries the next pod.
	Step struct{}
)

// Answers to what was asked while the event before was handled.
type (
	// Rank is the rank of a node, which decides between equal nodes.
	Rank struct {
		Node string
		Rank uint64
	}
	// Answer is what an HTTP extender answered in a cycle.
	Answer struct {
		// Extender is its number in the configuration, from 0 on.
		Extender uint64
		Verb     string
		Result   json.RawMessage // nil after an error
		Err      string
	}
	// Budgets are all PodDisruptionBudgets, if they differ from the last ones.
	Budgets struct {
		List []*policyv1.PodDisruptionBudget
	}
	// Start is fuel for starts of a module's instances, which its breaker is charged.
	Start struct {
		Profile, Plugin, Namespace, Point string
		Fuel                              uint64
	}
	// Turn is what an attempt for a pod of a namespace with plugins of its own has cost beyond one without plugins, in such attempts.
	Turn struct {
		Namespace string // empty for that of all pods that have none of their own
		Cost      uint64
	}
	// CutOff is a search for devices on a node that took too long. Search is the number of searches on the node
	// before it, during the event.
	CutOff struct {
		Node   string
		Search uint64
	}
	// Overrun is a call of a module that its deadline ended or, if Interrupted, the end of the scheduler. Block is
	// the block of its first node, from 1 on, and 0 for a call about none or a hypothetical one. Pod is its first
	// pod, and Call the number of calls before it that are the same in all of these, during the event. The rest is
	// what the fault says, and the fuel that the call had used.
	Overrun struct {
		Profile, Plugin, Point string
		Block                  uint64
		Pod                    types.UID
		Call                   uint64
		Interrupted            bool
		Fuel                   uint64
		Detail, Output, Trace  string
	}
)

// What else stands in a recording.
type (
	// Settings are the settings that a run started with.
	Settings struct {
		// Start is the time at which the queue was made.
		Start    time.Time
		Seed     uint64
		TieBreak string
		// Candidates is how many of the best nodes a decision lists.
		Candidates uint64
		// AllowUnenforced are features of pods that need no plugin.
		AllowUnenforced string
		// MaxUnschedulable is how long a pod stays parked without an event; 0 for the default.
		MaxUnschedulable time.Duration
		// Ranked means that the ranks of nodes are recorded: they do not follow from the seed.
		Ranked bool
		// IgnoreBindVerbs leaves binding to plugins.
		IgnoreBindVerbs bool
		// ReuseBytes and ReusePerNode bound the answers of plugins that are kept, as in package equivalence.
		ReuseBytes, ReusePerNode uint64
		// Config is the configuration file.
		Config string
		// Annotations are the keys of the annotations that are recorded. One that ends with an
		// asterisk is a prefix.
		Annotations []string
		// Attached are the plugins that objects of the API attach, in package assembly's form; nil for none.
		Attached json.RawMessage
		// Lacks says why the recording cannot be replayed from here on; empty if it can.
		Lacks string
		// Kubernetes is the minor version of Kubernetes 1 whose defaults and texts the plugins have. 0 means 36, and that the
		// hash of a decision covers its texts: formats up to 6 have no number.
		Kubernetes uint64
		// Gates are the feature gates that are not at their defaults, as --feature-gates has them.
		Gates string
		// NamespaceBudget means that all plugins of a namespace have a budget of attempts, which formats up to 7 did not know.
		NamespaceBudget bool
		// Lanes means that pods of namespaces with plugins of their own take turns with others, which formats up to 8 did not know.
		Lanes bool
		// Feeds are the feeds that were declared, as a manifest names them; formats up to 9 did not know any.
		Feeds []string
	}
	// Module is a plugin module that the configuration names by this file.
	Module struct {
		File, Digest string
		Bytes        []byte
	}
	// Decision is the result of an attempt.
	Decision struct {
		Pod  string // NAMESPACE/NAME
		Node string // "" if there is none
		Code string
		// Hash covers all of the decision but times and texts, and Texts these: the message, and the reasons of rejections.
		Hash, Texts uint64
	}
	// End is the last event of a recording that was closed. Reason says why if the scheduler went on.
	End struct{ Reason string }
)
