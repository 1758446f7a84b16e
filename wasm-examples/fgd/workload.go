package fgd

import (
	"cmp"
	"slices"
	"strconv"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"
)

// typical is a kind of pods that requests GPUs.
type typical struct {
	cpu    int64 // milli-CPU
	gpus   int
	milli  int64  // milli-GPU of each
	models uint32 // accepted models, one bit each
	count  int64  // number of pods
}

const (
	anyModel   = ^uint32(0)
	otherModel = 1 << 31
	mostModels = 31
)

// workload has the typical pods. Weights are counts, so fragments are integers: milli-GPU times
// total.
type workload struct {
	gpu     []typical // sorted by milli
	cpuOnly int64     // number of pods without GPUs
	total   int64

	// least is the smallest decrease of the fragment for each score from 1 to 99.
	least [99]int64
}

// Configure reads the typical pods.
func (p *FGD) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("typicalPods")
	var names []string
	for _, t := range c.Get("typicalPods").Elements() {
		t.Only("milliCPU", "gpus", "milliGPU", "models", "count")
		kind := typical{
			cpu: t.Get("milliCPU").Int64(0), gpus: int(t.Get("gpus").Int64(0)), milli: t.Get("milliGPU").Int64(0),
			models: anyModel, count: t.Get("count").Int64(0),
		}
		p.workload.total += kind.count
		if kind.gpus == 0 && kind.milli == 0 {
			p.workload.cpuOnly += kind.count
			continue
		}
		if kind.gpus == 0 || kind.milli == 0 {
			t.Refuse("gpus and milliGPU must both be 0, or both more")
		}
		models := t.Get("models").Elements()
		if len(models) > 0 {
			kind.models = 0
		}
		for _, model := range models {
			name := model.Text("")
			at := slices.Index(names, name)
			if at < 0 {
				at = len(names)
				names, p.models = append(names, name), append(p.models, p.Const(name))
			}
			if at >= mostModels {
				model.Refuse("there may be " + strconv.Itoa(mostModels) + " models")
				return c.Err()
			}
			kind.models |= 1 << at
		}
		p.workload.gpu = append(p.workload.gpu, kind)
	}
	if err := c.Err(); err != nil {
		return err
	}
	slices.SortStableFunc(p.workload.gpu, func(a, b typical) int { return cmp.Compare(a.milli, b.milli) })
	p.workload.thresholds()
	return nil
}

var _ berth.Configurer = (*FGD)(nil)

// free is what is left of the GPUs of a node, in ascending order.
type free struct {
	n    int
	each [gpushare.Most]int16
}

func sorted(n *gpushare.Node) (f free) {
	f.n, f.each = n.N, n.Free
	slices.Sort(f.each[:f.n])
	return f
}

// shared returns what is left after a pod has taken a share of a GPU that had left.
func (f free) shared(left, milli int16) free {
	i := 0
	for f.each[i] != left {
		i++
	}
	for ; i > 0 && f.each[i-1] > left-milli; i-- {
		f.each[i] = f.each[i-1]
	}
	f.each[i] = left - milli
	return f
}

// without returns what is left after a pod has taken whole GPUs, which are last.
func (f free) without(gpus int) free {
	copy(f.each[gpus:f.n], f.each[:f.n-gpus])
	clear(f.each[:gpus])
	return f
}

// fragment returns what typical pods cannot use of what is left, each kind weighted by its
// count. A kind that does not fit can use nothing; one that fits can use all GPUs except those
// with too little left.
func (w *workload) fragment(cpu int64, f *free, model uint32) int64 {
	left, below, i := int64(0), int64(0), 0
	for _, one := range f.each[:f.n] {
		left += int64(one)
	}
	sum := w.cpuOnly * left
	for k := range w.gpu {
		t := &w.gpu[k]
		for i < f.n && int64(f.each[i]) < t.milli {
			below += int64(f.each[i])
			i++
		}
		if f.n-i < t.gpus || cpu < t.cpu || t.models&model == 0 {
			sum += t.count * left
		} else {
			sum += t.count * below
		}
	}
	return sum
}

// rate returns the score of a node for a pod, 0 if it does not fit, and for a shared GPU the
// device: the first one that gives the node its score.
func (w *workload) rate(s *state, d gpushare.Demand) (score int64, device int) {
	if !s.Fits(d) {
		return 0, 0
	}
	f := sorted(&s.Node)
	before := w.fragment(s.CPU, &f, s.model)
	after := func(f free) int64 { return w.score(before - w.fragment(s.CPU-d.CPU, &f, s.model)) }
	if !d.Shares() {
		return after(f.without(d.GPUs)), 0
	}
	score = -1
	for i, left := range s.Free[:s.N] {
		if int64(left) < d.Milli || slices.Contains(s.Free[:i], left) {
			continue // a GPU with as much left as an earlier one has the same score
		}
		if rated := after(f.shared(left, int16(d.Milli))); rated > score {
			score, device = rated, i
		}
	}
	return score, device
}
