package interpodaffinity

import (
	"fmt"
	"math"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

const preScoreKey = "PreScore"

// sums is what the pods in each domain of a topology contribute to the score.
type sums struct {
	topology *tally.Topology
	values   []int64 // by domain
}

// preferred is what Score adds up. It does not change after PreScore.
type preferred []sums

// Clone returns the value itself.
func (s preferred) Clone() state.Value { return s }

// PreScore computes what the pod's preferred terms and the terms of placed pods contribute to
// each domain, and skips a pod if there is nothing to add.
func (p *InterPodAffinity) PreScore(c *plugin.Cycle, _ []uint32) *plugin.Status {
	s, err := p.preferred(c)
	if err != nil {
		return plugin.Fail(err)
	}
	if len(s) == 0 {
		return plugin.NewStatus(abi.Skip)
	}
	c.State.Write(Name, preScoreKey, s)
	return nil
}

func (p *InterPodAffinity) preferred(c *plugin.Cycle) (preferred, error) {
	a := c.Pod.Affinity
	if p.ignorePreferred && (a == nil || !a.Preferred.Any && !a.PreferredAnti.Any) {
		return nil, nil
	}
	if a != nil {
		if err := a.Err(); err != nil {
			return nil, fmt.Errorf("failed to parse pod: %w", err)
		}
	}
	p.index.Update(c.Snapshot)
	var out preferred
	if a != nil {
		for i := range a.Preferred.List {
			out = p.weigh(out, a.Preferred.List[i:i+1], 1)
		}
		for i := range a.PreferredAnti.List {
			out = p.weigh(out, a.PreferredAnti.List[i:i+1], -1)
		}
	}
	namespaceLabels, _ := p.index.NamespaceLabels(c.Pod.Namespace)
	p.terms.about(c.Pod, namespaceLabels, false, func(t *placedTerm) {
		out = out.add(t.count, p.worth(t))
	})
	return out, nil
}

// weigh adds the contribution of one of the pod's own terms.
func (p *InterPodAffinity) weigh(out preferred, term []state.PodTerm, sign int64) preferred {
	return out.add(p.count(term, term[0].TopologyKey), sign*int64(term[0].Weight))
}

// worth is what a placed pod with a term contributes to its domain.
func (p *InterPodAffinity) worth(t *placedTerm) int64 {
	switch t.role {
	case attracts:
		return int64(p.hardWeight)
	case avoids:
		return -int64(t.Weight)
	}
	return int64(t.Weight)
}

// add gives each domain the weight of its pods. Pods of weight 0 still prevent Skip.
func (s preferred) add(count *tally.Count, weight int64) preferred {
	if count.Total() == 0 {
		return s
	}
	topology := count.Scope().Topology()
	at := 0
	for at < len(s) && s[at].topology != topology {
		at++
	}
	if at == len(s) {
		s = append(s, sums{topology: topology, values: make([]int64, topology.Domains()+1)})
	}
	for domain, n := range count.Each {
		s[at].values[domain] += int64(n) * weight
	}
	return s
}

// Score adds up the sums of the row's domains, which may be negative until Normalize.
func (p *InterPodAffinity) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	s, ok := c.State.Read(Name, preScoreKey).(preferred)
	if !ok {
		var err error
		if s, err = p.preferred(c); err != nil {
			return plugin.Fail(err)
		}
	}
	for i := range s {
		sum := &s[i]
		for j, row := range rows {
			out[j] += sum.values[sum.topology.Domain(c.Snapshot, row)]
		}
	}
	return nil
}

// Normalize scales linearly so that the highest sum gets 100 and the lowest 0; all get 0 if the
// sums are equal.
func (p *InterPodAffinity) Normalize(_ *plugin.Cycle, _ []uint32, scores []int64) *plugin.Status {
	var least, most int64 = math.MaxInt64, math.MinInt64
	for _, s := range scores {
		least, most = min(least, s), max(most, s)
	}
	for i, s := range scores {
		if scores[i] = 0; most > least {
			scores[i] = int64(float64(abi.MaxScore) * (float64(s-least) / float64(most-least)))
		}
	}
	return nil
}
