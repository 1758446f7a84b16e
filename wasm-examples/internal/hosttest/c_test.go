//go:build !wasip1

package hosttest

import (
	"context"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

func inC() *language {
	return &language{
		name:   "C",
		folder: func(e *wasmexamples.Example) string { return e.C },
		build: func(t testing.TB, dir string) []byte {
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
