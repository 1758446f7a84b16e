package cache

import (
	"iter"

	"github.com/berth-scheduler/berth/runtime/state"
)

// namespaces has the namespaces of the cluster and their rows.
type namespaces struct {
	rows  map[string]uint32
	infos []state.NamespaceInfo // by row; free rows have no Namespace, and dirty ones an old sum
	free  slots

	dirty marks // rows that have changed, or their sums, since the last update of the snapshot
	// scratch is the last result of changed.
	scratch []state.NamespaceInfo
}

// AddNamespace adds a namespace, or replaces its object if it is known. Pods may exist before
// their namespace, and without it.
func (c *Cache) AddNamespace(object *state.Namespace) {
	n := &c.namespaces
	row, ok := n.rows[object.Name]
	if !ok {
		row = n.free.take()
		n.rows[object.Name] = row
	}
	if int(row) == len(n.infos) {
		n.infos = append(n.infos, state.NamespaceInfo{})
	}
	was := &n.infos[row]
	info := state.NamespaceInfo{
		Namespace: object, Row: row, Generation: c.next(), RequestedGeneration: was.RequestedGeneration,
		Cells: was.Cells, Feeds: was.Feeds, FeedsGeneration: was.FeedsGeneration,
	}
	if !ok { // the row is that of another namespace's sum
		info.RequestedGeneration = c.account.next()
	}
	n.set(info)
	c.showFeedsOf(&n.infos[row])
}

// RemoveNamespace removes a namespace and returns its object; false if there is none.
func (c *Cache) RemoveNamespace(name string) (*state.Namespace, bool) {
	n := &c.namespaces
	row, ok := n.rows[name]
	if !ok {
		return nil, false
	}
	object := n.infos[row].Namespace
	delete(n.rows, name)
	n.free.give(row)
	n.set(state.NamespaceInfo{Row: row, Generation: c.next(), FeedsGeneration: c.next()})
	return object, true
}

// Namespace returns a namespace.
func (c *Cache) Namespace(name string) (*state.Namespace, bool) {
	row, ok := c.namespaces.rows[name]
	if !ok {
		return nil, false
	}
	return c.namespaces.infos[row].Namespace, true
}

// Namespaces yields the namespaces in the order of rows. The cache must not change meanwhile.
func (c *Cache) Namespaces() iter.Seq[state.NamespaceInfo] {
	return func(yield func(state.NamespaceInfo) bool) {
		c.namespaces.changed(&c.account)
		for _, info := range c.namespaces.infos {
			if info.Namespace != nil && !yield(info) {
				return
			}
		}
	}
}

func (n *namespaces) set(info state.NamespaceInfo) {
	n.infos[info.Row] = info
	n.dirty.add(info.Row)
}

// sumChanged says that the sum of a namespace has changed.
func (n *namespaces) sumChanged(name string, a *account) {
	if row, ok := n.rows[name]; ok {
		n.infos[row].RequestedGeneration = a.next()
		n.dirty.add(row)
	}
}

// changed returns the rows that have changed, with their sums.
func (n *namespaces) changed(a *account) []state.NamespaceInfo {
	n.scratch = n.scratch[:0]
	for _, row := range n.dirty.list {
		if info := &n.infos[row]; info.Namespace != nil {
			info.Requested = a.requested(info.Namespace.Name)
		}
		n.scratch = append(n.scratch, n.infos[row])
	}
	return n.scratch
}
