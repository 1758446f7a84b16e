//go:build !wasip1

package hosttest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

func inRust() *language {
	return &language{
		name:   "Rust",
		folder: func(e *wasmexamples.Example) string { return e.Rust },
		build: func(t testing.TB, dir, _ string) []byte { // the code names its manifest
			t.Helper()
			// Cargo's flags name the crate's folder, so that crates in one target would undo what the others made.
			target := filepath.Join(built.cache, "cargo", strings.ReplaceAll(filepath.ToSlash(dir), "/", "_"))
			data, err := cargotest.Toolchain(t).Build(context.Background(), dir, target)
			if err != nil {
				t.Fatal(err)
			}
			return data
		},
		most: 192 << 10,
	}
}

func TestRestRustModules(t *testing.T) { inRust().testModules(t) }

// TestRestRustLoadAware: the example that exists in Rust alone conforms to the ABI, is small, and decides as its scenarios say.
func TestRestRustLoadAware(t *testing.T) {
	e, rust := wasmexamples.LoadAware(), inRust()
	rust.testModule(t, &e)
	decides(t, &e, scenarios(t, &e), rust.module(t, &e))
}

func TestRestRustTwins(t *testing.T)       { inRust().testTwins(t) }
func TestRestRustDecidesAsGo(t *testing.T) { inRust().testDecidesAsGo(t) }
