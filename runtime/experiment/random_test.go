package experiment_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/experiment"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/record/recordtest"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/simtest"
)

// simulated runs a simulation and returns its recording, in segments if they have a size.
func simulated(t *rapid.T, c sim.Config, size int64) (*sim.Result, []*bytes.Buffer) {
	w := recordtest.New(t, size)
	c.Recorder = w
	s, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context())
	segments := w.Segments()
	if err != nil {
		t.Fatal(err)
	}
	return r, segments
}

// tried runs an experiment without a change on a recording.
func tried(t *rapid.T, recording []byte) *experiment.Report {
	reader, err := record.NewReader(bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	modules := assembly.NewModules(assembly.ModulesConfig{})
	defer func() { _ = modules.Close(t.Context()) }()
	r, err := experiment.Run(t.Context(), reader, experiment.Config{
		Modules: modules, Workers: 1, Change: func(a assembly.Config) (assembly.Config, error) { return a, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWithoutChange: the recording of a simulation describes the cluster well enough to simulate it
// again, so that each pod is where the recording left it, and nothing moves without a change.
func TestWithoutChange(t *testing.T) {
	pods := 0
	seeded.Check(t, func(t *rapid.T) {
		c := simtest.DrawCluster(t)
		c.Assembly = assembly.Config{Seed: rapid.Uint64().Draw(t, "seed"), Workers: 1, Scheduler: assembly.Default()}
		result, recording := simulated(t, c, 0)
		if result.Summary.Attempts == 0 {
			return
		}
		r := tried(t, recording[0].Bytes())
		if len(r.Moves) > 0 || r.Recording.Same != r.Recording.Pods || r.Recording.Pods > len(c.Arrivals) {
			t.Fatalf("%+v", r)
		}
		if r.Before.Placed != result.Summary.Scheduled || r.Before.Evicted != result.Summary.Evicted {
			t.Fatalf("%+v, recorded was %+v", r.Before, result.Summary)
		}
		pods += r.Recording.Pods
	})
	if pods == 0 {
		t.Error("no pod was to be placed")
	}
}

// TestSegments: a segment that begins in the middle can be tried as well.
func TestSegments(t *testing.T) {
	segments, pods := 0, 0
	seeded.Check(t, func(t *rapid.T) {
		c := simtest.DrawCluster(t)
		c.Assembly = assembly.Config{Seed: 1, Workers: 1, Scheduler: assembly.Default()}
		_, recording := simulated(t, c, 1000)
		for _, segment := range recording[1:] {
			r := tried(t, segment.Bytes())
			if len(r.Moves) > 0 {
				t.Fatalf("%+v", r)
			}
			segments++
			pods += r.Recording.Pods
		}
	})
	if segments == 0 || pods == 0 {
		t.Errorf("%d segments had %d pods", segments, pods)
	}
}
