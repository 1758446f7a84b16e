package plugintest

import (
	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/pernode"
)

// WeightedPerNode is a per-node score with its weight in a profile.
type WeightedPerNode struct {
	Score  pernode.Score
	Weight int64
}

// Objects runs per-node filters and scores over the API's objects.
type Objects struct {
	Filters []pernode.Filter
	Scores  []WeightedPerNode
}

// Run schedules one pod. A node is dropped at the first filter that rejects it.
func (t *Objects) Run(nodes []*pernode.Node, pod *v1.Pod, r *Result) {
	r.reset(len(nodes), len(t.Filters), len(t.Scores))
	for i, f := range t.Filters {
		if c, ok := f.(pernode.Clusterwide); ok {
			c.See(nodes, nil)
		}
		names, code, reason := f.Prepare(pod)
		switch {
		case code == abi.Skip:
			r.Skipped[i] = true
		case code != abi.Success:
			for row := range nodes {
				r.reject(uint32(row), i, code, []string{reason})
			}
			r.Feasible = r.Feasible[:0]
			return
		case names != nil:
			keep := r.Feasible[:0]
			for _, row := range r.Feasible {
				if names[nodes[row].Object.Name] {
					keep = append(keep, row)
				} else {
					r.reject(row, i, abi.UnschedulableAndUnresolvable, nil)
				}
			}
			r.Feasible = keep
		}
	}
	keep := r.Feasible[:0]
	for _, row := range r.Feasible {
		if t.filter(nodes[row], row, r) {
			keep = append(keep, row)
		}
	}
	r.Feasible = keep
	t.score(nodes, pod, r)
}

func (t *Objects) filter(n *pernode.Node, row uint32, r *Result) bool {
	for i, f := range t.Filters {
		if r.Skipped[i] {
			continue
		}
		if code, reasons := f.Filter(n); code != abi.Success {
			r.reject(row, i, code, reasons)
			return false
		}
	}
	return true
}

func (t *Objects) score(nodes []*pernode.Node, pod *v1.Pod, r *Result) {
	r.Total = sized(r.Total, len(r.Feasible))
	for i, w := range t.Scores {
		s := r.score(i)
		if c, ok := w.Score.(pernode.Clusterwide); ok {
			feasible := make([]*pernode.Node, len(r.Feasible))
			for j, row := range r.Feasible {
				feasible[j] = nodes[row]
			}
			c.See(nodes, feasible)
		}
		if code := w.Score.Prepare(pod); code != abi.Success {
			s.skip(code)
			continue
		}
		for j, row := range r.Feasible {
			s.Normal[j] = w.Score.Score(nodes[row])
		}
		if r.KeepRaw {
			s.Raw = append(s.Raw, s.Normal...)
		}
		w.Score.Normalize(s.Normal)
		for j, score := range s.Normal {
			r.Total[j] += score * w.Weight
		}
	}
}
