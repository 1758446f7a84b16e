package berth

// Snapshot is the cluster in this call.
type Snapshot struct{ c *columns }

// Epoch identifies the dictionary of string ids.
func (s Snapshot) Epoch() uint64 { return s.c.header.epoch }

// Generation grows with each change of the snapshot.
func (s Snapshot) Generation() uint64 { return s.c.header.generation }

// Seed is this cycle's random number, the only randomness that an answer may
// depend on; 0 for points of scope node.
func (s Snapshot) Seed() uint64 { return s.c.header.seed }

// Nodes returns all nodes of the instance.
func (s Snapshot) Nodes() Nodes {
	n := uint32(0)
	if s.c.nodes != nil {
		n = s.c.nodes.rows
	}
	return Nodes{c: s.c, n: n}
}

// Namespaces returns the namespaces that have an object and that the plugin may see; none in
// the points before pre_filter and from reserve on. Reads `namespaces`.
func (s Snapshot) Namespaces() Namespaces { return Namespaces(s) }

// Nodes is a list of nodes.
type Nodes struct {
	c     *columns
	rows  []uint32 // nil: lo …
	lo, n uint32
}

// Len returns the number of nodes.
func (n Nodes) Len() int { return int(n.n) }

// At returns the i-th node.
func (n Nodes) At(i int) Node {
	if n.rows != nil {
		return Node{c: n.c, row: n.rows[i]}
	}
	if uint(i) >= uint(n.n) {
		panic("berth: no such node")
	}
	return Node{c: n.c, row: n.lo + uint32(i)}
}
