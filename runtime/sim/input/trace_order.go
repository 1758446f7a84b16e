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

// maxInflate bounds TraceOptions.Inflate, and maxClones the pods it may add, so
// that a slip of the keyboard does not fill the memory.
const (
	maxInflate = 1000
	maxClones  = 10_000_000
)

// checkEvery is after how many pods the context is asked again.
const checkEvery = 1 << 10

// watchDraws is how many Float64 the published simulator draws from its shared
// stream between inflation and the order of nodes: one in each of ten watch
// loops of client-go (docs FGD.md, section 3.6).
const watchDraws = 10

// traceRand is the one stream of random numbers of a run, drawn from in the
// order of the published artefact (docs FGD.md, section 3): one Int, Shuffle,
// one Intn per clone, ten Float64, Perm. A step that the options leave out
// draws nothing; the others keep their order.
type traceRand struct{ r *rand.Rand }

func newTraceRand(seed int64) traceRand {
	r := rand.New(rand.NewSource(seed))
	r.Int() // argument of a debug print in the artefact, evaluated and not used
	return traceRand{r}
}

// order returns the arrival list: the pods sorted by name, shuffled if asked,
// then inflated or cut to o.Inflate times the cluster's milli-GPU.
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
	target := o.Inflate * float64(clusterMilli)
	var total int64
	for _, p := range list {
		total += p.milliGPU()
	}
	if float64(total) > target {
		return t.remove(list, total, target), nil
	}
	return t.inflate(ctx, list, sorted, total, target)
}

// inflate appends clones of random pods. Candidates come from the sorted list
// whether or not arrivals were shuffled; the stop test adds gpu_milli of one
// device, the running total all of them, as the artefact does.
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

// remove takes random pods out of the arrival list while its demand is above
// the target. The artefact's trace is never above it, so no published number
// depends on the draw, one Intn over the pods left.
func (t traceRand) remove(list []tracePod, total int64, target float64) []tracePod {
	gone := make([]bool, len(list))
	left := make([]int, len(list)) // positions still in the list, in no order
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

// nodeRank is the last draw of the stream: rank perm[i] for the i-th name in
// sorted order.
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

// arrivals turns the ordered pods into objects, and into times under Departures.
// Clones keep the times of their original. When the context ends, so do they.
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
