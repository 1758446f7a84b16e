package tally

import "slices"

// NamespaceLabels returns the labels of a namespace; false if the index has no object for it.
// The map must not be changed.
func (x *Index) NamespaceLabels(name string) (map[string]string, bool) {
	row, ok := x.snapshot.NamespaceRow(name)
	if !ok {
		return nil, false
	}
	return x.snapshot.Namespaces.Namespace[row].Labels, true
}

// nameNamespaces records which row is which namespace.
func (x *Index) nameNamespaces() {
	t := &x.snapshot.Namespaces
	x.namespaces = grow(x.namespaces[:0], t.Len())
	for row := range x.namespaces {
		x.nameNamespace(row)
	}
}

func (x *Index) nameNamespace(row int) {
	if ns := x.snapshot.Namespaces.Namespace[row]; ns != nil {
		x.namespaces[row] = ns.Name
	} else {
		x.namespaces[row] = ""
	}
}

// updateNamespaces re-evaluates counts of several namespaces against the groups of changed
// namespaces, because the counts may select namespaces by label.
func (x *Index) updateNamespaces() {
	rows, known := x.snapshot.NamespaceChanges(x.generation)
	if !known {
		x.nameNamespaces()
		for name := range x.members {
			x.reconsider(name)
		}
		return
	}
	for _, row := range rows {
		x.namespaces = grow(x.namespaces, int(row)+1)
		before := x.namespaces[row]
		x.nameNamespace(int(row))
		x.reconsider(before)
		if now := x.namespaces[row]; now != before {
			x.reconsider(now)
		}
	}
}

// reconsider updates which counts cover the groups of a namespace.
func (x *Index) reconsider(namespace string) {
	for _, g := range x.members[namespace] {
		for _, c := range x.wide {
			x.work.Matches++
			at := slices.Index(g.counts, c)
			switch is := c.about.Match(g); {
			case is && at < 0:
				g.counts = append(g.counts, c)
				x.addGroup(c, g, 1)
			case !is && at >= 0:
				g.counts = slices.Delete(g.counts, at, at+1)
				x.addGroup(c, g, -1)
			}
		}
	}
}

// addGroup adds the pods of a group to a count, or subtracts them.
func (x *Index) addGroup(c *Count, g *Group, n int32) {
	for at := g.first; at != noSlot; at = x.slots[at].next {
		x.work.Pods++
		c.add(c.scope.at[x.slots[at].row], n)
	}
}
