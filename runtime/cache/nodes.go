package cache

import "github.com/berth-scheduler/berth/runtime/state"

// noRow is the row of a ghost.
const noRow = -1

// node is a node's state and its row.
type node struct {
	info state.NodeInfo
	row  int
}

// AddNode adds a node, or replaces its object if it is known. Pods that were added before their
// node become visible.
func (c *Cache) AddNode(object *state.Node) {
	n := c.nodeOf(object.Name)
	n.info.Node = object
	if n.row == noRow {
		c.attach(n)
	}
	n.info.ObjectGeneration = c.next()
	c.showFeeds(n)
	c.dirty.add(uint32(n.row))
}

// RemoveNode removes a node and returns its object; false if there is none. Pods that are left
// on it stay known, on a ghost, until they are removed.
func (c *Cache) RemoveNode(name string) (*state.Node, bool) {
	n, ok := c.nodes[name]
	if !ok || n.row == noRow {
		return nil, false
	}
	object := n.info.Node
	c.detach(n)
	n.info.Node = nil
	n.info.ObjectGeneration = c.next()
	c.collect(n)
	return object, true
}

// nodeOf returns the node with a name; if there is none, a new ghost.
func (c *Cache) nodeOf(name string) *node {
	n, ok := c.nodes[name]
	if !ok {
		n = &node{row: noRow}
		n.info = state.NodeInfo{
			Name: name, Rank: c.rank(name), ObjectGeneration: c.next(), PodsGeneration: c.next(),
		}
		c.nodes[name] = n
	}
	return n
}

// collect removes a ghost without pods.
func (c *Cache) collect(n *node) {
	if n.row == noRow && len(n.info.Pods) == 0 {
		delete(c.nodes, n.info.Name)
	}
}

// attach makes a ghost the last row and gives its pods slots.
func (c *Cache) attach(n *node) {
	n.row = len(c.rows)
	c.rows = append(c.rows, n)
	c.infos = append(c.infos, &n.info)
	for i := range n.info.Pods {
		n.info.SetSlot(i, c.slots.take())
	}
	c.podsChanged(n)
	c.showNominated(n)
}

// detach makes a row a ghost, frees the slots of its pods, and moves the last row into the gap.
func (c *Cache) detach(n *node) {
	last := len(c.rows) - 1
	if n.row != last {
		moved := c.rows[last]
		c.rows[n.row], c.infos[n.row] = moved, &moved.info
		moved.row = n.row
		c.dirty.add(uint32(n.row))
	}
	c.rows[last], c.infos[last] = nil, nil
	c.rows, c.infos = c.rows[:last], c.infos[:last]
	n.row = noRow
	for i := range n.info.Pods {
		c.release(&n.info.Pods[i])
	}
	c.hideNominated(n)
	c.podsChanged(n)
}

// podsChanged gives a node's pods a new generation.
func (c *Cache) podsChanged(n *node) {
	n.info.PodsGeneration = c.next()
	if n.row != noRow {
		c.dirty.add(uint32(n.row))
	}
}
