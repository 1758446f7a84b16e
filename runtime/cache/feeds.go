package cache

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// feeds has what feeds say, also of nodes that are not known.
type feeds struct {
	names []string // a new list if one is added: snapshots have it, too
	all   []feed
}

// feed has the cells of a feed by the name of a node, or by the value of a label.
type feed struct {
	label, of string
	since, at int64 // of cells without their own
	cells     map[string]state.Cell
	fresh     int // how many cells are
}

// cell returns that of a key, complete.
func (f *feed) cell(key string) state.Cell {
	cell, ok := f.cells[key]
	if ok {
		cell.Since, cell.At = cmp.Or(cell.Since, f.since), cmp.Or(cell.At, f.at)
	}
	return cell
}

// FeedState returns whether a feed has a fresh value for any key (abi.FeedFresh), else whether it has any value, which is stale
// (abi.FeedStale); abi.FeedNone if it has none.
func (c *Cache) FeedState(name string) uint8 {
	switch i := slices.Index(c.feeds.names, name); {
	case i < 0 || len(c.feeds.all[i].cells) == 0:
		return abi.FeedNone
	case c.feeds.all[i].fresh > 0:
		return abi.FeedFresh
	}
	return abi.FeedStale
}

// SetFeeds takes in what has changed of feeds, and reports whether a node or a feed says something else now. Feeds that are not known are
// added.
func (c *Cache) SetFeeds(feeds ...state.Feed) (changed bool) {
	for i := range feeds {
		before := c.FeedState(feeds[i].Name)
		c.setFeed(&feeds[i])
		changed = changed || before != c.FeedState(feeds[i].Name) // pods may wait for that, whatever nodes there are
	}
	for _, n := range c.rows {
		changed = c.showFeeds(n) || changed
	}
	for i := range c.namespaces.infos {
		changed = c.showFeedsOf(&c.namespaces.infos[i]) || changed
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
	if to.label != f.Label || to.of != f.Of { // declared anew
		to.label, to.of = f.Label, f.Of
		clear(to.cells)
		to.fresh, to.since, to.at = 0, 0, 0
	}
	to.since, to.at = cmp.Or(f.Since, to.since), cmp.Or(f.At, to.at)
	for key, cell := range f.Cells {
		if to.cells[key].State == abi.FeedFresh {
			to.fresh--
		}
		if cell.State == abi.FeedFresh {
			to.fresh++
		}
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
			if !yield(state.Feed{Name: name, Label: f.label, Of: f.of, Since: f.since, At: f.at, Cells: maps.Clone(f.cells)}) {
				return
			}
		}
	}
}

// showFeeds gives a node that is a row its cells, and reports whether they differ from what they were in more than the age of a sample.
func (c *Cache) showFeeds(n *node) (differ bool) {
	cells, differ := c.feeds.cells(state.OfNodes, n.info.Name, n.info.Node.Object.Labels, n.info.Cells)
	if cells != nil {
		n.info.Cells, n.info.Feeds, n.info.FeedsGeneration = cells, c.feeds.names, c.next()
		c.dirty.add(uint32(n.row))
	}
	return differ
}

// showFeedsOf is showFeeds of a namespace that has an object.
func (c *Cache) showFeedsOf(info *state.NamespaceInfo) (differ bool) {
	if info.Namespace == nil {
		return false
	}
	cells, differ := c.feeds.cells(state.OfNamespaces, info.Namespace.Name, nil, info.Cells)
	if cells != nil {
		info.Cells, info.Feeds, info.FeedsGeneration = cells, c.feeds.names, c.next()
		c.namespaces.dirty.add(info.Row)
	}
	return differ
}

// cells returns what feeds say of a node or namespace, which had old; nil if that is the same. differ says whether it is in more than the
// age of a sample.
func (f *feeds) cells(of, name string, labels map[string]string, old []state.Cell) (cells []state.Cell, differ bool) {
	for i := range f.all {
		feed := &f.all[i]
		key := name
		if feed.label != "" {
			key = labels[feed.label] // a feed has no cell of an empty value
		}
		cell := state.Cell{}
		if feed.of == of {
			cell = feed.cell(key)
		}
		was := cellOf(old, i)
		if cells == nil && cell == was {
			continue
		}
		differ = differ || cell.Value != was.Value || cell.State != was.State || cell.Since != was.Since ||
			!cell.Columns.Equal(was.Columns)
		if cells == nil {
			cells = make([]state.Cell, len(f.all))
			copy(cells, old)
		}
		cells[i] = cell
	}
	return cells, differ
}

func cellOf(cells []state.Cell, i int) state.Cell {
	if i < len(cells) {
		return cells[i]
	}
	return state.Cell{}
}
