package cache

import (
	"iter"

	"github.com/berth-scheduler/berth/runtime/state"
)

// namespaces has the namespaces of the cluster and their rows.
type namespaces struct {
	rows  map[string]uint32
	infos []state.NamespaceInfo // by row; free rows have no Namespace
	free  slots

	dirty marks // rows that have changed since the last update of the snapshot
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
	n.set(state.NamespaceInfo{Namespace: object, Row: row, Generation: c.next()})
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
	n.set(state.NamespaceInfo{Row: row, Generation: c.next()})
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

// changed returns the rows that have changed.
func (n *namespaces) changed() []state.NamespaceInfo {
	n.scratch = n.scratch[:0]
	for _, row := range n.dirty.list {
		n.scratch = append(n.scratch, n.infos[row])
	}
	return n.scratch
}
