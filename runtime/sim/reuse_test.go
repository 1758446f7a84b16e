package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/simtest"
)

// TestReuse: the result, including messages, is the same with any number of kept answers as
// without.
func TestReuse(t *testing.T) {
	reused := int64(0)
	seeded.Check(t, func(t *rapid.T) {
		c := simtest.DrawCluster(t)
		c.Assembly = assembly.Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Workers: rapid.IntRange(1, 2).Draw(t, "workers"), Scheduler: assembly.Default(),
		}
		if percent := int32(rapid.IntRange(-1, 60).Draw(t, "percentage")); percent > 0 {
			c.Assembly.Scheduler.PercentageOfNodesToScore = &percent
		}
		run := func(kept equivalence.Config) *sim.Result {
			c := c
			c.Assembly.Reuse = kept
			s, err := sim.New(c)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.Plugins {
				reused += r.Plugins[i].Reused
			}
			r.Plugins, r.Summary.Seconds, r.Summary.PodsPerSecond = nil, 0, 0
			return r
		}
		want := run(equivalence.Config{})
		for _, bytes := range []int64{1 << 12, 1 << 30} {
			if diff := cmp.Diff(want, run(equivalence.Config{Bytes: bytes})); diff != "" {
				t.Fatalf("with %d bytes of answers kept (-without +with):\n%s", bytes, diff)
			}
		}
	})
	if reused == 0 {
		t.Error("no answer was reused")
	}
}
