package pipeline

import (
	"context"
	"sync"
)

// Interruption can end a binding cycle while its PreBind plugins run: the pod has
// to make room for another, and is not bound yet. It outlives the Binding, which
// is used again for other pods.
//
// The mutex is held for a few instructions, and nothing is called under it but
// the context's cancel function.
type Interruption struct {
	mu     sync.Mutex
	cancel context.CancelCauseFunc // while PreBind runs
	cause  error
}

// Interrupt ends PreBind, and reports whether the pod will not be bound: false if
// PreBind does not run, or not any more.
func (i *Interruption) Interrupt(cause error) bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel == nil {
		return false
	}
	if i.cause == nil {
		i.cause = cause
		i.cancel(cause)
	}
	return true
}

// begin returns the context of PreBind.
func (i *Interruption) begin(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel = cancel
	return ctx
}

// end returns why PreBind was interrupted; nil if it was not, and then it cannot
// be any more.
func (i *Interruption) end() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cause == nil {
		i.cancel(nil)
		i.cancel = nil
	}
	return i.cause
}
