package bench

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// Outcome summarizes a pass, to check that both do the same work.
type Outcome struct {
	Feasible int
	Total    int64 // of normalised scores
}

// stride is the distance between the pods that change: a prime.
const stride = 7919

// Ours is a plugin of Berth on the world's snapshot.
type Ours struct {
	world    *world.World
	placed   []*v1.Pod
	plugin   plugin.Plugin
	pods     []*state.Pod
	rows     []uint32
	fits     []uint32
	scores   []int64
	verdicts plugin.Verdicts
}

// NewOurs creates it.
func NewOurs(w *world.World, name string, pods []*v1.Pod) (*Ours, error) {
	p, err := native.New(w, name, nil, native.Bindings{})
	if err != nil {
		return nil, err
	}
	o := &Ours{world: w, plugin: p}
	_, o.placed = w.Objects()
	for _, pod := range pods {
		o.pods = append(o.pods, state.NewPod(pod))
	}
	for i := range w.Snapshot.Len() {
		o.rows = append(o.rows, uint32(i))
	}
	return o, nil
}

// Change removes a pod from a node and adds it again, so that one node of the snapshot has
// changed, as between two decisions. i selects the pod.
func (o *Ours) Change(i int) error {
	pod := state.NewPod(o.placed[i*stride%len(o.placed)])
	o.world.Cache.RemovePod(pod.UID)
	_, err := o.world.Cache.AddPod(pod)
	o.world.Cache.UpdateSnapshot(o.world.Snapshot)
	return err
}

// Run runs the i-th pod from PreFilter to NormalizeScore.
func (o *Ours) Run(i int) (Outcome, error) {
	c := &plugin.Cycle{Context: context.Background(), Snapshot: o.world.Snapshot, Pod: o.pods[i%len(o.pods)], State: &state.CycleState{}}
	rows, skip := o.rows, false
	if p, ok := o.plugin.(plugin.PreFilter); ok {
		set, status := p.PreFilter(c)
		if skip = status.Is(abi.Skip); !skip && !status.Success() {
			return Outcome{}, status.AsError()
		}
		if set != nil {
			rows = set
		}
	}
	score, scores := o.plugin.(plugin.Score)
	fits, out := rows, Outcome{Feasible: len(rows)}
	if p, ok := o.plugin.(plugin.Filter); ok && !skip {
		o.verdicts.Reset(len(rows))
		p.Filter(c, rows, &o.verdicts)
		if !scores {
			return Outcome{Feasible: accepted(o.verdicts.Codes[:len(rows)])}, nil
		}
		fits = o.fits[:0]
		for j, code := range o.verdicts.Codes[:len(rows)] {
			if code == abi.Success {
				fits = append(fits, rows[j])
			}
		}
		o.fits, out.Feasible = fits, len(fits)
	}
	if p, ok := o.plugin.(plugin.PreScore); ok {
		if status := p.PreScore(c, fits); status.Is(abi.Skip) {
			return out, nil
		} else if !status.Success() {
			return out, status.AsError()
		}
	}
	if !scores || len(fits) == 0 {
		return out, nil
	}
	if cap(o.scores) < len(fits) {
		o.scores = make([]int64, len(o.rows))
	}
	values := o.scores[:len(fits)]
	clear(values)
	if status := score.Score(c, fits, values); !status.Success() {
		return out, status.AsError()
	}
	if n, ok := o.plugin.(plugin.Normalize); ok {
		if status := n.Normalize(c, fits, values); !status.Success() {
			return out, status.AsError()
		}
	}
	for _, value := range values {
		out.Total += value
	}
	return out, nil
}

// accepted counts the rows that fit.
func accepted(codes []abi.Code) (n int) {
	for _, code := range codes {
		if code == abi.Success {
			n++
		}
	}
	return n
}
