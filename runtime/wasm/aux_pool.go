package wasm

import (
	"context"
	"errors"
	"sync"
)

// auxPool has the aux instances of a plugin that nobody uses at the moment.
type auxPool struct {
	mu struct {
		sync.Mutex
		idle   []*aux
		closed bool
	}
	// binding holds a token for each binding cycle that is in the guest, loop one for
	// the loop, which waits for no binding cycle: so there are no more instances than
	// tokens.
	binding, loop chan struct{}
}

func (a *auxPool) init(binding int) {
	a.binding, a.loop = make(chan struct{}, binding), make(chan struct{}, 1)
}

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
	keep := !a.mu.closed && x.guest != nil
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
