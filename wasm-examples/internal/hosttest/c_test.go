//go:build !wasip1

package hosttest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

func inC() *language {
	return &language{
		name:   "C",
		folder: func(e *wasmexamples.Example) string { return e.C },
		build: func(t testing.TB, dir, _ string) []byte { // the code names its manifest
			t.Helper()
			data, err := clangtest.Toolchain(t).Build(context.Background(), dir)
			if err != nil {
				t.Fatal(err)
			}
			return data
		},
		most: 64 << 10,
	}
}

func TestCModules(t *testing.T)     { inC().testModules(t) }
func TestCTwins(t *testing.T)       { inC().testTwins(t) }
func TestCDecidesAsGo(t *testing.T) { inC().testDecidesAsGo(t) }
func TestCVectors(t *testing.T)     { inC().testVectors(t, "abi/sdk/c/tests") }

func TestCTutorial(t *testing.T) {
	inC().testTutorial(t, "abi/sdk/c/README.md", []string{"manifest.json", "plugin.c"}, func(dir string) {
		header, err := os.ReadFile(filepath.Join("..", "..", "..", "abi", "sdk", "c", "berth.h"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "berth.h"), header, 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCWarnings: the SDK and the examples compile without warnings, optimized or not.
func TestCWarnings(t *testing.T) {
	l := inC()
	for _, e := range l.examples() {
		for _, level := range []string{"-O0", "-Oz"} {
			dir := filepath.Join("..", "..", filepath.FromSlash(e.C))
			if _, err := clangtest.Toolchain(t).Build(context.Background(), dir, "-Wextra", "-Werror", level); err != nil {
				t.Errorf("%s: %v", level, err)
			}
		}
	}
}
