//go:build !wasip1

package hosttest

import (
	"os"
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// mostGo is the maximum size of an example in Go, in bytes. A module that uses encoding/json, or reflection, is larger.
const mostGo = 2<<20 + 488<<10

// TestRestGoModules: the examples in Go stay small.
func TestRestGoModules(t *testing.T) {
	for _, e := range wasmexamples.All() {
		t.Run(e.Name, func(t *testing.T) {
			info, err := os.Stat(file(t, &e))
			if err != nil {
				t.Fatal(err)
			}
			most := int64(mostGo)
			if e.Name == "expression" {
				most += 1 << 20 // it has regexp
			}
			if info.Size() > most {
				t.Errorf("the module has %d bytes, at most %d are allowed", info.Size(), most)
			}
		})
	}
}

// BenchmarkStart makes an instance and configures it.
func BenchmarkStart(b *testing.B) {
	configs := map[string]string{
		"tenant-pool":     `{"tenants": {"team-a": {"pools": ["gold"], "fallback": true}}, "shared": ["general"]}`,
		"noisy-neighbour": noisyConfig,
	}
	files := map[string]func(testing.TB, *wasmexamples.Example) string{"go": file, "rust": inRust().file, "c": inC().file, "assemblyscript": inAssemblyScript().file}
	for _, name := range []string{"tenant-pool", "noisy-neighbour"} {
		for _, language := range []string{"go", "rust", "c", "assemblyscript"} {
			b.Run("plugin="+name+"/language="+language, func(b *testing.B) {
				path := files[language](b, example(b, name))
				info, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				m := load(b, name+"-in-"+language, path).(*sandbox.Module)
				var fuel int64
				var memory int
				limits := sandbox.Limits{}.WithDefaults()
				for b.Loop() {
					env := sandbox.NewEnv(sandbox.EnvConfig{Limits: limits, StartFuel: limits.FuelStart})
					g, err := m.New(b.Context(), 1<<20, env)
					if err != nil {
						b.Fatal(err)
					}
					if ok, err := g.Configure(b.Context(), []byte(configs[name])); err != nil || !ok {
						b.Fatal("the configuration is refused: ", err)
					}
					fuel, memory = limits.FuelStart-env.StartFuelLeft(), len(g.Memory())
					if err := g.Close(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(info.Size()), "B-module")
				b.ReportMetric(float64(memory), "B-memory")
				b.ReportMetric(float64(fuel), "fuel")
			})
		}
	}
}
