package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestRestCheckPassesRawGuests: guests that were written from SPEC.md alone, in C without an SDK, pass.
func TestRestCheckPassesRawGuests(t *testing.T) {
	toolchain := clangtest.Toolchain(t)
	for name, o := range map[string]conformance.Options{
		"spreader": {Config: []byte(`{"skew": 1}`), Hints: []string{"team=red", "team=blue", "shared", "true", "example.com/closed=true"}},
		"ledger": {
			Config: []byte(`{"fees": {"team-a": 3, "default": -2000, "team-b": 70}}`), Published: map[string][]byte{"plan/bonus": []byte("12")},
			Hints: []string{"example.com/grade=gold", "example.com/budget=5", "example.com/fee=700"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", "raw", name)
			text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
			if err != nil {
				t.Fatal(err)
			}
			man, err := wire.DecodeManifest(text)
			if err != nil {
				t.Fatal(err)
			}
			if o.Module, err = toolchain.Build(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			m, err := loadEngine(o.Module, 0)
			if err != nil {
				t.Fatal(err)
			}
			o.Cycles = 12
			report, err := conformance.Check(t.Context(), wasmGuest{m}, man, o)
			if err != nil {
				t.Fatal(err)
			}
			if !report.OK() {
				t.Error(report)
			}
			for point, answers := range report.Answers {
				if answers["Error"] > 0 {
					t.Errorf("%s answers Error: %v", point, answers)
				}
			}
		})
	}
}
