// Package objects defines the small interfaces through which plugins read and
// write objects beyond pods and nodes. The API server's client and the simulator
// implement them.
package objects

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Binding binds a pod to a node, with the patch that travels in the same write.
type Binding struct {
	Pod   *state.Pod
	Node  string
	Patch state.Patch
}

// Binder makes a binding durable.
type Binder interface {
	Bind(ctx context.Context, b Binding) error
}

// Patcher writes on a pod ahead of its binding, where the binder cannot take a
// patch along: an HTTP extender that binds.
type Patcher interface {
	// Patch writes the patch on the pod, if it is still of the UID and
	// resourceVersion of the object. undo writes the old values back.
	Patch(ctx context.Context, pod *state.Pod, patch state.Patch) (undo func(context.Context) error, err error)
}

// Eviction is a pod that has to leave its node for another.
type Eviction struct {
	Victim, Preemptor *state.Pod
	// Condition says so in the victim's status: DisruptionTarget, with reason
	// PreemptionByScheduler. Whoever writes it sets lastTransitionTime.
	Condition v1.PodCondition
}

// Evictor deletes pods that have to make room.
type Evictor interface {
	// Evict writes the condition on the victim, then deletes the victim, if it is
	// still of that UID. That there is no such pod is no error. It may take long,
	// is called beside the loop and by several goroutines, and returns soon after
	// the context has ended.
	Evict(ctx context.Context, e Eviction) error
}

// PodDisruptionBudgets lists the budgets of all namespaces.
type PodDisruptionBudgets interface {
	// List returns the budgets with their status, in an order that depends on
	// nothing but them. They are for reading. It is called during cycles, so what it
	// returns may change between cycles only, or a replay sees something else.
	List() ([]*policyv1.PodDisruptionBudget, error)
}
