package tally

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Absent is the domain of a node that does not have the label of a topology.
const Absent = 0

// Nowhere is the domain of a row that a scope excludes.
const Nowhere = ^uint32(0)

// Topology numbers the values of a node label, which are its domains, from 1 on. A value keeps
// its number even when no node has it any more.
type Topology struct {
	key     string
	domains map[uint32]uint32 // by value id; nil for the topology of rows
	of      []uint32          // by row
	used    uint64            // Index.uses at the last use
}

// Topology returns the topology of a label key.
func (x *Index) Topology(key string) *Topology {
	t := x.topologies[key]
	if t == nil {
		t = &Topology{key: key, domains: make(map[uint32]uint32), of: make([]uint32, len(x.rows))}
		x.work.Rows += uint64(len(x.rows))
		column := x.snapshot.Nodes.Labels.Key(x.snapshot.Strings.Lookup(key))
		for r := range t.of {
			t.of[r] = t.number(column.At(uint32(r)))
		}
		x.topologies[key] = t
		x.made++
	}
	t.used = x.uses
	return t
}

// addRows adds rows to the topology in which each node is a domain, whatever its labels.
func (t *Topology) addRows(n int) {
	for r := len(t.of); r < n; r++ {
		t.of = append(t.of, uint32(r)+1)
	}
}

// number returns the domain of a value id, creating it if necessary.
func (t *Topology) number(value uint32) uint32 {
	if value == 0 {
		return Absent
	}
	domain, ok := t.domains[value]
	if !ok {
		domain = uint32(len(t.domains)) + 1
		t.domains[value] = domain
	}
	return domain
}

// Domain returns the domain of a row, which may be an overlay; Absent also for a value that no
// node has.
func (t *Topology) Domain(s *state.Snapshot, row uint32) uint32 {
	if int(row) < len(t.of) {
		return t.of[row]
	}
	return t.overlay(s, row)
}

func (t *Topology) overlay(s *state.Snapshot, row uint32) uint32 {
	return t.domains[s.Nodes.Labels.Key(s.Strings.Lookup(t.key)).At(row)]
}

// DomainOf returns the domain of a value; Absent if no node has it.
func (t *Topology) DomainOf(s *state.Snapshot, value string) uint32 {
	return t.domains[s.Strings.Lookup(value)]
}

// Domains returns the highest domain number.
func (t *Topology) Domains() int { return len(t.domains) }

func (t *Topology) drop(r uint32) { t.of[r] = Absent }

// Eligible decides which nodes count.
type Eligible interface {
	// Match sets out[i] to 1 if rows[i] counts, else to 0. Strings may have been added to the
	// dictionary since the last call.
	Match(s *state.Snapshot, rows []uint32, out []uint8)
}

// Scope is the set of nodes that count, and their domains.
type Scope struct {
	topology *Topology
	eligible Eligible // nil for all nodes
	absent   bool
	at       []uint32 // by row: its domain, or Nowhere
	rows     []int32  // by domain: the number of rows that count
	domains  int      // that have rows, including Absent if it counts
	counts   int      // that use the scope
	used     uint64   // Index.uses at the last time
}

// Scope returns the scope of a key, creating it from the eligible nodes; a nil eligible means
// all nodes. Nodes without the label count, in domain Absent, only if absent is true. The key
// must be different for scopes that differ in any way.
func (x *Index) Scope(key string, topology *Topology, eligible Eligible, absent bool) *Scope {
	return x.scope("s"+key, topology, eligible, absent)
}

// Everywhere returns the scope of all nodes with a topology's label.
func (x *Index) Everywhere(topology *Topology) *Scope {
	return x.scope("l"+topology.key, topology, nil, false)
}

// Nodes returns the scope of all nodes, each its own domain: that of row r is r+1.
func (x *Index) Nodes() *Scope {
	if x.byRow == nil {
		x.byRow = &Topology{}
	}
	x.byRow.addRows(len(x.rows))
	return x.scope("r", x.byRow, nil, false)
}

func (x *Index) scope(key string, topology *Topology, eligible Eligible, absent bool) *Scope {
	if scope := x.scopes[key]; scope != nil {
		scope.used = x.uses
		return scope
	}
	scope := &Scope{topology: topology, eligible: eligible, absent: absent, at: make([]uint32, len(x.rows)), used: x.uses}
	x.work.Rows += uint64(len(x.rows))
	rows, match := make([]uint32, len(x.rows)), make([]uint8, len(x.rows))
	for r := range rows {
		rows[r], match[r] = uint32(r), 1
	}
	if eligible != nil {
		eligible.Match(x.snapshot, rows, match)
	}
	for r := range rows {
		scope.at[r] = scope.domain(topology.of[r], match[r] != 0)
		scope.adjust(scope.at[r], 1)
	}
	x.scopes[key] = scope
	x.made++
	return scope
}

// Topology returns the scope's topology.
func (s *Scope) Topology() *Topology { return s.topology }

// Domains returns the number of domains with a node that counts.
func (s *Scope) Domains() int { return s.domains }

// At returns the domain of a row, Nowhere if the row does not count.
func (s *Scope) At(row uint32) uint32 { return s.at[row] }

// domain returns what the scope stores for a row of a domain.
func (s *Scope) domain(domain uint32, match bool) uint32 {
	if !match || domain == Absent && !s.absent {
		return Nowhere
	}
	return domain
}

// adjust counts a row that was added to or removed from a domain.
func (s *Scope) adjust(domain uint32, n int32) {
	if domain == Nowhere {
		return
	}
	s.rows = grow(s.rows, int(domain)+1)
	before := s.rows[domain]
	s.rows[domain] += n
	switch {
	case before == 0:
		s.domains++
	case s.rows[domain] == 0:
		s.domains--
	}
}

func (s *Scope) drop(r uint32) {
	s.adjust(s.at[r], -1)
	s.at[r] = Nowhere
}

// relocate finds the domains of a row whose node has changed, and moves the pods that stay on
// it.
func (x *Index) relocate(r uint32) {
	known, t := &x.rows[r], &x.snapshot.Nodes
	before := known.node
	if known.object == t.ObjectGeneration[r] {
		return
	}
	known.object, known.node = t.ObjectGeneration[r], t.Node[r]
	for _, topology := range x.topologies {
		topology.of = grow(topology.of, len(x.rows))
	}
	if x.byRow != nil {
		x.byRow.addRows(len(x.rows))
	}
	for _, scope := range x.scopes {
		for len(scope.at) < len(x.rows) {
			scope.at = append(scope.at, Nowhere)
		}
	}
	if before != nil && sameToScopes(before, known.node) {
		return
	}
	for key, topology := range x.topologies {
		topology.of[r] = topology.number(t.Labels.Key(x.snapshot.Strings.Lookup(key)).At(r))
	}
	rows, match := [1]uint32{r}, [1]uint8{}
	for _, scope := range x.scopes {
		match[0] = 1
		if scope.eligible != nil {
			scope.eligible.Match(x.snapshot, rows[:], match[:])
		}
		was, is := scope.at[r], scope.domain(scope.topology.of[r], match[0] != 0)
		if was == is {
			continue
		}
		scope.at[r] = is
		scope.adjust(was, -1)
		scope.adjust(is, 1)
		x.move(scope, known.slots, r, was, is)
	}
}

// move moves the pods of a row from one domain of a scope to another.
func (x *Index) move(scope *Scope, slots []uint32, r, from, to uint32) {
	for _, at := range slots {
		p := &x.slots[at]
		if p.group == nil || p.row != r {
			continue
		}
		for _, c := range p.group.counts {
			x.work.Pods++
			if c.scope == scope {
				c.add(from, -1)
				c.add(to, 1)
			}
		}
	}
}

// sameToScopes reports whether nothing of a node that a domain or an Eligible may depend on has
// changed: most node updates are heartbeats.
func sameToScopes(a, b *state.Node) bool {
	return a == b || a.Name == b.Name && maps.Equal(a.Object.Labels, b.Object.Labels) &&
		equality.Semantic.DeepEqual(a.Object.Spec.Taints, b.Object.Spec.Taints)
}
