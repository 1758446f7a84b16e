package tally

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Count is the number of pods in each domain of a scope.
type Count struct {
	scope *Scope
	about About
	key   string
	used  uint64 // Index.uses at the last use

	// A count is a map while few domains have pods, then an array.
	sparse  map[uint32]int32
	dense   []int32
	nonzero int
	total   int64
}

// denseShare: a count turns into an array once more than one in denseShare domains has pods.
const denseShare = 8

// Find returns the count of a key, nil if there is none.
func (x *Index) Find(key []byte) *Count {
	c := x.counts[string(key)]
	if c != nil {
		c.used = x.uses
	}
	return c
}

// About describes which pods a count covers.
type About struct {
	// Namespaces lists the namespaces of the pods, each once; nil means any.
	Namespaces []string
	// Selector matches all of these pods.
	Selector labels.Selector
	// Match decides for a group in these namespaces that Selector matches, or may match. If it
	// reads namespace labels, Namespaces must be nil.
	Match func(*Group) bool
}

// Count creates the count of a key that Find does not have. The key must be different for
// counts that differ in any way.
func (x *Index) Count(key []byte, scope *Scope, about About) *Count {
	x.evict()
	c := x.newCount(scope)
	c.key, c.about = string(key), about
	x.counts[c.key] = c
	for b := range c.buckets {
		x.buckets[b] = append(x.buckets[b], c)
	}
	if about.Namespaces == nil {
		x.wide = append(x.wide, c)
		for _, g := range x.groups {
			x.enlist(g, c)
		}
		return c
	}
	for _, namespace := range about.Namespaces {
		for _, g := range x.members[namespace] {
			x.enlist(g, c)
		}
	}
	return c
}

// buckets calls yield with the buckets under which the count is filed.
func (c *Count) buckets(yield func(Bucket) bool) {
	if c.about.Namespaces == nil {
		yield(Bucket{}.With(c.about.Selector))
		return
	}
	for _, namespace := range c.about.Namespaces {
		if !yield(Bucket{Namespace: namespace}.With(c.about.Selector)) {
			return
		}
	}
}

// enlist adds a group with all of its pods to a count, if the count covers it.
func (x *Index) enlist(g *Group, c *Count) {
	x.work.Matches++
	if c.about.Match(g) {
		g.counts = append(g.counts, c)
		x.addGroup(c, g, 1)
	}
}

// Own creates a count without key or match, for Join.
func (x *Index) Own(scope *Scope) *Count { return x.newCount(scope) }

// Join adds a new group to a count; a group that joins twice is counted twice.
func (*Index) Join(g *Group, c *Count) { g.counts = append(g.counts, c) }

// Disown releases a count that Own created and that no group belongs to any more.
func (*Index) Disown(c *Count) { c.scope.counts-- }

func (x *Index) newCount(scope *Scope) *Count {
	c := &Count{scope: scope, used: x.uses}
	scope.counts++
	x.made++
	if n := scope.topology.size(); n <= x.config.FewDomains {
		c.dense = make([]int32, n+1)
	} else {
		c.sparse = make(map[uint32]int32)
	}
	return c
}

// add adds n pods to a domain.
func (c *Count) add(domain uint32, n int32) {
	if domain == Nowhere {
		return
	}
	c.total += int64(n)
	var before, after int32
	if c.sparse == nil {
		c.dense = grow(c.dense, int(domain)+1)
		before = c.dense[domain]
		after = before + n
		c.dense[domain] = after
	} else {
		before = c.sparse[domain]
		if after = before + n; after == 0 {
			delete(c.sparse, domain)
		} else {
			c.sparse[domain] = after
		}
	}
	switch {
	case before == 0:
		c.nonzero++
	case after == 0:
		c.nonzero--
	}
	if c.sparse != nil && len(c.sparse)*denseShare > c.scope.topology.size() {
		c.dense = c.Fill(make([]int32, c.scope.topology.size()+1))
		c.sparse = nil
	}
}

// Scope returns the scope of the count.
func (c *Count) Scope() *Scope { return c.scope }

// At returns the number of pods in a domain.
func (c *Count) At(domain uint32) int32 {
	if c.sparse != nil {
		return c.sparse[domain]
	}
	if int(domain) < len(c.dense) {
		return c.dense[domain]
	}
	return 0
}

// Total returns the number of pods in all domains.
func (c *Count) Total() int64 { return c.total }

// Each calls yield with each domain that has pods, and how many.
func (c *Count) Each(yield func(domain uint32, n int32) bool) {
	for domain, n := range c.sparse {
		if !yield(domain, n) {
			return
		}
	}
	for domain, n := range c.dense {
		if n != 0 && !yield(uint32(domain), n) {
			return
		}
	}
}

// Dense returns the counts by domain. The array may be shorter than there are
// domains, is valid until the next Update, and must not be changed.
func (c *Count) Dense() []int32 {
	if c.sparse == nil {
		return c.dense
	}
	return c.Fill(make([]int32, c.scope.topology.size()+1))
}

// Fill sets counts by domain in an array of zeros.
func (c *Count) Fill(out []int32) []int32 {
	for domain, n := range c.Each {
		out[domain] = n
	}
	return out
}

// Least returns the smallest number of pods in a domain with an eligible node; false if there
// is no such domain.
func (c *Count) Least() (least int32, ok bool) {
	if c.scope.domains == 0 {
		return 0, false
	}
	if c.nonzero < c.scope.domains {
		return 0, true
	}
	first := true
	for _, n := range c.Each {
		if first || n < least {
			least, first = n, false
		}
	}
	return least, true
}

// LeastBut returns the same, excluding some domains.
func (c *Count) LeastBut(domains ...uint32) (least int32, ok bool) {
	for d, rows := range c.scope.rows {
		if rows == 0 || slices.Contains(domains, uint32(d)) {
			continue
		}
		if n := c.At(uint32(d)); !ok || n < least {
			least, ok = n, true
		}
		if least == 0 {
			break
		}
	}
	return least, ok
}

// size is the highest domain number.
func (t *Topology) size() int {
	if t.domains == nil {
		return len(t.of)
	}
	return len(t.domains)
}
