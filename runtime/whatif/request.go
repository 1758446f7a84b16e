// Package whatif answers where pods would go in a cluster, without changing it: which fit now
// and where, which do not and why, and which pods would be preempted. It simulates the question
// on the objects of a moment, with plugins of its own.
package whatif

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// The version and the kinds of questions and answers in JSON.
const (
	APIVersion  = "berth.dev/v1alpha1"
	RequestKind = "WhatIfRequest"
	AnswerKind  = "WhatIf"
)

// The limits of a question.
const (
	MaxPods  = 10_000 // with those of removed nodes
	MaxNodes = 10_000 // added ones
	MaxSize  = 8 << 20
	// MaxDecoded is the most bytes of memory that its objects take: an empty one of two bytes may take a kilobyte.
	MaxDecoded = 128 << 20
	// MaxCopies is the most bytes of all pods and added nodes together, each as often as it is
	// asked about, as protobuf.
	MaxCopies = 256 << 20
)

// Request is a question: where would these pods go, if nodes were added and removed?
type Request struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Pods are to be placed. What a pod has only once it exists does not count: its status, and the node of one that ran, or has a
	// resourceVersion or a creationTimestamp. A pod with another spec.nodeName is there without a scheduler.
	Pods []Pods `json:"pods"`
	// AddNodes are nodes that the cluster does not have yet.
	AddNodes []Nodes `json:"addNodes,omitempty"`
	// RemoveNodes are names of nodes that are no longer there. Their pods are to be placed, too,
	// if a controller would create them again on another node.
	RemoveNodes []string `json:"removeNodes,omitempty"`
	// DaemonSets are to be placed: each gets a pod on each node that it is for. They replace their pods that the cluster has.
	DaemonSets []*appsv1.DaemonSet `json:"daemonSets,omitempty"`
	// Known are objects that the scheduler may have no right to read. One of a name that the cluster has
	// replaces it.
	Known input.Known `json:"known,omitzero"`
	// Explain asks for Answer.Explanations.
	Explain bool `json:"explain,omitempty"`

	// Related are objects that the cluster does not have yet. See question.storage for those of a name that it has.
	input.Related

	// Idle are input.Templates.Idle, which the answer repeats. They are not sent.
	Idle []string `json:"-"`

	// pending is the UID of the only pod, if it exists: what was made for it is its own.
	pending types.UID
}

// Pods are pods that differ in their names and numbers only.
type Pods = input.Template

// Nodes are nodes that differ in their name and in the labels with it only.
type Nodes struct {
	Node *v1.Node `json:"node"`
	// Count is the number of nodes; 0 means 1. The names of several end in their number.
	Count int `json:"count,omitempty"`
	// Initialized leaves out the taints of nodes that are not ready yet.
	Initialized bool `json:"initialized,omitempty"`
}

// NewRequest returns a question about pods from files.
func NewRequest(t *input.Templates) *Request {
	return &Request{
		APIVersion: APIVersion, Kind: RequestKind,
		Pods: t.Pods, DaemonSets: t.DaemonSets, Known: t.Known, Related: t.Related, Idle: t.Idle,
	}
}

// Decode reads a question in JSON, strictly, and checks it. Objects get the defaults of an API
// server.
//
// # Errors
//
// All mistakes, with the path of the field; the first one if it cannot be read, and the cause of the context's end.
func Decode(ctx context.Context, text []byte) (*Request, error) {
	r := &Request{}
	if err := bounded.Strict(ctx, text, MaxDecoded, r); err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	return r, r.Check()
}

// Check completes and checks what does not depend on the cluster.
func (r *Request) Check() error {
	if r.APIVersion != APIVersion || r.Kind != RequestKind {
		return fmt.Errorf("apiVersion and kind are %q and %q, not %s and %s", r.APIVersion, r.Kind, APIVersion, RequestKind)
	}
	var errs []error // past the most that are shown, nothing more is looked at
	fail := func(format string, args ...any) {
		if len(errs) < input.MaxErrors {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	prepare := func(where string, gvk schema.GroupVersionKind, o runtime.Object) {
		if len(errs) == input.MaxErrors {
			return
		}
		if err := input.Prepare(where, gvk, o); err != nil {
			errs = append(errs, err)
		}
	}
	total, copies := 0, 0
	for i := range r.Pods {
		p, where := &r.Pods[i], fmt.Sprintf("pods[%d]", i)
		if p.Count = count(where, p.Count, MaxPods, &total, fail); total > MaxPods {
			break
		}
		if p.Pod == nil {
			fail("%s.pod: it is missing", where)
			continue
		}
		prepare(where+".pod", v1.SchemeGroupVersion.WithKind("Pod"), p.Pod)
		copies += min(p.Count, MaxPods) * p.Pod.Size()
	}
	total = 0
	for i := range r.AddNodes {
		n, where := &r.AddNodes[i], fmt.Sprintf("addNodes[%d]", i)
		if n.Count = count(where, n.Count, MaxNodes, &total, fail); total > MaxNodes {
			break
		}
		if n.Node == nil {
			fail("%s.node: it is missing", where)
			continue
		}
		prepare(where+".node", v1.SchemeGroupVersion.WithKind("Node"), n.Node)
		copies += min(n.Count, MaxNodes) * n.Node.Size()
	}
	if copies > MaxCopies {
		fail("with their counts, the pods and nodes have %d bytes, at most %d are allowed: ask about fewer, or leave out what does not matter", copies, MaxCopies)
	}
	lists := append(r.Lists(), input.ListOf("daemonSets", appsv1.SchemeGroupVersion, input.KindDaemonSet, r.DaemonSets))
	for _, l := range slices.Concat(lists, r.Known.Lists()) {
		for i, o := range l.Objects {
			if where := fmt.Sprintf("%s[%d]", l.Name, i); o == nil {
				fail("%s: it is missing", where)
			} else {
				prepare(where, l.Kind, o)
			}
		}
	}
	return errors.Join(errs...)
}

// count returns how many there are, at least one, and adds them up. It refuses numbers that are
// negative, and more than most in all.
func count(where string, n, most int, total *int, fail func(string, ...any)) int {
	switch {
	case n < 0:
		fail("%s.count: %d is negative", where, n)
		return 1
	case n == 0:
		n = 1
	}
	if n > most-*total {
		fail("%s.count: with %d there are more than %d: ask several questions", where, n, most)
	}
	*total += min(n, most)
	return n
}
