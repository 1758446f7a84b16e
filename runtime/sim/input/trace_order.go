package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"time"
)

// maxInflate bounds TraceOptions.Inflate, and maxClones the number of added pods, so that a
// typing mistake does not exhaust memory.
const (
	maxInflate = 1000
	maxClones  = 10_000_000
)

// checkEvery is the number of pods between checks of the context.
const checkEvery = 1 << 10

// watchDraws is how many Float64 the published simulator draws from its shared stream between
// inflation and node order: one in each of ten watch loops of client-go.
const watchDraws = 10

// traceRand is the single stream of random numbers of a run, used in the order of the published
// artefact: one Int, Shuffle, one Intn per clone, ten Float64, Perm. A step that the options
// skip draws nothing; the others keep their order.
type traceRand struct{ r *rand.Rand }

func newTraceRand(seed int64) traceRand {
	r := rand.New(rand.NewSource(seed))
	r.Int() // the artefact draws this for a debug message
	return traceRand{r}
}

// order returns the arrival list: the pods sorted by name, shuffled if requested, then inflated
// or cut to o.Inflate times the cluster's milli-GPU.
func (t traceRand) order(ctx context.Context, pods []tracePod, clusterMilli int64, o TraceOptions) ([]tracePod, error) {
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b tracePod) int { return strings.Compare(a.name, b.name) })
	list := slices.Clone(sorted)
	if o.Shuffle {
		t.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	if o.Inflate == 0 || o.Inflate == 1 {
		return list, nil
	}
	if clusterMilli == 0 {
		return nil, errors.New("--inflate: no node has a GPU, so there is no demand for GPUs to reach (leave it at 1)")
	}
	target := float64(o.Inflate * float64(clusterMilli))
	var total int64
	for _, p := range list {
		total += p.milliGPU()
	}
	if float64(total) > target {
		return t.remove(list, total, target), nil
	}
	return t.inflate(ctx, list, sorted, total, target)
}

// inflate appends clones of random pods. As in the artefact, candidates come from the sorted
// list even if arrivals were shuffled, and the stop test adds the gpu_milli of one device,
// while the running total adds all of them.
func (t traceRand) inflate(ctx context.Context, list, sorted []tracePod, total int64, target float64) ([]tracePod, error) {
	if !slices.ContainsFunc(sorted, func(p tracePod) bool { return p.milliGPU() > 0 }) {
		return nil, errors.New("--inflate: no pod asks for a GPU, so the demand for GPUs cannot grow (leave it at 1)")
	}
	for i := range maxClones {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p := sorted[t.r.Intn(len(sorted))]
		if float64(total+p.gpuMilli) > target {
			return list, nil
		}
		p.name = fmt.Sprintf("%s-tuned-%d", p.name, i)
		list = append(list, p)
		total += p.milliGPU()
	}
	return nil, fmt.Errorf("--inflate: more than %d clones are needed (use a smaller value)", maxClones)
}

// remove removes random pods from the arrival list while its demand is above the target. The
// artefact's trace is never above it, so no published number depends on this draw, one Intn
// over the remaining pods.
func (t traceRand) remove(list []tracePod, total int64, target float64) []tracePod {
	gone := make([]bool, len(list))
	left := make([]int, len(list)) // positions still in the list, unordered
	for i := range left {
		left[i] = i
	}
	for float64(total) > target && len(left) > 0 {
		k := t.r.Intn(len(left))
		total -= list[left[k]].milliGPU()
		gone[left[k]] = true
		left[k] = left[len(left)-1]
		left = left[:len(left)-1]
	}
	kept := list[:0]
	for i, p := range list {
		if !gone[i] {
			kept = append(kept, p)
		}
	}
	return kept
}

// nodeRank makes the last draw of the stream: rank perm[i] for the i-th name in sorted order.
func (t traceRand) nodeRank(nodes []traceNode) map[string]uint64 {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.name
	}
	slices.Sort(names)
	for range watchDraws {
		t.r.Float64()
	}
	rank := make(map[string]uint64, len(names))
	for i, p := range t.r.Perm(len(names)) {
		rank[names[i]] = uint64(p)
	}
	return rank
}

// arrivals converts the ordered pods to objects, with times if Departures is set. Clones have
// the times of their originals. It stops early when the context ends.
func arrivals(ctx context.Context, pods []tracePod, o TraceOptions) []Arrival {
	out := make([]Arrival, len(pods))
	var start time.Duration
	for i, p := range pods {
		if i == 0 || p.created < start {
			start = p.created
		}
	}
	for i, p := range pods {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil
		}
		out[i].Pod = p.object()
		if !o.Departures {
			continue
		}
		out[i].At = p.created - start
		if p.leaves {
			out[i].Until = max(p.deleted-start, out[i].At+1)
		}
	}
	if o.Departures {
		slices.SortStableFunc(out, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	}
	return out
}
