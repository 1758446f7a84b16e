package interpodaffinity

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

const preFilterKey = "PreFilter"

// domains is a topology and the counted pods in each of its domains. It does not change after
// PreFilter.
type domains struct {
	key      string
	topology *tally.Topology
	counts   []*tally.Count // to be added up
	some     []uint64       // a bit for each domain with a pod
}

// kind identifies which of the pod's checks a what-if changes.
type kind uint8

const (
	affinity kind = iota
	antiAffinity
	existing
)

// change records pods that a what-if added to or removed from a domain.
type change struct {
	kind       kind
	key, value uint32 // string ids
	delta      int64
}

// required is what Filter checks.
type required struct {
	*checks
	changes []change
}

// checks is the part that what-ifs share.
type checks struct {
	namespaceLabels map[string]string // of the pod's namespace
	// affinity has one element for each topology key of the terms; a counted pod must match all
	// terms. anti and existing have one for each topology key of any term.
	affinity, anti, existing []domains
	matches                  int64 // number of pods counted by affinity, in all domains
	self                     bool  // the pod matches its own affinity terms
}

// Clone copies what AddPod and RemovePod change.
func (r *required) Clone() state.Value {
	return &required{checks: r.checks, changes: slices.Clone(r.changes)}
}

// PreFilter counts the pods that the pod's required terms match, and the placed pods whose
// required anti-affinity matches the pod. It skips a pod if there are neither.
func (p *InterPodAffinity) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if a := c.Pod.Affinity; a != nil {
		if err := a.Err(); err != nil {
			return nil, plugin.NewStatus(abi.UnschedulableAndUnresolvable, "parsing pod: "+err.Error())
		}
	}
	r := p.required(c)
	if r == nil {
		return nil, plugin.NewStatus(abi.Skip)
	}
	c.State.Write(Name, preFilterKey, r)
	return nil, nil
}

// required returns what Filter checks, nil for nothing.
func (p *InterPodAffinity) required(c *plugin.Cycle) *required {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index.Update(c.Snapshot)
	var k checks
	k.namespaceLabels, _ = p.index.NamespaceLabels(c.Pod.Namespace)
	if a := c.Pod.Affinity; a != nil {
		own := a.Required.List
		for i := range own {
			key := own[i].TopologyKey
			if slices.ContainsFunc(k.affinity, func(d domains) bool { return d.key == key }) {
				continue
			}
			count := p.count(own, key)
			k.affinity = add(k.affinity, key, count)
			k.matches += count.Total()
		}
		k.self = len(own) > 0 && p.selects(own, c.Pod.Namespace, c.Pod.Object.Labels)
		for i := range a.RequiredAnti.List {
			t := &a.RequiredAnti.List[i]
			k.anti = add(k.anti, t.TopologyKey, p.count(a.RequiredAnti.List[i:i+1], t.TopologyKey))
		}
	}
	p.terms.about(c.Pod, k.namespaceLabels, true, func(t *placedTerm) {
		if t.count.Total() > 0 {
			k.existing = add(k.existing, t.TopologyKey, t.count)
		}
	})
	if len(k.affinity) == 0 && len(k.anti) == 0 && len(k.existing) == 0 {
		return nil
	}
	for _, list := range [][]domains{k.affinity, k.anti, k.existing} {
		for i := range list {
			list[i].mark()
		}
	}
	shared := k // allocate on the heap only here
	return &required{checks: &shared}
}

// add adds a count to the counts of its topology key.
func add(list []domains, key string, count *tally.Count) []domains {
	for i := range list {
		if list[i].key == key {
			list[i].counts = append(list[i].counts, count)
			return list
		}
	}
	return append(list, domains{key: key, topology: count.Scope().Topology(), counts: []*tally.Count{count}})
}

// mark finds the domains that have pods.
func (d *domains) mark() {
	d.some = make([]uint64, d.topology.Domains()/64+1)
	for _, count := range d.counts {
		for domain := range count.Each {
			d.some[domain/64] |= 1 << (domain % 64)
		}
	}
}

// has reports whether a domain has pods.
func (d *domains) has(domain uint32) bool { return d.some[domain/64]&(1<<(domain%64)) != 0 }

// total returns the number of pods in a domain.
func (d *domains) total(domain uint32) (n int64) {
	for _, count := range d.counts {
		n += int64(count.At(domain))
	}
	return n
}

// Filter rejects nodes on which the pod's affinity, its anti-affinity or that of placed pods is
// violated, checked in this order.
func (p *InterPodAffinity) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	r, ok := c.State.Read(Name, preFilterKey).(*required)
	if !ok {
		if r = p.required(c); r == nil {
			return
		}
	}
	var reasons [3]uint16
	reject := func(i int, k kind) {
		if reasons[k] == 0 {
			reasons[k] = out.Reason([...][]string{affinity: p.affinity, antiAffinity: p.anti, existing: p.existing}[k]...)
		}
		code := abi.Unschedulable
		if k == affinity {
			code = abi.UnschedulableAndUnresolvable
		}
		out.Reject(i, code, reasons[k])
	}
	if len(r.changes) > 0 {
		for i, row := range rows {
			if k, fits := r.judge(c.Snapshot, row); !fits {
				reject(i, k)
			}
		}
		return
	}
	if len(r.affinity) > 0 {
		// The pod is not the first of its kind if any pod matches.
		first := r.self && r.matches == 0
		for i, row := range rows {
			if !r.near(c.Snapshot, row, first) {
				reject(i, affinity)
			}
		}
	}
	for k, list := range [...][]domains{antiAffinity: r.anti, existing: r.existing} {
		for j := range list {
			d := &list[j]
			for i, row := range rows {
				if d.has(d.topology.Domain(c.Snapshot, row)) && out.Codes[i] == abi.Success {
					reject(i, kind(k))
				}
			}
		}
	}
}

// near reports whether a row satisfies the pod's affinity: it has all labels, and each domain
// has a matching pod, unless the pod is the first of its kind.
func (r *required) near(s *state.Snapshot, row uint32, first bool) bool {
	for i := range r.affinity {
		d := &r.affinity[i]
		domain := d.topology.Domain(s, row)
		if domain == tally.Absent || !first && !d.has(domain) {
			return false
		}
	}
	return true
}

// judge is Filter for one row of a what-if.
func (r *required) judge(s *state.Snapshot, row uint32) (violated kind, fits bool) {
	matches := r.matches
	for _, c := range r.changes {
		if c.kind == affinity {
			matches += c.delta
		}
	}
	first := r.self && matches == 0
	for i := range r.affinity {
		d := &r.affinity[i]
		value := labelOf(s, row, d.key)
		if value == 0 || !first && r.count(s, d, affinity, row) <= 0 {
			return affinity, false
		}
	}
	for i := range r.anti {
		if r.count(s, &r.anti[i], antiAffinity, row) > 0 {
			return antiAffinity, false
		}
	}
	for i := range r.existing {
		if r.count(s, &r.existing[i], existing, row) > 0 {
			return existing, false
		}
	}
	for _, c := range r.changes {
		// Topologies in which no placed pod repels the pod, but one that was added does.
		if c.kind == existing && !slices.ContainsFunc(r.existing, func(d domains) bool { return s.Strings.Lookup(d.key) == c.key }) &&
			r.changed(s, existing, c.key, row) > 0 {
			return existing, false
		}
	}
	return 0, true
}

// count returns the number of pods in a row's domain in a what-if.
func (r *required) count(s *state.Snapshot, d *domains, k kind, row uint32) int64 {
	return d.total(d.topology.Domain(s, row)) + r.changed(s, k, s.Strings.Lookup(d.key), row)
}

// changed returns by how many pods a what-if changed a row's domain.
func (r *required) changed(s *state.Snapshot, k kind, key, row uint32) (n int64) {
	value := s.Nodes.Labels.Key(key).At(row)
	for _, c := range r.changes {
		if c.kind == k && c.key == key && c.value == value {
			n += c.delta
		}
	}
	return n
}

func labelOf(s *state.Snapshot, row uint32, key string) uint32 {
	return s.Nodes.Labels.Key(s.Strings.Lookup(key)).At(row)
}
