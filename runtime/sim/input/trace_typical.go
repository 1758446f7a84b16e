package input

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// TypicalPod is a group of similar pods in a trace. Its JSON is an element of typicalPods in
// the configuration of the example plugin fgd.
type TypicalPod struct {
	MilliCPU int64 `json:"milliCPU"`
	// GPUs is the number of GPUs that each pod requests; may be 0. MilliGPU is the request for
	// each of them.
	GPUs     int64 `json:"gpus,omitempty"`
	MilliGPU int64 `json:"milliGPU,omitempty"`
	// Models are the accepted GPU models, sorted; nil means any.
	Models []string `json:"models,omitempty"`
	// Count is the number of pods in the group.
	Count int64 `json:"count"`
}

// The typical pods are the most frequent groups that together have this percentage of a trace's
// pods (Weng et al., USENIX ATC 2023).
const typicalPercent = 95

// LoadTypicalPods returns the typical pods of a pod list, the most frequent first. Format, file
// and errors are as for LoadTrace.
func LoadTypicalPods(ctx context.Context, format, podsCSV string) ([]TypicalPod, error) {
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	data, err := readFile(ctx, podsCSV)
	if err != nil {
		return nil, unlessStopped(ctx, fmt.Errorf("pod list of the trace: %w", err))
	}
	var g gatherer
	pods, _ := readTracePods(ctx, source{podsCSV, data}, TraceOptions{}, &g)
	if err := unlessStopped(ctx, g.err()); err != nil {
		return nil, err
	}
	return typicalPods(pods), nil
}

// typicalPods groups pods by everything that they request except memory, and returns the
// largest groups until they have typicalPercent of the pods. Of groups of equal size the one
// that requests more comes first: more CPU, then more of each GPU, then more GPUs.
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
