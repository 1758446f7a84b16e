package state

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// Cell is the value of a feed for one node. The zero Cell means that the feed has never had a value for it.
type Cell struct {
	// Value is in the feed's unit, rounded to its step.
	Value int64 `json:"value,omitempty"`
	// State is abi.FeedNone, abi.FeedFresh or abi.FeedStale.
	State uint8 `json:"state,omitempty"`
	// Since is when pods began to count that the sample cannot contain, in seconds since 1970: those that got their node after it do.
	// It is math.MaxInt64 where no pod counts, as in feeds by label.
	// In a Feed, 0 means the Since of that.
	Since int64 `json:"since,omitempty"`
	// At is when the sample was taken, in seconds since 1970; in a Feed, 0 means the At of that.
	At int64 `json:"at,omitempty"`
	// Columns has what a plugin reads of an object; nil in feeds. It does not change.
	Columns *Columns `json:"columns,omitempty"`
}

// Columns are those of an object, in the order of a view: each has Numbers or Texts, which may be empty.
type Columns struct {
	Numbers [][]int64   `json:"numbers,omitempty"` // abi.NoNumber for none
	Texts   [][]*string `json:"texts,omitempty"`   // nil for none
}

// NumbersOf returns the numbers of a column.
func (c *Columns) NumbersOf(column int) []int64 {
	if c == nil || column >= len(c.Numbers) {
		return nil
	}
	return c.Numbers[column]
}

// TextsOf returns the texts of a column.
func (c *Columns) TextsOf(column int) []*string {
	if c == nil || column >= len(c.Texts) {
		return nil
	}
	return c.Texts[column]
}

// Size is about how many bytes the columns take.
func (c *Columns) Size() (bytes int64) {
	bytes = 96
	for i := range max(len(c.Numbers), len(c.Texts)) {
		bytes += 24 + 8*int64(len(c.NumbersOf(i)))
		for _, text := range c.TextsOf(i) {
			if bytes += 8; text != nil {
				bytes += 16 + int64(len(*text))
			}
		}
	}
	return bytes
}

// Equal reports whether two objects have the same in all columns.
func (c *Columns) Equal(o *Columns) bool {
	if c == nil || o == nil {
		return c == o
	}
	return slices.EqualFunc(c.Numbers, o.Numbers, slices.Equal[[]int64]) &&
		slices.EqualFunc(c.Texts, o.Texts, func(a, b []*string) bool {
			return slices.EqualFunc(a, b, func(x, y *string) bool { return x == y || x != nil && y != nil && *x == *y })
		})
}

// What cells of a Feed belong to.
const (
	OfNodes      = ""
	OfNamespaces = "namespaces"
)

// Feed is the part of a feed that has changed: numbers by node, or by the value of a label of nodes; or what objects of nodes or namespaces say.
type Feed struct {
	Name string `json:"name"`
	// Label is the key of the label; empty if cells are by name.
	Label string `json:"label,omitempty"`
	// Of says whose names cells are by: OfNamespaces, or OfNodes.
	Of string `json:"of,omitempty"`
	// Since and At are those of all cells that have none of their own, whether they have changed or not; 0 for no change. A round renews
	// nearly all samples, so cells need not be repeated for it.
	Since int64 `json:"since,omitempty"`
	At    int64 `json:"at,omitempty"`
	// Cells are those that have changed, by name or by value of the label.
	Cells map[string]Cell `json:"cells,omitempty"`
}

// Feed returns the number of a feed in Cells of NodeTable; -1 if the snapshot has none of this name.
func (s *Snapshot) Feed(name string) int { return slices.Index(s.Feeds, name) }

// Cell returns what a feed says of a row. A feed that the snapshot does not have says nothing of any.
func (t *NodeTable) Cell(row uint32, feed int) Cell {
	if feed < 0 || feed >= len(t.Cells[row]) {
		return Cell{}
	}
	return t.Cells[row][feed]
}

// Cell returns what a feed says of a row's namespace.
func (t *NamespaceTable) Cell(row uint32, feed int) Cell {
	if feed < 0 || feed >= len(t.Cells[row]) {
		return Cell{}
	}
	return t.Cells[row][feed]
}

// RequestedSince returns how much of a resource the row's pods request that the samples of these feeds cannot contain, by the oldest of
// the samples, in the unit of Resources. The sum stops at the largest int64.
func (s *Snapshot) RequestedSince(row uint32, feeds []int, resource v1.ResourceName) (sum int64) {
	if len(feeds) == 0 {
		return 0
	}
	since := int64(math.MaxInt64)
	for _, feed := range feeds {
		since = min(since, s.Nodes.Cell(row, feed).Since)
	}
	if since == math.MaxInt64 {
		return 0
	}
	for _, slot := range s.Nodes.Pods.Row(row) {
		if pod := s.Pods.Pod[slot]; pod.AssignedAt > since {
			sum = quantity.Sum(sum, pod.Requests.Amount(resource))
		}
	}
	return sum
}

// EventFeed says that feeds have news. Its object is empty.
func EventFeed() ClusterEvent { return ClusterEvent{Resource: FeedResource, Action: UpdateOther} }
