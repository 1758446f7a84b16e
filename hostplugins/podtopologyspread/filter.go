package podtopologyspread

import (
	"errors"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

const preFilterKey = "PreFilter"

// check is one hard constraint of the pod. It does not change after PreFilter.
type check struct {
	selector state.PodSelector
	maxSkew  int64
	// minDomains as in state.SpreadConstraint.
	minDomains int32
	self       int64 // 1 if the pod counts itself
	count      *tally.Count
	topology   *tally.Topology
	// over has a bit for each domain with too many pods; rest is the value for higher domains.
	over []uint64
	rest bool
}

// deviation is how a what-if differs from a check. In most cases it has one domain, because a
// what-if is about one node; more domains are handled correctly, but more slowly.
type deviation struct {
	domains []uint32
	deltas  []int32 // pods added or removed, by domain
	others  int64   // the minimum over all other domains
}

// hard is what Filter checks.
type hard struct {
	checks     []check
	deviations []deviation // by check; nil if nothing differs
}

// Clone copies what AddPod and RemovePod change.
func (h *hard) Clone() state.Value {
	c := &hard{checks: h.checks}
	if h.deviations != nil {
		c.deviations = make([]deviation, len(h.deviations))
		for i, t := range h.deviations {
			c.deviations[i] = deviation{domains: slices.Clone(t.domains), deltas: slices.Clone(t.deltas), others: t.others}
		}
	}
	return c
}

// PreFilter counts the pods that hard constraints select, and skips pods without hard
// constraints.
func (p *PodTopologySpread) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	h, err := p.hard(c)
	if err != nil {
		return nil, plugin.Fail(err)
	}
	if h == nil {
		return nil, plugin.NewStatus(abi.Skip)
	}
	c.State.Write(Name, preFilterKey, h)
	return nil, nil
}

// hard returns what Filter checks, nil for nothing.
func (p *PodTopologySpread) hard(c *plugin.Cycle) (*hard, error) {
	constraints, err := p.constraints(c.Pod, v1.DoNotSchedule)
	if err != nil {
		return nil, fmt.Errorf("get constraints from pod: %w", err)
	}
	if len(constraints) == 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index.Update(c.Snapshot)
	h := &hard{checks: make([]check, len(constraints))}
	for i := range constraints {
		from := &constraints[i]
		count := p.count(c.Pod, from, keysOf(constraints), false)
		k := &h.checks[i]
		*k = check{
			selector: from.Selector, maxSkew: int64(from.MaxSkew), minDomains: from.MinDomains,
			count: count, topology: count.Scope().Topology(),
		}
		if from.Selector.Matches(labels.Set(c.Pod.Object.Labels)) {
			k.self = 1
		}
		k.mark()
	}
	return h, nil
}

// least returns the minimum from which skew is measured, given the number of pods of the domain
// with the fewest: 0 while there are fewer than minDomains domains.
func (k *check) least(n int64) int64 {
	if k.count.Scope().Domains() < int(k.minDomains) {
		return 0
	}
	return n
}

// fits reports whether a domain with n pods can take one more.
func (k *check) fits(n, least int64) bool { return n+k.self-least <= k.maxSkew }

// mark finds the domains that have too many pods.
func (k *check) mark() {
	n, ok := k.count.Least()
	least := k.least(orMost(n, ok))
	k.rest = !k.fits(0, least)
	k.over = make([]uint64, k.topology.Domains()/64+1)
	if k.rest {
		for i := range k.over {
			k.over[i] = math.MaxUint64
		}
	}
	for domain, n := range k.count.Each {
		if !k.fits(int64(n), least) {
			k.over[domain/64] |= 1 << (domain % 64)
		} else {
			k.over[domain/64] &^= 1 << (domain % 64)
		}
	}
}

// orMost returns n, or the largest number if there is no domain.
func orMost(n int32, ok bool) int64 {
	if !ok {
		return math.MaxInt32
	}
	return int64(n)
}

// Filter rejects nodes without a constraint's label, and nodes of domains that have too many
// pods. The reason is that of the first violated constraint.
func (p *PodTopologySpread) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	h, ok := c.State.Read(Name, preFilterKey).(*hard)
	if !ok {
		var err error
		if h, err = p.hard(c); err != nil {
			reason := out.Reason(err.Error())
			for i := range rows {
				out.Reject(i, abi.Error, reason)
			}
			return
		}
		if h == nil {
			return
		}
	}
	var noLabel, skewed uint16
	for j := range h.checks {
		k := &h.checks[j]
		var t *deviation
		if h.deviations != nil && len(h.deviations[j].domains) > 0 {
			t = &h.deviations[j]
		}
		for i, row := range rows {
			if out.Codes[i] != abi.Success {
				continue
			}
			domain := k.topology.Domain(c.Snapshot, row)
			switch {
			case domain == tally.Absent:
				if noLabel == 0 {
					noLabel = out.Reason(p.label...)
				}
				out.Reject(i, abi.UnschedulableAndUnresolvable, noLabel)
			case t == nil && k.over[domain/64]&(1<<(domain%64)) != 0, t != nil && !t.fits(k, domain):
				if skewed == 0 {
					skewed = out.Reason(p.skew...)
				}
				out.Reject(i, abi.Unschedulable, skewed)
			}
		}
	}
}

// fits reports whether a domain of a what-if can take one more pod.
func (t *deviation) fits(k *check, domain uint32) bool {
	least, n := t.others, int64(k.count.At(domain))
	for i, d := range t.domains {
		changed := int64(k.count.At(d)) + int64(t.deltas[i])
		least = min(least, changed)
		if d == domain {
			n = changed
		}
	}
	return k.fits(n, k.least(least))
}

// AddPod counts a pod that a what-if adds.
func (p *PodTopologySpread) AddPod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	return p.change(c, overlay, pod, 1)
}

// RemovePod subtracts a pod that a what-if removes.
func (p *PodTopologySpread) RemovePod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	return p.change(c, overlay, pod, -1)
}

// change implements both. As in kube-scheduler it checks only the selector: pods that are being
// deleted, and those of an empty selector, are counted here, though PreFilter does not count
// them.
func (p *PodTopologySpread) change(c *plugin.Cycle, overlay uint32, pod *state.Pod, delta int32) *plugin.Status {
	h, ok := c.State.Read(Name, preFilterKey).(*hard)
	if !ok {
		return plugin.Fail(errors.New("there is no PreFilter state to change"))
	}
	row, ok := c.Snapshot.Row(c.Snapshot.Name(overlay))
	if !ok || pod.Namespace != c.Pod.Namespace {
		return nil
	}
	for i := range h.checks {
		k := &h.checks[i]
		domain := k.count.Scope().At(row)
		if domain == tally.Nowhere || !k.selector.Matches(labels.Set(pod.Object.Labels)) {
			continue
		}
		if h.deviations == nil {
			h.deviations = make([]deviation, len(h.checks))
		}
		h.deviations[i].add(k, domain, delta)
	}
	return nil
}

func (t *deviation) add(k *check, domain uint32, delta int32) {
	at := slices.Index(t.domains, domain)
	if at < 0 {
		at = len(t.domains)
		t.domains, t.deltas = append(t.domains, domain), append(t.deltas, 0)
		t.others = orMost(k.count.LeastBut(t.domains...))
	}
	t.deltas[at] += delta
}
