package scheduler_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// broken is a plugin whose breaker is open until a time.
type broken struct {
	plugin.Plugin
	info plugin.Info
	at   time.Time
}

func (b *broken) Info() *plugin.Info                             { return &b.info }
func (*broken) Settle()                                          {}
func (*broken) Learn(plugin.Beside)                              {}
func (*broken) Carried() json.RawMessage                         { return nil }
func (*broken) Resume(json.RawMessage) error                     { return nil }
func (b *broken) RetryAt() (time.Time, bool)                     { return b.at, true }
func (*broken) Filter(*plugin.Cycle, []uint32, *plugin.Verdicts) {}

// TestRetriesOfProfiles: a plugin with open breakers in two profiles is retried at the times of
// both, once each.
func TestRetriesOfProfiles(t *testing.T) {
	w := newWorld(t, &scenario.Log{})
	add := func(at time.Duration) {
		b := &broken{info: plugin.Info{Name: "Guest"}, at: w.start.Add(at)}
		profile := w.profiles[len(w.profiles)-1]
		profile.Points[abi.Filter] = append(profile.Points[abi.Filter], pipeline.Entry{Plugin: b})
	}
	add(time.Second)
	w.profile("other", scenario.Args{})
	add(2 * time.Second)
	s := w.get()
	for _, want := range []time.Duration{time.Second, 2 * time.Second} {
		s.Step(t.Context())
		if at, ok := s.NextDeadline(); !ok || at.Sub(w.start) != want {
			t.Fatalf("the next deadline is %v, %v, want %v", at.Sub(w.start), ok, want)
		}
		w.clock.Advance(time.Second)
	}
	s.Step(t.Context())
	if at, ok := s.NextDeadline(); ok && !at.After(w.clock.Now()) {
		t.Errorf("after both the next deadline is %v: the loop does not sleep", at.Sub(w.start))
	}
}
