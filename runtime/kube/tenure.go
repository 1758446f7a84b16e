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

// tenure knows how long this replica is certain to lead: for the duration of the lease,
// counted from when it sent its last successful renewal. Other replicas wait as long from
// when they see the renewal, which is later.
//
// The elector notices a lost lease only at its next attempt. A process or machine that was
// paused could go on writing before that. So every write checks the tenure, and so does
// every piece of it that goes into a connection, which is aborted when the lease is lost. A
// lost lease stays lost, because a replica whose write was refused must not make a later one.
type tenure struct {
	clock    clock.Clock
	duration time.Duration
	// over is closed when the lease is lost: it has expired, or another replica holds it.
	over chan struct{}

	mu      sync.Mutex
	needed  bool      // there is an election
	renewed time.Time // zero while this replica does not lead
	// profiles are the Leases of profiles that this replica holds, with when each was renewed. partial means that some are missing.
	profiles map[string]time.Time
	partial  bool
	before   string // who held the lease last, before this replica
	why      error  // of a lease that is lost
	conns    map[*fencedConn]bool
}

func newTenure(c clock.Clock, duration time.Duration) *tenure {
	return &tenure{clock: c, duration: duration, over: make(chan struct{})}
}

// require makes writes need a lease from now on.
func (t *tenure) require() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.needed = true
}

// renew records when the successful renewal was sent. The zero time means that the lease was
// released.
func (t *tenure) renew(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = at
}

// renewProfile is renew for the Lease of a profile.
func (t *tenure) renewProfile(name string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.profiles == nil {
		t.profiles = make(map[string]time.Time)
	}
	t.profiles[name] = at
}

// complete records that this replica holds the Leases of all profiles.
func (t *tenure) complete() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partial = false
}

// incomplete records that the Leases of profiles are to be released. It reports whether they may be: not once the lease is lost.
func (t *tenure) incomplete() bool {
	if t.lost() != nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partial = true
	clear(t.profiles)
	return true
}

// succeed records who held the lease last.
func (t *tenure) succeed(holder string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = holder
}

// predecessor returns who held the lease last, before this replica, and so leads no more; empty if that is not known.
func (t *tenure) predecessor() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.renewed.IsZero() {
		return ""
	}
	return t.before
}

// taken records that another replica holds the lease. If the leader's clock stood still, as
// in a paused virtual machine, it does not show that the lease has expired.
func (t *tenure) taken() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.renewed.IsZero() {
		t.lose(fmt.Errorf("not written: %w", ErrLeaseLost))
	}
}

// lose stops all writing. The caller holds mu.
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

// lost returns why this replica lost the lease, or nil if it holds the lease, has released
// it, or never led.
func (t *tenure) lost() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why == nil && t.needed && !t.renewed.IsZero() {
		if age := t.clock.Now().Sub(t.oldest()); age >= t.duration {
			t.lose(fmt.Errorf("not written: %w: it was renewed %v ago and lasts %v", ErrLeaseLost, age.Round(time.Millisecond), t.duration))
		}
	}
	return t.why
}

// renewing returns why this replica is about to lose the lease, or has lost it; nil if it renews it, or does not lead.
func (t *tenure) renewing() error {
	if err := t.lost(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.needed || t.renewed.IsZero() {
		return nil
	}
	if age := t.clock.Now().Sub(t.oldest()); age >= t.duration/2 {
		return fmt.Errorf("the lease was renewed %v ago and lasts %v", age.Round(time.Millisecond), t.duration)
	}
	return nil
}

// oldest returns the first renewal among the leases that are held. The caller holds mu.
func (t *tenure) oldest() time.Time {
	first := t.renewed
	for _, at := range t.profiles {
		if at.Before(first) {
			first = at
		}
	}
	return first
}

// check returns why nothing may be written to the cluster; nil if it may.
func (t *tenure) check() error { return t.holds(true) }

// holds returns why this replica does not hold the lease, and with it those of all profiles; nil if it does.
func (t *tenure) holds(profiles bool) error {
	if err := t.lost(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.needed && (t.renewed.IsZero() || profiles && t.partial) {
		return fmt.Errorf("not written: %w", errNotLeading)
	}
	return nil
}

// guard detects that the lease has expired even if nothing is written, until the context
// ends.
func (t *tenure) guard(ctx context.Context) {
	for t.lost() == nil {
		t.mu.Lock()
		end := t.oldest().Add(t.duration)
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

// timedLock tells a tenure when the lease was renewed, released or taken.
type timedLock struct {
	resourcelock.Interface
	tenure  *tenure
	working *atomic.Bool // the lease must not be released now
}

// RecordEvent implements resourcelock.Interface. A replica that lost the lease records nothing.
func (l timedLock) RecordEvent(what string) {
	if l.tenure.lost() == nil {
		l.Interface.RecordEvent(what)
	}
}

// Get implements resourcelock.Interface.
func (l timedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.tenure.succeed(record.HolderIdentity)
		l.tenure.taken()
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l timedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.tenure.succeed("") // if the lease was deleted, its holder may still lead
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
	if record.HolderIdentity != l.Identity() { // release
		if l.working.Load() {
			return errors.New("the lease is not released: work that began under it has not ended")
		}
		// An elector that was paused still believes that it leads, and would take the
		// lease from its present holder.
		if err := l.tenure.holds(false); err != nil {
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
