package state_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

type count struct{ n int }

func (c *count) Clone() state.Value { return &count{c.n} }

// TestCycleState: it is a map with two keys, and a clone shares no value.
func TestCycleState(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", ""})
	seeded.Check(t, func(t *rapid.T) {
		var s state.CycleState
		model := map[[2]string]int{}
		require := func(t *rapid.T, s *state.CycleState) {
			for _, plugin := range []string{"a", "b", ""} {
				for _, key := range []string{"a", "b", ""} {
					want, ok := model[[2]string{plugin, key}]
					got := s.Read(plugin, key)
					if ok != (got != nil) || ok && got.(*count).n != want {
						t.Fatalf("Read(%q, %q) = %v, want %d, %v", plugin, key, got, want, ok)
					}
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { require(t, &s) },
			"write": func(t *rapid.T) {
				plugin, key, n := name.Draw(t, "plugin"), name.Draw(t, "key"), rapid.Int().Draw(t, "n")
				s.Write(plugin, key, &count{n})
				model[[2]string{plugin, key}] = n
			},
			"delete": func(t *rapid.T) {
				plugin, key := name.Draw(t, "plugin"), name.Draw(t, "key")
				s.Write(plugin, key, nil)
				delete(model, [2]string{plugin, key})
			},
			"clone": func(t *rapid.T) {
				c := s.Clone()
				require(t, c)
				for at := range model {
					c.Read(at[0], at[1]).(*count).n++
				}
				c.Write("a", "new", &count{})
				if s.Read("a", "new") != nil {
					t.Fatalf("a write to the clone changes the original")
				}
			},
			"reset": func(*rapid.T) { s.Reset(); clear(model) },
		})
	})
}

// TestRetry: of what plugins ask for, the shortest time counts, and asking for nothing does not.
func TestRetry(t *testing.T) {
	var s state.CycleState
	for _, asked := range []struct {
		plugin string
		after  time.Duration
		want   state.Retry
	}{
		{"a", 0, state.Retry{}},
		{"a", time.Hour, state.Retry{After: time.Hour, Plugin: "a"}},
		{"b", time.Minute, state.Retry{After: time.Minute, Plugin: "b"}},
		{"c", time.Hour, state.Retry{After: time.Minute, Plugin: "b"}},
		{"d", time.Minute, state.Retry{After: time.Minute, Plugin: "b"}},
		{"c", 0, state.Retry{After: time.Minute, Plugin: "b"}},
	} {
		if s.RetryAfter(asked.plugin, asked.after); s.Retry() != asked.want {
			t.Errorf("%s asks for %v: got %v, want %v", asked.plugin, asked.after, s.Retry(), asked.want)
		}
	}
	if s.Reset(); s.Retry() != (state.Retry{}) {
		t.Errorf("after Reset: %v", s.Retry())
	}
}
