package wasm

import (
	"context"
	"errors"
	"sync"
)

// Numbers of aux instances of a plugin.
const (
	// maxIdle is how many are kept for the next call.
	maxIdle = 4
	// maxBinding is how many binding cycles may be in the guest at once, so that a
	// burst of bindings does not take a burst of memory. The loop never waits.
	maxBinding = 8
)

// auxPool has the aux instances of a plugin that nobody uses at the moment.
type auxPool struct {
	mu struct {
		sync.Mutex
		idle   []*aux
		closed bool
	}
	binding chan struct{} // holds a token for each binding cycle that is in the guest
}

func (a *auxPool) init() { a.binding = make(chan struct{}, maxBinding) }

// take returns an instance to be used by the caller alone, which may have to be
// made yet. It fails after close.
func (a *auxPool) take(p *Plugin) (*aux, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.closed {
		return nil, errClosed
	}
	if n := len(a.mu.idle); n > 0 {
		x := a.mu.idle[n-1]
		a.mu.idle = a.mu.idle[:n-1]
		return x, nil
	}
	return newAux(p), nil
}

// give takes an instance back.
func (a *auxPool) give(ctx context.Context, x *aux) {
	a.mu.Lock()
	keep := !a.mu.closed && len(a.mu.idle) < maxIdle && x.guest != nil
	if keep {
		a.mu.idle = append(a.mu.idle, x)
	}
	a.mu.Unlock()
	if !keep {
		x.discard(ctx)
	}
}

// close closes the instances that are idle; those in use follow when they are
// given back.
func (a *auxPool) close(ctx context.Context) error {
	a.mu.Lock()
	idle := a.mu.idle
	a.mu.idle, a.mu.closed = nil, true
	a.mu.Unlock()
	var errs []error
	for _, x := range idle {
		if x.guest != nil {
			errs = append(errs, x.guest.Close(ctx))
			x.guest = nil
		}
	}
	return errors.Join(errs...)
}
