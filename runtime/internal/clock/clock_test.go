package clock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func reached(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestStepReachesInOrder(t *testing.T) {
	c := clock.NewStep(start())
	past, _ := c.Until(start().Add(-time.Hour))
	now, _ := c.Until(start())
	if !reached(past) || !reached(now) {
		t.Error("a time that is not after now is not reached at once")
	}
	one, _ := c.Until(start().Add(time.Second))
	two, _ := c.Until(start().Add(2 * time.Second))
	c.Advance(999 * time.Millisecond)
	if reached(one) {
		t.Error("reached too early")
	}
	c.Advance(time.Millisecond)
	if !reached(one) || reached(two) {
		t.Errorf("after 1 s: the first reached %v, the second %v", reached(one), reached(two))
	}
	c.Set(start().Add(time.Hour))
	if !reached(two) || !c.Now().Equal(start().Add(time.Hour)) {
		t.Errorf("at %v the second is reached: %v", c.Now(), reached(two))
	}
}

func TestStepNeverGoesBack(t *testing.T) {
	c := clock.NewStep(start())
	c.Set(start().Add(-time.Second))
	c.Advance(-time.Minute)
	if !c.Now().Equal(start()) {
		t.Errorf("the clock went to %v", c.Now())
	}
}

func TestStepStop(t *testing.T) {
	c := clock.NewStep(start())
	w, stop := c.Until(start().Add(time.Second))
	stop()
	stop()
	c.Advance(time.Hour)
	if reached(w) {
		t.Error("reached after stop")
	}
	_, stop = c.Until(start().Add(2 * time.Hour))
	c.Advance(2 * time.Hour)
	stop() // after it was reached
}

func TestStepConcurrent(t *testing.T) {
	c := clock.NewStep(start())
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			w, stop := c.Until(start().Add(time.Duration(i) * time.Second))
			defer stop()
			<-w
		})
	}
	group.Go(func() {
		for range 80 {
			c.Advance(100 * time.Millisecond)
			c.Now()
		}
	})
	group.Wait()
	if want := start().Add(8 * time.Second); !c.Now().Equal(want) {
		t.Errorf("the clock stands at %v, want %v: an advance was lost", c.Now(), want)
	}
}

func TestStepConcurrentAdvances(t *testing.T) {
	c := clock.NewStep(start())
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for range 1000 {
				c.Advance(time.Second)
			}
		})
	}
	group.Wait()
	if want := start().Add(10000 * time.Second); !c.Now().Equal(want) {
		t.Errorf("the clock stands at %v, want %v: advances were lost", c.Now(), want)
	}
}

func TestReal(t *testing.T) {
	var c clock.Real
	before := time.Now()
	if c.Now().Before(before) {
		t.Error("the real clock is behind")
	}
	soon, _ := c.Until(before.Add(time.Millisecond))
	never, stop := c.Until(before.Add(time.Hour))
	stop()
	<-soon
	if reached(never) {
		t.Error("reached after stop")
	}
	if d := time.Since(before); d < time.Millisecond {
		t.Errorf("reached after %v", d)
	}
}

func TestStopwatch(t *testing.T) {
	w := clock.Start()
	time.Sleep(time.Millisecond)
	if d := w.Elapsed(); d < time.Millisecond || d > time.Minute {
		t.Errorf("elapsed %v", d)
	}
}
