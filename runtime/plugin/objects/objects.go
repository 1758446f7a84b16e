// Package objects defines small interfaces through which plugins read and write objects other
// than pods and nodes. The API server's client and the simulator implement them.
package objects

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Binding binds a pod to a node, and patches it in the same write.
type Binding struct {
	Pod   *state.Pod
	Node  string
	Patch state.Patch
	// Chosen (optional) is the node as it was when it was chosen. The binding is not sent if the node is gone meanwhile, or if new
	// taints or a cordon keep the pod from it.
	Chosen *state.Node
	// Sent (optional) is called when the binding has begun to be sent.
	Sent func()
}

// Binder makes a binding durable.
type Binder interface {
	Bind(ctx context.Context, b Binding) error
}

// Patcher patches a pod before its binding, if the binder cannot include the patch: an HTTP
// extender that binds.
type Patcher interface {
	// Patch patches the pod if its UID and resourceVersion still match the object. undo restores
	// the old values.
	Patch(ctx context.Context, pod *state.Pod, patch state.Patch) (undo func(context.Context) error, err error)
}

// Eviction is a pod that must leave its node for another pod.
type Eviction struct {
	Victim, Preemptor *state.Pod
	// Condition is for the victim's status: DisruptionTarget, with reason PreemptionByScheduler.
	// The Evictor sets lastTransitionTime.
	Condition v1.PodCondition
}

// ErrUnanswered is part of the error of an eviction of which nobody knows whether it is carried out. A recording keeps its text.
var ErrUnanswered = errors.New("it may be carried out nevertheless")

// Evictor deletes victims of preemptions.
type Evictor interface {
	// Evict writes the condition to the victim, then deletes it, if its UID still matches. A
	// missing pod is not an error; ErrUnanswered is one after which it may be gone or leave nevertheless. It may take long,
	// is called beside the loop by several goroutines, and returns soon after the context has ended.
	Evict(ctx context.Context, e Eviction) error
}

// PodDisruptionBudgets lists the budgets of all namespaces.
type PodDisruptionBudgets interface {
	// List returns the budgets with their status, in an order that depends only on them. The
	// result must not be changed. It is called during cycles, so it may change only between
	// cycles; otherwise a replay would differ.
	List() ([]*policyv1.PodDisruptionBudget, error)
}
