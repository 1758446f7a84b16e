package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
// write asks first. What it cannot hold up is a request that is under way.
type tenure struct {
	clock    clock.Clock
	duration time.Duration
	// over is closed when a write was refused, or another replica holds the lease.
	over chan struct{}
	once sync.Once

	mu      sync.Mutex
	needed  bool      // there is an election
	renewed time.Time // zero while this replica does not lead
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

// renew takes note of when the lease was asked for that was got; the zero time for one
// that was given back.
func (t *tenure) renew(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = at
}

// taken takes note of another replica that holds the lease. A leader's clock that stood
// still, as in a machine that was suspended, does not show that it has run out.
func (t *tenure) taken() {
	t.mu.Lock()
	led := !t.renewed.IsZero()
	t.renewed = time.Time{}
	t.mu.Unlock()
	if led {
		t.once.Do(func() { close(t.over) })
	}
}

// check returns why nothing may be written; nil if it may.
func (t *tenure) check() error {
	t.mu.Lock()
	needed, renewed := t.needed, t.renewed
	t.mu.Unlock()
	if !needed {
		return nil
	}
	age := t.clock.Now().Sub(renewed)
	if !renewed.IsZero() && age < t.duration {
		return nil
	}
	t.once.Do(func() { close(t.over) })
	if renewed.IsZero() {
		return fmt.Errorf("not written: %w", ErrLeaseLost)
	}
	return fmt.Errorf("not written: %w: it was renewed %v ago and is for %v", ErrLeaseLost, age.Round(time.Millisecond), t.duration)
}

// tenured lets no write through that the lease does not cover. It stands behind the rate
// limit, where a request may have waited for long.
type tenured struct {
	tenure *tenure
	next   http.RoundTripper
}

func (t *tenure) wrap(next http.RoundTripper) http.RoundTripper {
	return &tenured{tenure: t, next: next}
}

// WrappedRoundTripper lets client-go find the transport (k8s.io/apimachinery/pkg/util/net).
func (t *tenured) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *tenured) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		if err := t.tenure.check(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // as a RoundTripper must, whatever it returns
			}
			return nil, err
		}
	}
	return t.next.RoundTrip(r)
}

// timedLock tells a tenure when the lease was renewed, given back or taken.
type timedLock struct {
	resourcelock.Interface
	tenure  *tenure
	working *atomic.Bool // nothing is given back now
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
