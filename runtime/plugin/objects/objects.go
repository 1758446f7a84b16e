// Package objects defines the small interfaces through which plugins read and
// write objects beyond pods and nodes. The API server's client and the simulator
// implement them.
package objects

import (
	"context"

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
