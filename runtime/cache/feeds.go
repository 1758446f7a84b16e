package cache

import (
	"iter"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// feeds has what feeds say, also of nodes that are not known.
type feeds struct {
	names []string // a new list if one is added: snapshots have it, too
	all   []feed
}

// feed has the cells of a feed by the name of a node, or by the value of a label.
type feed struct {
	label string
	cells map[string]state.Cell
}

// SetFeeds takes in what has changed of feeds, and reports whether a node has another cell now. Feeds that are not known are added.
func (c *Cache) SetFeeds(feeds ...state.Feed) (changed bool) {
	for i := range feeds {
		c.setFeed(&feeds[i])
	}
	for _, n := range c.rows {
		changed = c.showFeeds(n) || changed
	}
	return changed
}

func (c *Cache) setFeed(f *state.Feed) {
	number := slices.Index(c.feeds.names, f.Name)
	if number < 0 {
		number = len(c.feeds.names)
		c.feeds.names = append(slices.Clip(c.feeds.names), f.Name)
		c.feeds.all = append(c.feeds.all, feed{cells: make(map[string]state.Cell)})
	}
	to := &c.feeds.all[number]
	if to.label != f.Label { // declared anew
		to.label = f.Label
		clear(to.cells)
	}
	for key, cell := range f.Cells {
		if cell == (state.Cell{}) {
			delete(to.cells, key)
		} else {
			to.cells[key] = cell
		}
	}
}

// Feeds yields all feeds with all of their cells. They belong to the caller.
func (c *Cache) Feeds() iter.Seq[state.Feed] {
	return func(yield func(state.Feed) bool) {
		for i, name := range c.feeds.names {
			f := &c.feeds.all[i]
			if !yield(state.Feed{Name: name, Label: f.label, Cells: maps.Clone(f.cells)}) {
				return
			}
		}
	}
}

// showFeeds gives a node that is a row its cells, and reports whether they differ from what they were.
func (c *Cache) showFeeds(n *node) bool {
	var cells []state.Cell
	for i := range c.feeds.all {
		f := &c.feeds.all[i]
		key := n.info.Name
		if f.label != "" {
			key = n.info.Node.Object.Labels[f.label] // a feed has no cell of an empty value
		}
		cell := f.cells[key]
		if cells == nil && cell == cellOf(n.info.Cells, i) {
			continue
		}
		if cells == nil {
			cells = make([]state.Cell, len(c.feeds.all))
			copy(cells, n.info.Cells)
		}
		cells[i] = cell
	}
	if cells == nil {
		return false
	}
	n.info.Cells, n.info.Feeds, n.info.FeedsGeneration = cells, c.feeds.names, c.next()
	c.dirty.add(uint32(n.row))
	return true
}

func cellOf(cells []state.Cell, i int) state.Cell {
	if i < len(cells) {
		return cells[i]
	}
	return state.Cell{}
}
