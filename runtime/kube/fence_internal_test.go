package kube

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// TestFencedConnection: nothing goes into a connection when the lease is lost, although a
// request was let through before, and the connection is broken off. One of a replica that
// does not lead, or has given the lease back, stays.
func TestFencedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	step := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	tenure := newTenure(step, 15*time.Second)
	tenure.require()
	ours, err := tenure.dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = theirs.Close() }()
	write := func(when string) {
		t.Helper()
		got := make([]byte, 1)
		if _, err := ours.Write([]byte{1}); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if _, err := theirs.Read(got); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	write("before it leads")
	step.Advance(time.Minute)
	write("long before it leads")
	tenure.renew(step.Now())
	write("while it leads")
	tenure.renew(time.Time{})
	step.Advance(time.Minute)
	write("after the lease was given back")
	tenure.renew(step.Now())
	step.Advance(15 * time.Second) // nobody has asked since
	if n, err := ours.Write([]byte{1}); !errors.Is(err, ErrLeaseLost) || n != 0 {
		t.Errorf("%d bytes were written when the lease had run out: %v", n, err)
	}
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("a connection that was broken off says %v", err)
	}
	if n, err := theirs.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Errorf("the connection is still there: %d bytes, %v", n, err)
	}
	tenure.renew(step.Now()) // nobody else has taken the lease
	if err := tenure.check(); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("who was refused a write may make the next one: %v", err)
	}
}

// TestGuard: that the lease has run out is found although nothing is written.
func TestGuard(t *testing.T) {
	step := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	tenure := newTenure(step, 15*time.Second)
	tenure.require()
	tenure.renew(step.Now())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tenure.guard(t.Context())
	}()
	step.Advance(14 * time.Second)
	tenure.renew(step.Now())
	select {
	case <-tenure.over:
		t.Fatal("a lease that was renewed is lost")
	case <-time.After(50 * time.Millisecond):
	}
	eventually.Holds(t, "the guard ends", func() bool { // once it waits for the end
		step.Advance(time.Second)
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	if step.Now().Sub(time.Date(2026, 1, 1, 0, 0, 14, 0, time.UTC)) < 15*time.Second {
		t.Error("the lease is lost before its end")
	}
}

// TestAwake: the clock goes on with the machine's, and tells when a time has come.
func TestAwake(t *testing.T) {
	a, real := awake{}.Now(), time.Now()
	reached, stop := awake{}.Until(a.Add(20 * time.Millisecond))
	defer stop()
	<-reached
	went := awake{}.Now().Sub(a)
	if later := time.Since(real); went < 20*time.Millisecond || went > later+time.Second {
		t.Errorf("it went on by %v, and later the machine's by %v", went, later)
	}
}
