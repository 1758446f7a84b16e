//go:build !wasip1

package hosttest

import (
	"context"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc/asctest"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

func inAssemblyScript() *language {
	return &language{
		name:   "AssemblyScript",
		folder: func(e *wasmexamples.Example) string { return e.AssemblyScript },
		build: func(t testing.TB, dir, manifest string) []byte {
			t.Helper()
			data, err := asctest.Toolchain(t, dir).Build(context.Background(), dir, manifest)
			if err != nil {
				t.Fatal(err)
			}
			return data
		},
		most: 64 << 10,
	}
}

func TestAssemblyScriptModules(t *testing.T)     { inAssemblyScript().testModules(t) }
func TestAssemblyScriptTwins(t *testing.T)       { inAssemblyScript().testTwins(t) }
func TestAssemblyScriptDecidesAsGo(t *testing.T) { inAssemblyScript().testDecidesAsGo(t) }
