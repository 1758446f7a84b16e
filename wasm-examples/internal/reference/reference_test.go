package reference_test

import (
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/internal/reference"
)

// TestVariantsAgree: both variants decide the same, and every check rejects some node.
func TestVariantsAgree(t *testing.T) {
	nodes, pods := workload(200)
	csr := berthtest.New(t, reference.ManifestCSR, berthtest.Native(reference.NewCSR), "")
	dense := berthtest.New(t, reference.ManifestDense, berthtest.Native(reference.NewDense), "")
	csr.Nodes, dense.Nodes = nodes, nodes
	seen := map[string]int{}
	for _, pod := range pods[:4] {
		a, b := csr.Place(pod), dense.Place(pod)
		for i := range a {
			if a[i].String() != b[i].String() {
				t.Errorf("csr: %v, dense: %v", a[i], b[i])
			}
			seen[a[i].Code.String()+" "+slices.Concat(a[i].Reasons, []string{""})[0]]++
		}
	}
	for _, want := range []string{
		"Success ", "UnschedulableAndUnresolvable node(s) had untolerated taint(s)", "Unschedulable Insufficient cpu",
		"UnschedulableAndUnresolvable node(s) didn't match Pod's node affinity/selector", "Unschedulable Insufficient memory",
	} {
		if seen[want] == 0 {
			t.Errorf("no node got %q: %v", want, seen)
		}
	}
}

// TestNoAllocation: a call allocates nothing once the plugin has its buffers.
func TestNoAllocation(t *testing.T) {
	nodes, pods := workload(100)
	for name, trial := range map[string]*berthtest.Trial{
		"csr":   berthtest.New(t, reference.ManifestCSR, berthtest.Native(reference.NewCSR), ""),
		"dense": berthtest.New(t, reference.ManifestDense, berthtest.Native(reference.NewDense), ""),
	} {
		trial.Nodes = nodes
		call := trial.Caller(pods)
		i := 0
		for range pods {
			call(i % len(pods))
			i++
		}
		if n := testing.AllocsPerRun(100, func() { call(i % len(pods)); i++ }); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	nodes, pods := workload(5000)
	b.Run("labels=csr/nodes=5000", func(b *testing.B) {
		trial := berthtest.New(b, reference.ManifestCSR, berthtest.Native(reference.NewCSR), "")
		trial.Nodes = nodes
		trial.Bench(b, pods)
	})
	b.Run("labels=dense/nodes=5000", func(b *testing.B) {
		trial := berthtest.New(b, reference.ManifestDense, berthtest.Native(reference.NewDense), "")
		trial.Nodes = nodes
		trial.Bench(b, pods)
	})
}

// TestScenarios: both variants decide as the file says.
func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/csr.txt", reference.ManifestCSR, berthtest.Native(reference.NewCSR))
	berthtest.Scenarios(t, "testdata/csr.txt", reference.ManifestDense, berthtest.Native(reference.NewDense))
}
