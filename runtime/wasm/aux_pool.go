package wasm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// auxPool has the instances for points outside of scheduling cycles, and makes their calls.
type auxPool struct {
	*core
	mu struct {
		sync.Mutex
		idle   []*aux
		closed bool
	}
	// binding holds a token for each binding cycle that is in the guest, and loop one for
	// the loop, which never waits for a binding cycle. There are no more instances than
	// tokens.
	binding, loop chan struct{}
	// records is the room for the records of a batch in later instances, in bytes.
	records atomic.Uint32
	between betweenTries
}

// auxColumns is by how many bytes of columns the start of an aux instance is charged. How many
// there are may depend on binding cycles beside the loop.
const auxColumns = 1 << 20

// init sets how many binding cycles may be in the guest at once.
func (a *auxPool) init(c *core, binding int) {
	a.core, a.binding, a.loop = c, make(chan struct{}, binding), make(chan struct{}, 1)
}

// call makes a call in an instance of its own. binding says that a binding cycle makes it.
func (a *auxPool) call(ctx context.Context, c *auxCall, binding bool) (out reply, f *fault.Fault) {
	defer func() { a.counts.fault(c.point, f) }()
	switch namespace := c.namespace(); {
	case binding && a.breaker.IsOpen(namespace), !binding && !a.breaker.Allow(namespace):
		return reply{}, a.breaker.OpenFault(namespace, c.point)
	case a.breaker.Overspent(namespace):
		f = a.breaker.StartFault(namespace, c.point)
		a.ended(c, f, binding)
		return reply{}, f
	}
	defer func() { a.ended(c, f, binding) }()
	return a.run(ctx, c, binding)
}

// run makes a call that the breaker allows.
func (a *auxPool) run(ctx context.Context, c *auxCall, binding bool) (out reply, f *fault.Fault) {
	defer a.faults.guard(c.point, &f)
	turn := a.loop
	if binding {
		turn = a.binding
	}
	turn <- struct{}{}
	defer func() { <-turn }()
	x, err := a.take()
	if err != nil {
		return reply{}, a.faults.of(c.point, err)
	}
	sound := false
	defer func() {
		if !sound || x.large() { // the host panicked while it served the instance, or the instance grew too much
			x.discard(ctx)
		}
		a.give(ctx, x)
	}()
	out, f = x.call(ctx, c)
	sound, c.large = true, x.large()
	return out, f
}

// ended takes in how a call ended. The breaker learns of a call in a binding cycle when the
// loop takes in the result of the binding. So the loop's verdicts do not depend on the order
// in which binding cycles end.
func (a *auxPool) ended(c *auxCall, f *fault.Fault, binding bool) {
	if f != nil && !f.Kind.OfGuest() {
		return
	}
	lost := c.large || f != nil && f.Kind != fault.Starting
	if lost {
		a.starts.pay(ofAux)
	}
	if binding {
		call := plugin.Beside{Plugin: a.config.Name, Point: c.point, Lost: lost, Started: c.started}
		if f != nil {
			call.Kind, call.Detail, call.Output, call.Trace, call.Used = string(f.Kind), f.Detail, f.Output, f.Trace, c.used
		}
		c.placement.Beside = append(c.placement.Beside, call)
		return
	}
	a.starts.add(c.namespace(), c.point, c.started)
	if f == nil {
		c.owed = 0
	}
	a.done(c.namespace(), c.point, f, lost, c.used, c.owed)
}

// Learn implements plugin.Breaker.
func (a *auxPool) Learn(namespace string, call plugin.Beside) {
	var f *fault.Fault
	if call.Kind != "" {
		f = a.faults.traced(call.Point, fault.Kind(call.Kind), call.Detail, call.Trace, nil)
		f.Output = call.Output
	}
	a.done(namespace, call.Point, f, call.Lost, call.Used, call.Started)
}

// done tells the breaker how a call ended, whether it lost its instance, and the fuel that it used. starts is fuel that is
// charged in any case.
func (a *auxPool) done(namespace string, point abi.Point, f *fault.Fault, lost bool, used, starts int64) {
	if lost {
		starts += a.restartFuel(auxColumns)
	}
	a.breaker.Done(namespace, breaker.OutcomeOf(point, f, used, starts))
}

// take returns an instance for the caller alone. It may not have a guest yet. It fails after
// close.
func (a *auxPool) take() (*aux, error) {
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
	return newAux(a), nil
}

// give returns an instance to the pool.
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

// close closes the idle instances. Those in use are closed when they are returned.
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
