package topology

import (
	"slices"

	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Item is an object in an Index.
type Item[T any] struct {
	Value T

	reach  Reach
	key    string   // the label that it is filed under; "" for none
	values []string // each once
	exact  bool     // every node with one of the values is reached
}

// NewItem compiles an object's reach.
func NewItem[T any](value T, reach Reach) *Item[T] {
	i := &Item[T]{Value: value, reach: reach}
	i.key, i.values, i.exact = reach.anchor()
	i.values = slices.Clone(i.values) // the object's own
	slices.Sort(i.values)
	i.values = slices.Compact(i.values)
	return i
}

// Index is an ordered set of objects, filed under a label value where their reach requires one,
// which is nearly always the case: a local disk under its node's hostname, a zonal one under
// its zone. The others are kept in a separate list.
type Index[T any] struct {
	compare func(a, b T) int
	keys    map[string]map[string]*list[T]
	others  list[T]
}

type list[T any] struct{ items []*Item[T] }

// NewIndex returns an empty index. compare is a total order.
func NewIndex[T any](compare func(a, b T) int) *Index[T] {
	return &Index[T]{compare: compare, keys: make(map[string]map[string]*list[T])}
}

// Add adds an item.
func (x *Index[T]) Add(item *Item[T]) {
	if item.key == "" {
		x.others.add(item, x.compare)
		return
	}
	values := x.keys[item.key]
	if values == nil {
		values = make(map[string]*list[T])
		x.keys[item.key] = values
	}
	for _, v := range item.values {
		if values[v] == nil {
			values[v] = &list[T]{}
		}
		values[v].add(item, x.compare)
	}
}

// Remove removes an item that was added.
func (x *Index[T]) Remove(item *Item[T]) {
	if item.key == "" {
		x.others.remove(item, x.compare)
		return
	}
	values := x.keys[item.key]
	for _, v := range item.values {
		values[v].remove(item, x.compare)
		if len(values[v].items) == 0 {
			delete(values, v)
		}
	}
	if len(values) == 0 {
		delete(x.keys, item.key)
	}
}

// Len returns the number of entries; an item can have several.
func (x *Index[T]) Len() int {
	n := len(x.others.items)
	for _, values := range x.keys {
		for _, l := range values {
			n += len(l.items)
		}
	}
	return n
}

func (l *list[T]) find(item *Item[T], compare func(a, b T) int) (int, bool) {
	return slices.BinarySearchFunc(l.items, item, func(a, b *Item[T]) int { return compare(a.Value, b.Value) })
}

func (l *list[T]) add(item *Item[T], compare func(a, b T) int) {
	at, _ := l.find(item, compare)
	l.items = slices.Insert(l.items, at, item)
}

func (l *list[T]) remove(item *Item[T], compare func(a, b T) int) {
	at, ok := l.find(item, compare)
	if !ok || l.items[at] != item {
		panic("BUG: an item is not where it was put")
	}
	l.items = slices.Delete(l.items, at, at+1)
}

// Query finds, among the items that use accepts, those that reach rows of a snapshot. It is
// valid as long as index and snapshot are unchanged; overlay rows may be added. A nil index has
// no items.
type Query[T any] struct {
	index     *Index[T]
	snapshot  *state.Snapshot
	use       func(T) bool
	columns   []column[T]
	others    []*Item[T] // accepted by use
	kept      map[*list[T]][]*Item[T]
	selectors map[*Item[T]]*nodeselector.Selector
}

// column is a label that items are filed under.
type column[T any] struct {
	key    uint32
	values map[string]*list[T]
}

// NewQuery returns a query. use is called once for each item in each list that a row leads to.
func NewQuery[T any](index *Index[T], snapshot *state.Snapshot, use func(T) bool) *Query[T] {
	q := &Query[T]{
		index: index, snapshot: snapshot, use: use,
		kept: make(map[*list[T]][]*Item[T]), selectors: make(map[*Item[T]]*nodeselector.Selector),
	}
	if index == nil {
		return q
	}
	q.others = q.keep(&index.others)
	for key, values := range index.keys {
		if id := snapshot.Strings.Lookup(key); id != 0 {
			q.columns = append(q.columns, column[T]{key: id, values: values})
		}
	}
	return q
}

// First returns the first item, in order, that reaches a row and is not in leftOut; nil if
// there is none.
func (q *Query[T]) First(row uint32, leftOut []*Item[T]) *Item[T] {
	best := q.first(row, q.others, leftOut)
	for i := range q.columns {
		c := &q.columns[i]
		// Looked up for each row, since new overlay rows can move the columns.
		value := q.snapshot.Nodes.Labels.Key(c.key).At(row)
		if value == 0 {
			continue
		}
		l := c.values[q.snapshot.Strings.String(value)]
		if l == nil {
			continue
		}
		if item := q.first(row, q.keep(l), leftOut); item != nil && (best == nil || q.index.compare(item.Value, best.Value) < 0) {
			best = item
		}
	}
	return best
}

// keep returns the items of a list that use accepts.
func (q *Query[T]) keep(l *list[T]) []*Item[T] {
	if kept, known := q.kept[l]; known {
		return kept
	}
	kept := l.items // all of them in most cases
	for i, item := range l.items {
		if !q.use(item.Value) {
			kept = slices.Clone(l.items[:i])
			for _, item := range l.items[i+1:] {
				if q.use(item.Value) {
					kept = append(kept, item)
				}
			}
			break
		}
	}
	q.kept[l] = kept
	return kept
}

func (q *Query[T]) first(row uint32, items, leftOut []*Item[T]) *Item[T] {
	for _, item := range items {
		if q.reaches(item, row) && !slices.Contains(leftOut, item) {
			return item
		}
	}
	return nil
}

// reaches checks an item against a row whose label led to the item's list.
func (q *Query[T]) reaches(item *Item[T], row uint32) bool {
	if item.exact || item.reach.Everywhere() {
		return true
	}
	s, known := q.selectors[item]
	if !known {
		resolved := item.reach.Resolve(q.snapshot.Strings)
		s = &resolved
		q.selectors[item] = s
	}
	var mask nodeselector.Mask
	rows := [1]uint32{row}
	return s.Match(q.snapshot, rows[:], &mask)
}
