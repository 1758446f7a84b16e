//go:build !wasip1

package hosttest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc/asctest"
	"github.com/berth-scheduler/berth/internal/testcache"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

func inAssemblyScript() *language {
	return &language{
		name:   "AssemblyScript",
		folder: func(e *wasmexamples.Example) string { return e.AssemblyScript },
		build: func(t testing.TB, dir, manifest string) []byte {
			t.Helper()
			toolchain := asctest.Toolchain(t, dir)
			var carried []byte
			if manifest != "" {
				var err error
				if carried, err = os.ReadFile(manifest); err != nil {
					t.Fatal(err)
				}
			}
			// A plugin may import what is beside its folder.
			key, err := testcache.Key([]string{toolchain.SDK, filepath.Dir(dir)}, []string{".ts", ".mjs", ".json"}, filepath.Base(dir), string(carried))
			if err != nil {
				t.Fatal(err)
			}
			data, err := testcache.File(built.cache, key+".wasm", func() ([]byte, error) { return toolchain.Build(context.Background(), dir, manifest) })
			if err != nil {
				t.Fatal(err)
			}
			return data
		},
		most: 64 << 10,
	}
}

func TestRestAssemblyScriptModules(t *testing.T)     { inAssemblyScript().testModules(t) }
func TestRestAssemblyScriptTwins(t *testing.T)       { inAssemblyScript().testTwins(t) }
func TestRestAssemblyScriptDecidesAsGo(t *testing.T) { inAssemblyScript().testDecidesAsGo(t) }
func TestRestAssemblyScriptVectors(t *testing.T) {
	inAssemblyScript().testVectors(t, "abi/sdk/assemblyscript/tests/vectors")
}

func TestRestAssemblyScriptTutorial(t *testing.T) {
	sdk, err := filepath.Abs(filepath.Join("..", "..", "..", "abi", "sdk", "assemblyscript"))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"package.json", "manifest.json", "assembly/index.ts"}
	inAssemblyScript().testTutorial(t, "abi/sdk/assemblyscript/README.md", files, func(dir string) {
		path := filepath.Join(dir, "package.json")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.Replace(string(text), "file:../berth/abi/sdk/assemblyscript", "file:"+filepath.ToSlash(sdk), 1)
		if whole == string(text) {
			t.Fatal("the tutorial's package.json does not depend on the SDK beside it")
		}
		if err := os.WriteFile(path, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}
