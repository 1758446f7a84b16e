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

// Name is metadata.name; Absent for an empty row. Reads `namespaces: name`.
func (n Namespace) Name() ID { return n.c.namespaceName[n.row] }

// Label is the value of a declared label key. Reads `namespaceLabels`.
func (n Namespace) Label(key NamespaceLabel) ID { return n.c.namespaceLabel[key][n.row] }

// Labels are all labels, unordered. Reads `namespaces: labels`.
func (n Namespace) Labels() []Pair { return of(n.c.namespaceLabels, n.c.namespacePairs, n.row) }

// LabelByKey is the value of any label key. Reads `namespaces: labels`.
func (n Namespace) LabelByKey(key ID) ID { return find(n.Labels(), key) }
