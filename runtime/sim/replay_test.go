package sim_test

import (
	"bytes"
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/record/recordtest"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/simtest"
)

// recorded runs a simulation and returns its recording.
func recorded(t fataler, c sim.Config) (*sim.Result, []byte) {
	w := recordtest.New(t, 0)
	c.Recorder = w
	s, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(context.Background())
	segments := w.Segments()
	if err != nil {
		t.Fatal(err)
	}
	return r, segments[0].Bytes()
}

// replayed repeats a recording with a number of workers.
func replayed(t fataler, recording []byte, workers int) *replay.Result {
	reader, err := record.NewReader(bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	modules := assembly.NewModules(assembly.ModulesConfig{})
	defer func() { _ = modules.Close(context.Background()) }()
	r, err := replay.Run(context.Background(), reader, replay.Config{Modules: modules, Workers: workers})
	if err != nil || r.Reworded > 0 {
		t.Fatal(err, r)
	}
	return r
}

type fataler interface{ Fatal(args ...any) }

// TestReplay: each decision of a random cluster is made again from its recording, on 1 and 8 workers, with
// and without kept answers.
func TestReplay(t *testing.T) {
	decisions := 0
	seeded.Check(t, func(t *rapid.T) {
		c := simtest.DrawCluster(t)
		c.Assembly = assembly.Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Workers: 1, Scheduler: assembly.Default(), Candidates: rapid.IntRange(0, 7).Draw(t, "candidates"),
		}
		if percent := int32(rapid.IntRange(-1, 60).Draw(t, "percentage")); percent > 0 {
			c.Assembly.Scheduler.PercentageOfNodesToScore = &percent
		}
		result, recording := recorded(t, c)
		for _, workers := range []int{1, 8} {
			again := replayed(t, recording, workers)
			if uint64(again.Decisions) != result.Summary.Attempts || again.Cut {
				t.Fatalf("%d decisions of %d, cut %v", again.Decisions, result.Summary.Attempts, again.Cut)
			}
		}
		decisions += int(result.Summary.Attempts)
	})
	if decisions == 0 {
		t.Error("nothing was decided")
	}
}

// TestSegments: each segment of a recording repeats its decisions alone, whenever it began.
func TestSegments(t *testing.T) {
	most := 0
	seeded.Check(t, func(t *rapid.T) {
		c := simtest.DrawCluster(t)
		c.Assembly = assembly.Config{Seed: rapid.Uint64().Draw(t, "seed"), Workers: 1, Scheduler: assembly.Default()}
		if percent := int32(rapid.IntRange(-1, 60).Draw(t, "percentage")); percent > 0 {
			c.Assembly.Scheduler.PercentageOfNodesToScore = &percent
		}
		w := recordtest.New(t, int64(rapid.IntRange(200, 5000).Draw(t, "bytes")))
		c.Recorder = w
		s, err := sim.New(c)
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.Run(context.Background())
		segments := w.Segments()
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{1, 8} {
			decisions := 0
			for _, segment := range segments {
				again := replayed(t, segment.Bytes(), workers)
				if again.Cut {
					t.Fatal("a segment was not closed")
				}
				decisions += again.Decisions
			}
			if uint64(decisions) != result.Summary.Attempts {
				t.Fatalf("%d decisions of %d in %d segments", decisions, result.Summary.Attempts, len(segments))
			}
		}
		most = max(most, len(segments))
	})
	if most < 3 {
		t.Errorf("there were at most %d segments", most)
	}
}
