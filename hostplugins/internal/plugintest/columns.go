package plugintest

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Weighted is a score plugin with its weight in a profile.
type Weighted struct {
	Plugin plugin.Score
	Weight int64
}

// Columns runs plugins over a snapshot.
type Columns struct {
	Filters []plugin.Filter
	Scores  []Weighted

	cycle    plugin.Cycle
	state    state.CycleState
	verdicts plugin.Verdicts
}

// Run schedules one pod.
func (t *Columns) Run(snapshot *state.Snapshot, pod *state.Pod, r *Result) {
	t.state.Reset()
	t.cycle = plugin.Cycle{Context: context.Background(), Snapshot: snapshot, Pod: pod, State: &t.state}
	r.reset(snapshot.Len(), len(t.Filters), len(t.Scores))
	for i, f := range t.Filters {
		if p, ok := f.(plugin.PreFilter); ok && !t.prepare(i, p, r) {
			r.Feasible = r.Feasible[:0]
			return
		}
	}
	for i, f := range t.Filters {
		if !r.Skipped[i] && len(r.Feasible) > 0 {
			t.filter(i, f, r)
		}
	}
	t.score(r)
}

// prepare calls PreFilter and returns false if it rejected the pod.
func (t *Columns) prepare(i int, p plugin.PreFilter, r *Result) bool {
	rows, status := p.PreFilter(&t.cycle)
	switch {
	case status.Is(abi.Skip):
		r.Skipped[i] = true
	case !status.Success():
		for row := range r.Code {
			r.reject(uint32(row), i, status.Code, status.AllReasons())
		}
		return false
	case rows != nil:
		keep := r.Feasible[:0]
		for _, row := range r.Feasible {
			for len(rows) > 0 && rows[0] < row {
				rows = rows[1:]
			}
			if len(rows) > 0 && rows[0] == row {
				keep = append(keep, row)
			} else {
				r.reject(row, i, abi.UnschedulableAndUnresolvable, nil)
			}
		}
		r.Feasible = keep
	}
	return true
}

func (t *Columns) filter(i int, f plugin.Filter, r *Result) {
	v := &t.verdicts
	v.Reset(len(r.Feasible))
	f.Filter(&t.cycle, r.Feasible, v)
	keep := r.Feasible[:0]
	for j, row := range r.Feasible {
		if v.Codes[j] == abi.Success {
			keep = append(keep, row)
			continue
		}
		r.reject(row, i, v.Codes[j], v.Texts(j))
	}
	r.Feasible = keep
}

func (t *Columns) score(r *Result) {
	r.Total = sized(r.Total, len(r.Feasible))
	for i, w := range t.Scores {
		s := r.score(i)
		if p, ok := w.Plugin.(plugin.PreScore); ok {
			if status := p.PreScore(&t.cycle, r.Feasible); !status.Success() {
				s.skip(status.Code)
				continue
			}
		}
		if status := w.Plugin.Score(&t.cycle, r.Feasible, s.Normal); !status.Success() {
			s.skip(status.Code)
			continue
		}
		if r.KeepRaw {
			s.Raw = append(s.Raw, s.Normal...)
		}
		if n, ok := w.Plugin.(plugin.Normalize); ok {
			n.Normalize(&t.cycle, r.Feasible, s.Normal)
		}
		for j, score := range s.Normal {
			r.Total[j] += score * w.Weight
		}
	}
}

// Snapshot builds a snapshot of nodes and the pods that are placed on them (spec.nodeName).
// Rows are in the order of nodes.
func Snapshot(nodes []*v1.Node, placed []*v1.Pod, namespaces ...*v1.Namespace) *state.Snapshot {
	infos := make([]*state.NodeInfo, len(nodes))
	byName := make(map[string]*state.NodeInfo, len(nodes))
	generation := uint64(0)
	next := func() uint64 { generation++; return generation }
	for i, node := range nodes {
		n := state.NewNode(node)
		infos[i] = &state.NodeInfo{Name: n.Name, Node: n, Rank: uint64(i), ObjectGeneration: next(), PodsGeneration: next()}
		byName[n.Name] = infos[i]
	}
	slot := uint32(0)
	for _, pod := range placed {
		if info := byName[pod.Spec.NodeName]; info != nil {
			info.AddPod(state.PlacedPod{Pod: state.NewPod(pod), Slot: slot, Generation: next()})
			slot++
		}
	}
	s := state.NewSnapshot()
	var known []state.NamespaceInfo
	for i, namespace := range namespaces {
		known = append(known, state.NamespaceInfo{Namespace: state.NewNamespace(namespace), Row: uint32(i), Generation: next()})
	}
	s.Rebuild(infos, known...)
	return s
}
