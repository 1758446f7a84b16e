package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// tenure is how long this replica may take for granted that it leads: for the duration
// of the lease from when it last asked to renew it with success. Others wait for as long
// from when they see it renewed, which is later.
//
// An election finds out at its next try that it has lost. A process that was stopped,
// or a machine that hung, goes on before that with what it was about to write; so every
// write asks first, and every piece of it that goes into a connection, which is broken off
// when the lease is lost. A lease that was lost stays lost: who was refused a write must
// not make the next one.
type tenure struct {
	clock    clock.Clock
	duration time.Duration
	// over is closed when the lease is lost: it has run out, or another replica holds it.
	over chan struct{}

	mu      sync.Mutex
	needed  bool      // there is an election
	renewed time.Time // zero while this replica does not lead
	why     error     // of a lease that is lost
	conns   map[*fencedConn]bool
}

func newTenure(c clock.Clock, duration time.Duration) *tenure {
	return &tenure{clock: c, duration: duration, over: make(chan struct{})}
}

// require says that a lease is needed from now on.
func (t *tenure) require() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.needed = true
}

// renew records when the request was sent that got or kept the lease; the zero time says
// that the lease was given back.
func (t *tenure) renew(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = at
}

// taken takes note of another replica that holds the lease: a leader's clock that stood
// still, as in a virtual machine that was paused, does not show that it has run out.
func (t *tenure) taken() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.renewed.IsZero() {
		t.lose(fmt.Errorf("not written: %w", ErrLeaseLost))
	}
}

// lose ends all writing. It is called with mu held.
func (t *tenure) lose(why error) {
	if t.why != nil {
		return
	}
	t.why = why
	close(t.over)
	for c := range t.conns {
		go c.abort()
	}
}

// lost returns why the lease was lost under which this replica led; nil if it holds it, has
// given it back, or has not led.
func (t *tenure) lost() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why == nil && t.needed && !t.renewed.IsZero() {
		if age := t.clock.Now().Sub(t.renewed); age >= t.duration {
			t.lose(fmt.Errorf("not written: %w: it was renewed %v ago and is for %v", ErrLeaseLost, age.Round(time.Millisecond), t.duration))
		}
	}
	return t.why
}

// check returns why nothing may be written to the cluster; nil if it may.
func (t *tenure) check() error {
	if err := t.lost(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.needed && t.renewed.IsZero() {
		return fmt.Errorf("not written: %w", errNotLeading)
	}
	return nil
}

// guard finds that the lease has run out when nothing is written either, until the context
// ends.
func (t *tenure) guard(ctx context.Context) {
	for t.lost() == nil {
		t.mu.Lock()
		end := t.renewed.Add(t.duration)
		if t.renewed.IsZero() {
			end = t.clock.Now().Add(t.duration)
		}
		t.mu.Unlock()
		reached, stop := t.clock.Until(end)
		select {
		case <-reached:
			continue
		case <-t.over:
		case <-ctx.Done():
		}
		stop()
		return
	}
}

// timedLock tells a tenure when the lease was renewed, given back or taken.
type timedLock struct {
	resourcelock.Interface
	tenure  *tenure
	working *atomic.Bool // nothing is given back now
}

// RecordEvent implements resourcelock.Interface. Who has lost the lease says nothing more.
func (l timedLock) RecordEvent(what string) {
	if l.tenure.lost() == nil {
		l.Interface.RecordEvent(what)
	}
}

// Get implements resourcelock.Interface.
func (l timedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.tenure.taken()
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l timedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l timedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l timedLock) write(
	ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	at := l.tenure.clock.Now()
	if record.HolderIdentity != l.Identity() { // it is given back
		if l.working.Load() {
			return errors.New("the lease is not given back: what was begun under it has not ended")
		}
		// An elector that has just gone on believes that it leads, and would take the
		// lease from who holds it now.
		if err := l.tenure.check(); err != nil {
			return err
		}
		at = time.Time{}
		l.tenure.renew(at) // nothing is written from here on
	}
	if err := send(ctx, record); err != nil {
		return err
	}
	l.tenure.renew(at)
	return nil
}
