package berth

// Namespaces is the namespaces table. Rows may be empty, and their order has no meaning.
type Namespaces struct{ c *columns }

// Len returns the number of rows, including empty ones.
func (n Namespaces) Len() int {
	if n.c.namespaces == nil {
		return 0
	}
	return int(n.c.namespaces.rows)
}

// At returns the i-th row. An empty row has the name Absent.
func (n Namespaces) At(i int) Namespace {
	if uint(i) >= uint(n.Len()) {
		panic("berth: no such namespace")
	}
	return Namespace{c: n.c, row: uint32(i)}
}

// Find returns the namespace with a name, such as a pod's. It scans all rows. Reads
// `namespaces: name`.
func (n Namespaces) Find(name ID) (Namespace, bool) {
	if name == Absent {
		return Namespace{}, false
	}
	for row, known := range n.c.namespaceName[:n.Len()] {
		if known == name {
			return Namespace{c: n.c, row: uint32(row)}, true
		}
	}
	return Namespace{}, false
}

// Namespace is a namespace, as a view of its row.
type Namespace struct {
	c   *columns
	row uint32
}
