package clock_test

import (
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// TestHeld: the clock moves only when it is told to, and waits for its source.
func TestHeld(t *testing.T) {
	source := clock.NewStep(start())
	c := clock.NewHeld(source)
	source.Advance(time.Second)
	if !c.Now().Equal(start()) || !c.Read().Equal(start().Add(time.Second)) {
		t.Errorf("it stands at %v and reads %v", c.Now(), c.Read())
	}
	later, _ := c.Until(start().Add(2 * time.Second))
	c.Hold(start().Add(time.Hour))
	if !c.Now().Equal(start().Add(time.Hour)) || reached(later) {
		t.Errorf("it stands at %v, reached %v", c.Now(), reached(later))
	}
	source.Advance(time.Second)
	if !reached(later) {
		t.Error("the source has reached the time")
	}
}

// TestHeldReal: what is read from the machine's clock has no monotonic part, which a recording cannot
// have, and follows the machine's clock.
func TestHeldReal(t *testing.T) {
	c := clock.NewHeld(clock.Real{})
	before := time.Now()
	at := c.Read()
	if at != at.Round(0) || c.Now() != c.Now().Round(0) || at.Before(before.Add(-time.Minute)) || at.After(before.Add(time.Minute)) {
		t.Errorf("%v, %v", at, c.Now())
	}
	soon, _ := c.Until(at.Add(time.Millisecond))
	<-soon
	if c.Read().Before(at.Add(time.Millisecond)) {
		t.Error("reached too early")
	}
}
