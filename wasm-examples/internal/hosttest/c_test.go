//go:build !wasip1

package hosttest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	"github.com/berth-scheduler/berth/internal/testcache"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

func inC() *language {
	return &language{
		name:   "C",
		folder: func(e *wasmexamples.Example) string { return e.C },
		build: func(t testing.TB, dir, _ string) []byte { // the code names its manifest
			t.Helper()
			data, err := compileC(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			return data
		},
		most: 88 << 10,
	}
}

// compileC returns the module of a folder, kept until a source file, the compiler or a flag changes.
func compileC(t testing.TB, dir string, flags ...string) ([]byte, error) {
	t.Helper()
	toolchain := clangtest.Toolchain(t)
	version, err := exec.Command(toolchain.Clang, "--version").Output()
	if err != nil {
		return nil, err
	}
	// A plugin includes files of other folders; its own and its manifest tell it from the others.
	sdk, examples := filepath.Join("..", "..", "..", "abi", "sdk", "c"), filepath.Join("..", "..")
	texts := append([]string{filepath.Base(dir), string(version)}, flags...)
	key, err := testcache.Key([]string{sdk, examples, filepath.Dir(dir)}, []string{".c", ".h", ".json"}, texts...)
	if err != nil {
		return nil, err
	}
	return testcache.File(built.cache, key+".wasm", func() ([]byte, error) { return toolchain.Build(context.Background(), dir, flags...) })
}

func TestRestCModules(t *testing.T)     { inC().testModules(t) }
func TestRestCTwins(t *testing.T)       { inC().testTwins(t) }
func TestRestCDecidesAsGo(t *testing.T) { inC().testDecidesAsGo(t) }
func TestRestCVectors(t *testing.T)     { inC().testVectors(t, "abi/sdk/c/tests") }

func TestRestCTutorial(t *testing.T) {
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

// TestRestCWarnings: the SDK and the examples compile without warnings, optimized or not.
func TestRestCWarnings(t *testing.T) {
	l := inC()
	for _, e := range l.examples() {
		for _, level := range []string{"-O0", "-Oz"} {
			dir := filepath.Join("..", "..", filepath.FromSlash(e.C))
			if _, err := compileC(t, dir, "-Wextra", "-Werror", level); err != nil {
				t.Errorf("%s: %v", level, err)
			}
		}
	}
}
