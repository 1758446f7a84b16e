//go:build !wasip1

package hosttest

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/hostplugins/workload"
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
