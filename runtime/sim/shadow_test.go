package sim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/simtest"
)

// filter writes a module whose filter gives all nodes one verdict.
func filter(t *testing.T, name, verdict string) string {
	t.Helper()
	data := wat.Compile(t, `(module
		(memory (export "memory") 40)
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32)
			(memory.fill (i32.load offset=24 (local.get 0)) (i32.const `+verdict+`) (i32.load offset=20 (local.get 0))) (i32.const 0)))`,
		`{"name": "`+name+`", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"node": ["labels"]}}`)
	file := filepath.Join(t.TempDir(), name+".wasm")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestShadowChangesNothing: trials change no decision, and one of a plugin that lets everything
// pass always decides the same, preemptions included; one that refuses all nodes leaves every pod
// pending.
func TestShadowChangesNothing(t *testing.T) {
	modules := assembly.NewModules(assembly.ModulesConfig{})
	t.Cleanup(func() { _ = modules.Close(t.Context()) })
	files := map[string]string{"idle": filter(t, "idle", "0"), "refuse": filter(t, "refuse", "2")}
	var attempts, preemptions int64
	seeded.Check(t, func(t *rapid.T) {
		c := simtest.DrawCluster(t)
		c.Assembly = assembly.Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Workers: 1, Reuse: equivalence.Config{Bytes: rapid.SampledFrom([]int64{0, 1 << 12, 1 << 30}).Draw(t, "kept")},
			Scheduler: assembly.Default(), Modules: modules,
		}
		percent := int32(rapid.IntRange(-1, 60).Draw(t, "percentage"))
		run := func(mode v1alpha1.Mode) *sim.Result {
			c := c
			c.Assembly.Scheduler = assembly.Default()
			if percent > 0 {
				c.Assembly.Scheduler.PercentageOfNodesToScore = &percent
			}
			for _, name := range []string{"idle", "refuse"} {
				m, err := modules.Load(module.Reference{Path: files[name], Use: module.Use{Mode: mode}})
				if err == nil {
					err = m.Enable(c.Assembly.Scheduler)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			s, err := sim.New(c)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		want, got := run(v1alpha1.ModeDisabled), run(v1alpha1.ModeShadow)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sim.Result{}, "Plugins", "Trials", "Summary.Seconds", "Summary.PodsPerSecond")); diff != "" {
			t.Fatalf("decisions with trials (-without +with):\n%s", diff)
		}
		idle, refuse := got.Trials[0], got.Trials[1]
		if idle.Same != idle.Attempts || idle.Attempts != int64(got.Summary.Attempts) {
			t.Fatalf("a trial of a plugin that does nothing: %+v", idle)
		}
		if refuse.Attempts != refuse.Same+refuse.Pending+refuse.Preemption {
			t.Fatalf("a trial of a plugin that refuses all nodes: %+v", refuse)
		}
		attempts += idle.Attempts
		preemptions += int64(got.Summary.Evicted)
	})
	t.Logf("%d attempts, %d preemptions", attempts, preemptions)
	if attempts == 0 || preemptions == 0 && attempts > 10_000 {
		t.Errorf("%d attempts with %d preemptions: too little to show anything", attempts, preemptions)
	}
}
