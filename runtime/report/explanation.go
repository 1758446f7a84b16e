package report

import (
	"cmp"
	"slices"
)

// The version and the kind of an Explanation. docs/explanation.schema.json is its JSON Schema.
const (
	ExplanationVersion = "berth.dev/v1alpha1"
	ExplanationKind    = "Explanation"
)

// Outcome is what became of a pod, or would. Outcomes never change their meaning.
type Outcome string

// The outcomes.
const (
	// Fits: a node was chosen, and nothing need leave for the pod.
	Fits Outcome = "Fits"
	// FitsAfterPreemption: it fits once other pods have left.
	FitsAfterPreemption Outcome = "FitsAfterPreemption"
	// DoesNotFit: no node was feasible, or a later point rejected the pod.
	DoesNotFit Outcome = "DoesNotFit"
	// Gated: it is not tried.
	Gated Outcome = "Gated"
	// Bound: the pod itself names its node, so no scheduler places it, and the node may refuse it.
	Bound Outcome = "Bound"
	// NotAdmitted: the API server would refuse the pod, so there would be none.
	NotAdmitted Outcome = "NotAdmitted"
	// Failed: an error ended the attempt, which says nothing about the pod.
	Failed Outcome = "Failed"
)

// Explanation says for programs why a pod is where it is.
type Explanation struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Namespace  string  `json:"namespace"`
	Name       string  `json:"name"`
	Code       Outcome `json:"code"`
	// Node is the chosen one; empty if there is none. Nominated is where the victims must leave.
	Node      string   `json:"node,omitempty"`
	Nominated string   `json:"nominated,omitempty"`
	Victims   []string `json:"victims,omitempty"`
	// Message is for people, in kube-scheduler's words.
	Message string `json:"message,omitempty"`
	// Nodes is the number of nodes that there were, and Feasible how many were left by all filters.
	Nodes    int `json:"nodes"`
	Feasible int `json:"feasible"`
	// Reasons are the rejected nodes, by plugin, code and reasons, the most nodes first.
	Reasons []Reason `json:"reasons,omitempty"`
	// Dominant is the reason that kept the most nodes away; nil for a pod that fits.
	Dominant *Reason `json:"dominant,omitempty"`
	// Change is a single change with which the pod would fit; nil if none was looked for or found.
	Change *Change `json:"change,omitempty"`
	// Tried is how many changes were tried; others might help.
	Tried int `json:"tried,omitempty"`
}

// Reason is what one plugin said of some nodes.
type Reason struct {
	Plugin string `json:"plugin"`
	// Code is Unschedulable, UnschedulableAndUnresolvable or Pending, as in abi/SPEC.md.
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
	Nodes   int      `json:"nodes"`
	// Names are some of the nodes.
	Names []string `json:"names,omitempty"`
	// Details is what the plugin says of some of the nodes.
	Details []Detail `json:"details,omitempty"`
}

// ChangeKind is one of a closed list.
type ChangeKind string

// The kinds, the smallest change first.
const (
	// AddToleration adds Change.Toleration to the pod.
	AddToleration ChangeKind = "AddToleration"
	// RemoveSelector removes Change.Selector from the pod's spec.nodeSelector, or the requirement of that
	// key from its only required node affinity term.
	RemoveSelector ChangeKind = "RemoveSelector"
	// LowerRequest lowers Change.Request of the pod.
	LowerRequest ChangeKind = "LowerRequest"
	// LabelNode sets Change.Label on a node.
	LabelNode ChangeKind = "LabelNode"
)

// Change is a single change with which a pod would fit, without preemption: a simulation placed it on Node.
type Change struct {
	Kind       ChangeKind  `json:"kind"`
	Node       string      `json:"node"`
	Toleration *Toleration `json:"toleration,omitempty"`
	Selector   *Selector   `json:"selector,omitempty"`
	Request    *Request    `json:"request,omitempty"`
	Label      *Label      `json:"label,omitempty"`
}

// Toleration is a toleration with operator Equal.
type Toleration struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// Selector is a requirement on a label.
type Selector struct {
	Key string `json:"key"`
}

// Request is a request of a container, in quantities of the API.
type Request struct {
	Container string `json:"container"`
	Resource  string `json:"resource"`
	From      string `json:"from"`
	To        string `json:"to"`
}

// Label is a label of a node.
type Label struct {
	Node  string `json:"node"`
	Key   string `json:"key"`
	Value string `json:"value"`
}

// namesExplained is how many nodes a Reason names.
const namesExplained = 10

// Explain returns what an attempt says.
func Explain(a *Attempt) *Explanation {
	e := &Explanation{
		APIVersion: ExplanationVersion, Kind: ExplanationKind, Namespace: a.Namespace, Name: a.Pod, Node: a.Node, Nominated: a.Nominated,
		Victims: slices.Clone(a.Victims), Message: a.Message, Nodes: a.Nodes, Feasible: a.Feasible, Code: Failed,
	}
	switch {
	case a.Node != "":
		e.Code = Fits
	case a.Nominated != "":
		e.Code = FitsAfterPreemption
	case a.Code.Rejected():
		e.Code = DoesNotFit
	}
	for i := range a.Rejections {
		r := &a.Rejections[i]
		e.Reasons = append(e.Reasons, Reason{
			Plugin: r.Plugin, Code: r.Code.String(), Reasons: append([]string{}, r.Reasons...), Nodes: r.Count,
			Names: slices.Clone(r.Nodes[:min(len(r.Nodes), namesExplained)]), Details: slices.Clone(r.Details),
		})
	}
	slices.SortStableFunc(e.Reasons, func(a, b Reason) int { return cmp.Compare(b.Nodes, a.Nodes) })
	if len(e.Reasons) > 0 && e.Code != Fits {
		e.Dominant = &e.Reasons[0]
	}
	return e
}
