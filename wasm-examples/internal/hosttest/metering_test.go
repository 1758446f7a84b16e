//go:build !wasip1

package hosttest

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/workload"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// metering is how a guest is run.
type metering struct {
	name   string
	config sandbox.RuntimeConfig
}

// meterings returns no metering, with which the others are compared, and the metering that is
// shipped, in parts.
func meterings() []metering {
	return []metering{
		{"none", sandbox.RuntimeConfig{Unmetered: true}},
		{"fuel", sandbox.RuntimeConfig{Omit: meter.PartDepth | meter.PartYield}},
		{"fuel-yield", sandbox.RuntimeConfig{Omit: meter.PartDepth}},
		{"fuel-depth", sandbox.RuntimeConfig{Omit: meter.PartYield}},
		{"all", sandbox.RuntimeConfig{}},
	}
}

// languageGuests returns the reference workload in each language.
func languageGuests() map[string]func(testing.TB, *wasmexamples.Example) string {
	return map[string]func(testing.TB, *wasmexamples.Example) string{
		"go": file, "rust": inRust().file, "c": inC().file, "assemblyscript": inAssemblyScript().file,
	}
}

// BenchmarkMetering tries one of 64 pods on 5,000 nodes, as BenchmarkOnePod does, with a
// metered guest and with the same guest as compiled. All take turns for each pod, and the best
// time of each pod counts, so that other load on the machine affects all of them equally:
// times-all 1.2 means 20 % more than without metering, including all of the host's work.
func BenchmarkMetering(b *testing.B) {
	csr, dense := wasmexamples.Reference()
	w := workload.Generate(5000, workload.Seed)
	for _, language := range []string{"c", "rust", "assemblyscript", "go"} {
		for _, e := range []*wasmexamples.Example{&csr, &dense} {
			b.Run("guest="+language+"-"+strings.TrimPrefix(e.Name, "reference-"), func(b *testing.B) {
				benchMetering(b, w, e, languageGuests()[language](b, e))
			})
		}
	}
	for _, p := range ports(b) {
		b.Run("guest="+p.language+"-"+p.example.Name, func(b *testing.B) {
			benchMetering(b, w, p.example, languageGuests()[p.language](b, p.example))
		})
	}
}

// port is an example that decides as a plugin of other projects does, by the load of nodes.
type port struct {
	language string
	example  *wasmexamples.Example
}

func ports(t testing.TB) []port {
	rust := wasmexamples.LoadAware()
	return []port{{"go", example(t, "load-aware-go")}, {"rust", &rust}}
}

// TestRestPortsWithinFuel: plugins that decide by load answer for each node alone, so that their calls can be split and their
// answers kept, and a pod on 5,000 nodes takes no more fuel than a tenant has by default.
func TestRestPortsWithinFuel(t *testing.T) {
	const fuel, fuelRow, nodes = 100_000, 150, 5000 // docs/plugins.md, Limits
	w := workload.Generate(nodes, workload.Seed)
	for _, port := range ports(t) {
		t.Run(port.example.Name, func(t *testing.T) {
			m := manifest(t, port.example)
			for _, point := range m.Declared() {
				if m.Scope(point) != abi.ScopeNode {
					t.Errorf("%s has another scope than node", point)
				}
			}
			if why, ok := wasm.Keyed(m); !ok {
				t.Errorf("its answers are not kept: %s", why)
			}
			p := newPass(t, w, port.example, load(t, port.example.Name, languageGuests()[port.language](t, port.example)), 0)
			most, before := int64(0), p.plugin.Fuel()
			for pod := range workload.Pods {
				p.run(pod, nil)
				now := p.plugin.Fuel()
				most, before = max(most, now-before), now
			}
			t.Logf("at most %d units a pod", most)
			if most == 0 || most > fuel+fuelRow*nodes {
				t.Errorf("a pod takes %d units of fuel, a tenant has %d", most, fuel+fuelRow*nodes)
			}
			if n := p.plugin.Faults(); n > 0 || slices.Max(p.scores) == slices.Min(p.scores) {
				t.Errorf("%d faults, scores from %d to %d", n, slices.Min(p.scores), slices.Max(p.scores))
			}
		})
	}
}

func benchMetering(b *testing.B, w workload.Load, e *wasmexamples.Example, path string) {
	code, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var passes []*pass
	var best [][workload.Pods]time.Duration
	for _, m := range meterings() {
		passes = append(passes, newPass(b, w, e, meteredModule(b, m, code), 0))
		var times [workload.Pods]time.Duration
		for i := range times {
			times[i] = math.MaxInt64
		}
		best = append(best, times)
	}
	for b.Loop() {
		for pod := range workload.Pods {
			for i, p := range passes {
				start := time.Now()
				p.run(pod, nil)
				best[i][pod] = min(best[i][pod], time.Since(start))
			}
		}
	}
	total := func(times [workload.Pods]time.Duration) (sum time.Duration) {
		for _, t := range times {
			sum += t
		}
		return sum
	}
	for i, m := range meterings()[1:] {
		b.ReportMetric(float64(total(best[i+1]))/float64(total(best[0])), "times-"+m.name)
	}
	b.ReportMetric(float64(total(best[0]).Microseconds())/workload.Pods, "µs-none/pod")
	b.ReportMetric(0, "ns/op") // the sum over all of them has no meaning
	for i, p := range passes {
		if n := p.plugin.Faults(); n != 0 {
			b.Errorf("%s: %d faults", meterings()[i].name, n)
		}
	}
}

// meteredModule returns a module that is run as m says.
func meteredModule(b *testing.B, m metering, code []byte) sandbox.Factory {
	b.Helper()
	m.config.CacheDir = cacheDir()
	r, err := sandbox.NewRuntime(m.config)
	if err != nil {
		b.Fatal(err)
	}
	loaded, err := r.Load(context.Background(), code)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := loaded.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := r.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return loaded
}
