//go:build !wasip1

package hosttest

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/hostplugins/reference"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// metered returns an example's module as a factory after it was rewritten, with
// fuel for ever and without what the host would have to serve.
func metered(t testing.TB, e *wasmexamples.Example, omit meter.Part) wasm.Factory {
	t.Helper()
	data, err := os.ReadFile(file(t, e))
	if err != nil {
		t.Fatal(err)
	}
	rewritten, _, err := meter.Rewrite(data, meter.Config{Fuel: math.MaxInt64, Omit: omit | meter.PartYield, MemoryMaxPages: 65_536})
	if err != nil {
		t.Fatal(err)
	}
	m, err := built.runtime.Load(context.Background(), rewritten)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestMetered: an example decides the same after it was rewritten.
func TestMetered(t *testing.T) {
	for _, e := range wasmexamples.All() {
		factory := metered(t, &e, 0)
		for _, s := range scenarios(t, &e) {
			if s.refusal != nil {
				refused(t, &e, s, factory)
			} else {
				s.run(t, &e, factory, ways()[0])
			}
		}
	}
	w := reference.Generate(500, reference.Seed)
	csr, dense := wasmexamples.Reference()
	for _, e := range []wasmexamples.Example{csr, dense} {
		p := newPass(t, w, &e, metered(t, &e, 0), 1)
		if err := reference.Compare(p, reference.NewObjects(w)); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if n := p.plugin.Faults(); n != 0 {
			t.Errorf("%s: %d faults", e.Name, n)
		}
	}
}

// BenchmarkMetered is one pod on 5,000 nodes, without metering and with it. The
// variants take turns, and the best of each is compared with the best without:
// times-fuel for fuel alone, times-depth for fuel and depth. What yields cost on
// top is measured in runtime/wasm/meter.
func BenchmarkMetered(b *testing.B) {
	const nodes = 5000
	w := reference.Generate(nodes, reference.Seed)
	csr, dense := wasmexamples.Reference()
	for _, e := range []wasmexamples.Example{csr, dense} {
		b.Run(fmt.Sprintf("guest=%s/nodes=%d", e.Name, nodes), func(b *testing.B) {
			passes := []*pass{
				newPass(b, w, &e, module(b, &e), 0),
				newPass(b, w, &e, metered(b, &e, meter.PartDepth), 0),
				newPass(b, w, &e, metered(b, &e, 0), 0),
			}
			best := make([]time.Duration, len(passes))
			for i, p := range passes {
				p.run(0, nil)
				best[i] = math.MaxInt64
			}
			n := 0
			for b.Loop() {
				for i, p := range passes {
					start := time.Now()
					p.run(n%reference.Pods, nil)
					best[i] = min(best[i], time.Since(start))
				}
				n++
			}
			b.ReportMetric(float64(best[1])/float64(best[0]), "times-fuel")
			b.ReportMetric(float64(best[2])/float64(best[0]), "times-depth")
		})
	}
}
