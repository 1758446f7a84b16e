package podtopologyspread

import (
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

const preScoreKey = "PreScore"

// preference is one soft constraint of the pod.
type preference struct {
	topology *tally.Topology
	byNode   bool    // counts are by row, not by domain
	counts   []int32 // zero beyond the end
	empty    uint32  // domain that is merged with Absent; 0 for none
	skew     float64 // maxSkew - 1
	weight   float64
}

// soft is what Score adds up. It does not change after PreScore.
type soft struct {
	preferences []preference
	// all means that nodes which lack one of the labels are not scored.
	all bool
}

// Clone returns the value itself.
func (s *soft) Clone() state.Value { return s }

// PreScore counts the pods that soft constraints select, and skips pods without
// any.
func (p *PodTopologySpread) PreScore(c *plugin.Cycle, rows []uint32) *plugin.Status {
	s, err := p.soft(c, rows)
	if err != nil {
		return plugin.Fail(err)
	}
	if s == nil {
		return plugin.NewStatus(abi.Skip)
	}
	c.State.Write(Name, preScoreKey, s)
	return nil
}

// soft returns what Score adds up for the feasible rows, nil for nothing.
func (p *PodTopologySpread) soft(c *plugin.Cycle, rows []uint32) (*soft, error) {
	if c.Snapshot.Len() == 0 {
		return nil, nil
	}
	constraints, err := p.constraints(c.Pod, v1.ScheduleAnyway)
	if err != nil {
		return nil, fmt.Errorf("calculating preScoreState: %w", err)
	}
	if len(constraints) == 0 {
		return nil, nil
	}
	p.index.Update(c.Snapshot)
	// With kube-scheduler's own default constraints, nodes without a zone are scored as well.
	out := &soft{preferences: make([]preference, len(constraints)), all: len(c.Pod.Spread) > 0 || !p.system}
	var keys []string
	if out.all {
		keys = keysOf(constraints)
	}
	for i := range constraints {
		from := &constraints[i]
		to := &out.preferences[i]
		*to = preference{topology: p.index.Topology(from.TopologyKey), skew: float64(from.MaxSkew - 1)}
		if to.byNode = byHostname(from); to.byNode {
			to.counts = p.onNodes(c.Pod, from).Dense()
			continue
		}
		to.counts = p.count(c.Pod, from, keys, !out.all).Dense()
		if !out.all {
			to.empty = to.topology.DomainOf(c.Snapshot, "")
		}
	}
	p.rated = out.weigh(c.Snapshot, rows, p.rated[:0])
	return out, nil
}

// weigh sets the weights, which grow with the number of domains that the feasible rows are in,
// so that pods in a few large domains do not count for less than those in many small ones.
// rated is a buffer, and is returned grown.
func (s *soft) weigh(snapshot *state.Snapshot, rows, rated []uint32) []uint32 {
	for _, row := range rows {
		if !s.all || s.hasLabels(snapshot, row) {
			rated = append(rated, row)
		}
	}
	for i := range s.preferences {
		p := &s.preferences[i]
		domains := len(rated)
		if !p.byNode {
			domains = p.domains(snapshot, rated)
		}
		p.weight = math.Log(float64(domains + 2))
	}
	return rated
}

// domains counts the domains of rows. Rows without the label are one domain, together with
// those whose label is empty.
func (p *preference) domains(snapshot *state.Snapshot, rows []uint32) (n int) {
	seen := make([]uint64, p.topology.Domains()/64+1)
	for _, row := range rows {
		domain := p.topology.Domain(snapshot, row)
		if domain == tally.Absent {
			domain = p.empty
		}
		if bit := uint64(1) << (domain % 64); seen[domain/64]&bit == 0 {
			seen[domain/64] |= bit
			n++
		}
	}
	return n
}

// hasLabels reports whether a row has the labels of all constraints.
func (s *soft) hasLabels(snapshot *state.Snapshot, row uint32) bool {
	for i := range s.preferences {
		if s.preferences[i].topology.Domain(snapshot, row) == tally.Absent {
			return false
		}
	}
	return true
}

// Score adds up the weighted numbers of pods in the row's domains: lower is better until
// Normalize inverts the order.
func (p *PodTopologySpread) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	s, ok := c.State.Read(Name, preScoreKey).(*soft)
	if !ok {
		var err error
		if s, err = p.soft(c, rows); err != nil {
			return plugin.Fail(err)
		}
		if s == nil {
			return nil
		}
	}
	for i, row := range rows {
		out[i] = s.rate(c.Snapshot, row)
	}
	return nil
}

// rate computes the score of one row; 0 for one that is not scored.
func (s *soft) rate(snapshot *state.Snapshot, row uint32) int64 {
	var score float64
	for i := range s.preferences {
		p := &s.preferences[i]
		domain := p.topology.Domain(snapshot, row)
		if domain == tally.Absent {
			if s.all {
				return 0
			}
			continue
		}
		var n int64
		if p.byNode {
			n = p.at(row + 1)
		} else if n = p.at(domain); domain == p.empty {
			n += p.at(tally.Absent)
		}
		score += float64(float64(n)*p.weight) + p.skew // the conversion keeps a compiler from fusing product and sum
	}
	return int64(math.Round(score))
}

func (p *preference) at(domain uint32) int64 {
	if int(domain) < len(p.counts) {
		return int64(p.counts[domain])
	}
	return 0
}

// Normalize gives rows with the lowest sum 100, others less in proportion to the highest, and
// rows that are not scored 0.
func (p *PodTopologySpread) Normalize(c *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	s, ok := c.State.Read(Name, preScoreKey).(*soft)
	if !ok {
		return nil // not prepared by PreScore
	}
	const unrated = -1 // as in kube-scheduler, also for a score with just this value
	var least, most int64 = math.MaxInt64, 0
	for i, row := range rows {
		if s.all && !s.hasLabels(c.Snapshot, row) {
			scores[i] = unrated
			continue
		}
		least, most = min(least, scores[i]), max(most, scores[i])
	}
	for i, score := range scores {
		switch {
		case score == unrated:
			scores[i] = abi.MinScore
		case most == 0:
			scores[i] = abi.MaxScore
		default:
			scores[i] = abi.MaxScore * (most + least - score) / most
		}
	}
	return nil
}
