package input

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/golden"
)

const smallNodesFile, smallPodsFile = "testdata/small/nodes.csv", "testdata/small/pods.csv"

// smallNodes returns 16 nodes with 62 GPUs of three models, and 4 nodes without.
func smallNodes() []byte {
	var b bytes.Buffer
	b.WriteString("sn,cpu_milli,memory_mib,gpu,model\n")
	node := 0
	for _, class := range []struct{ count, cores, gib, gpus, model any }{
		{7, 32, 128, 2, "L4"}, {6, 64, 256, 4, "A30"}, {3, 128, 1024, 8, "H100"}, {4, 96, 384, 0, ""},
	} {
		for range class.count.(int) {
			fmt.Fprintf(&b, "small-node-%02d,%d,%d,%d,%s\n", node, class.cores.(int)*1000, class.gib.(int)*1024, class.gpus, class.model)
			node++
		}
	}
	return b.Bytes()
}

// smallPods returns 120 pods of an invented day: with shares of a GPU, one GPU, several, and
// none.
func smallPods() []byte {
	state := uint64(4)
	pick := func(n int) int { // a linear congruential generator, always the same
		state = state*6364136223846793005 + 1442695040888963407
		return int(state >> 33 % uint64(n))
	}
	one := func(of ...string) string { return of[pick(len(of))] }
	var b bytes.Buffer
	b.WriteString("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time\n")
	created := 0
	for i := range 120 {
		cores, gpus, milli, models := 1+pick(8), 0, 0, ""
		switch kind := pick(100); {
		case kind < 46:
			gpus, milli, models = 1, 50*(1+pick(10)), one("", "", "", "L4", "L4|A30")
		case kind < 64:
			gpus, milli, models = 1, 1000, one("", "", "A30", "A30|H100")
		case kind < 72:
			gpus, milli, models = 2<<(pick(3)*pick(2)), 1000, one("", "H100")
			cores = 4 * gpus
		default:
			cores = 1 + pick(24)
		}
		created += pick(600)
		deleted := fmt.Sprint(created + 300 + pick(20000))
		if pick(6) == 0 {
			deleted = "" // it stays
		}
		fmt.Fprintf(&b, "small-pod-%03d,%d,%d,%d,%d,%s,%s,%d,%s\n",
			i, cores*1000, cores*1024*(2+pick(3)), gpus, milli, models, one("LS", "LS", "Burstable", "BE"), created, deleted)
	}
	return b.Bytes()
}

// The committed trace equals the generated one.
func TestSmallTraceIsGenerated(t *testing.T) {
	golden.Check(t, smallNodesFile, smallNodes())
	golden.Check(t, smallPodsFile, smallPods())
}

// The small trace has every feature of a trace.
func TestSmallTrace(t *testing.T) {
	trace, err := LoadTrace(t.Context(), "openb", smallNodesFile, smallPodsFile, TraceOptions{Departures: true})
	if err != nil {
		t.Fatal(err)
	}
	var have, asked int64
	var models []string
	for _, n := range trace.Nodes {
		have += n.Status.Allocatable.Name(GPUResource, "").Value()
		models = append(models, n.Labels[GPUModelLabel])
	}
	slices.Sort(models)
	if models = slices.Compact(models); !slices.Equal(models, []string{"", "A30", "H100", "L4"}) || len(trace.Nodes) != 20 {
		t.Errorf("%d nodes of the models %q", len(trace.Nodes), models)
	}
	seen := map[string]int{}
	for _, a := range trace.Arrivals {
		milli := a.Pod.Spec.Containers[0].Resources.Requests.Name(GPUResource, "").Value()
		asked += milli
		switch {
		case milli == 0:
			seen["none"]++
		case milli < milliPerGPU:
			seen["share"]++
		case milli == milliPerGPU:
			seen["one"]++
		default:
			seen["several"]++
		}
		if x := a.Pod.Spec.Affinity; x != nil {
			terms := x.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
			seen[fmt.Sprint(len(terms[0].MatchExpressions[0].Values), " models")]++
		}
		if a.Until == 0 {
			seen["stays"]++
		} else {
			seen["leaves"]++
		}
	}
	if len(trace.Arrivals) != 120 || have != 62_000 || asked < have*7/10 || asked >= have {
		t.Errorf("%d pods ask for %d of %d milli-GPU", len(trace.Arrivals), asked, have)
	}
	for _, what := range []string{"none", "share", "one", "several", "1 models", "2 models", "stays", "leaves"} {
		if seen[what] < 5 {
			t.Errorf("only %d pods: %s", seen[what], what)
		}
	}
	full, err := LoadTrace(t.Context(), "openb", smallNodesFile, smallPodsFile, TraceOptions{Seed: 42, Inflate: 1.3, Shuffle: true})
	if err != nil {
		t.Fatal(err)
	}
	if last := full.Arrivals[len(full.Arrivals)-1].Pod.Name; !strings.Contains(last, "-tuned-") {
		t.Errorf("inflated, the trace ends with %s", last)
	}
}
