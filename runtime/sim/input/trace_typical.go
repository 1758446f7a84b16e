package input

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// TypicalPod is a kind of pods of a trace. Its JSON is an element of typicalPods in
// the configuration of the example plugin fgd.
type TypicalPod struct {
	MilliCPU int64 `json:"milliCPU"`
	// GPUs is how many each asks for, 0 for none, and MilliGPU is what it asks for of
	// each of them.
	GPUs     int64 `json:"gpus,omitempty"`
	MilliGPU int64 `json:"milliGPU,omitempty"`
	// Models is the models of GPUs that will do, sorted; nil means any.
	Models []string `json:"models,omitempty"`
	// Count is how many pods are of this kind.
	Count int64 `json:"count"`
}

// Typical pods are those kinds, from the most frequent one on, that make up this
// part of a trace in percent (Weng et al., USENIX ATC 2023).
const typicalPercent = 95

// LoadTypicalPods returns the typical pods of a pod list, the most frequent first.
// Format, file and errors are as for LoadTrace.
func LoadTypicalPods(ctx context.Context, format, podsCSV string) ([]TypicalPod, error) {
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	data, err := readFile(ctx, podsCSV)
	if err != nil {
		return nil, unlessStopped(ctx, fmt.Errorf("pod list of the trace: %w", err))
	}
	var g gatherer
	pods := readTracePods(ctx, source{podsCSV, data}, TraceOptions{}, &g)
	if err := unlessStopped(ctx, g.err()); err != nil {
		return nil, err
	}
	return typicalPods(pods), nil
}

// typicalPods groups pods by all that they ask for but memory, and returns the
// largest groups until they have typicalPercent of the pods. Of groups of a size
// the one that asks for more comes first: of CPU, then of each GPU, then of GPUs.
func typicalPods(pods []tracePod) (typical []TypicalPod) {
	at := make(map[string]int)
	for _, p := range pods {
		kind := TypicalPod{MilliCPU: p.milliCPU, GPUs: p.gpus, MilliGPU: p.gpuMilli, Models: slices.Sorted(slices.Values(p.models))}
		key := fmt.Sprint(kind)
		i, ok := at[key]
		if !ok {
			i, at[key] = len(typical), len(typical)
			typical = append(typical, kind)
		}
		typical[i].Count++
	}
	slices.SortFunc(typical, func(a, b TypicalPod) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.MilliCPU, a.MilliCPU), cmp.Compare(b.MilliGPU, a.MilliGPU),
			cmp.Compare(b.GPUs, a.GPUs), strings.Compare(fmt.Sprint(a.Models), fmt.Sprint(b.Models)))
	})
	some := int64(0)
	for i := range typical {
		if 100*some >= typicalPercent*int64(len(pods)) {
			return typical[:i]
		}
		some += typical[i].Count
	}
	return typical
}
