package feeds

import (
	"cmp"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Sample is what a source says of a key.
type Sample struct {
	Value int64 // in the feed's unit
	// Begin is when the window that was measured began, and End when it ended.
	Begin, End time.Time
}

// table has what a feed says. It turns the samples of rounds into cells that seldom change.
type table struct {
	feed *Feed
	node func(name string) *v1.Node // may be nil
	rows map[string]row
	// since and at are those of all rows whose cells have none.
	since, at int64
}

type row struct {
	cell state.Cell
	seen time.Time // when a sample last had the key
}

func newTable(f *Feed, node func(name string) *v1.Node) *table {
	return &table{feed: f, node: node, rows: make(map[string]row)}
}

// round takes in the samples of a round, none after a failure, and returns what has changed; false if nothing has. A value that no
// sample renews is stale after the maximal age, and forgotten after twice that.
func (t *table) round(now time.Time, samples map[string]Sample) (state.Feed, bool) {
	for key, s := range samples {
		if s.End.After(now) { // a clock that is ahead must not hide pods
			samples[key] = Sample{s.Value, now.Add(s.Begin.Sub(s.End)), now}
		}
	}
	out := state.Feed{Name: t.feed.Name, Label: t.feed.Key.NodeLabel, Cells: make(map[string]state.Cell)}
	since, at := t.common(samples)
	if since != t.since || at != t.at {
		out.Since, out.At = since, at
	}
	for key, sample := range samples {
		old := t.rows[key]
		cell := state.Cell{Value: t.rounded(old.cell, sample.Value, t.step(key)), State: abi.FeedFresh}
		if now.Sub(sample.End) > t.feed.MaxAge.Duration {
			cell.State = abi.FeedStale // the source repeats itself
		}
		own := t.sinceOf(sample)
		if old.cell.State != abi.FeedNone { // a pod that was measured once stays so
			own = max(own, cmp.Or(old.cell.Since, t.since))
		}
		if own < since {
			cell.Since, cell.At = own, sample.End.Unix()
		}
		t.set(&out, key, row{cell, now})
	}
	for key, r := range t.rows {
		if _, renewed := samples[key]; renewed {
			continue
		}
		if since != t.since || at != t.at { // which is not its
			r.cell.Since, r.cell.At = cmp.Or(r.cell.Since, t.since), cmp.Or(r.cell.At, t.at)
		}
		switch age := now.Sub(r.seen); {
		case age > 2*t.feed.MaxAge.Duration:
			delete(t.rows, key)
			out.Cells[key] = state.Cell{}
			continue
		case age > t.feed.MaxAge.Duration:
			r.cell.State = abi.FeedStale
		}
		t.set(&out, key, r)
	}
	t.since, t.at = since, at
	return out, len(out.Cells) > 0 || out.At != 0
}

// set sets a row, and tells of it if its cell is another one.
func (t *table) set(out *state.Feed, key string, r row) {
	if r.cell != t.rows[key].cell {
		out.Cells[key] = r.cell
	}
	t.rows[key] = r
}

// common returns the Since and the At of all samples but those that are more than an interval older than the newest one: the oldest of
// the others. So a source whose samples have different times moves these two numbers, and not each row. They never go back.
func (t *table) common(samples map[string]Sample) (since, at int64) {
	newest := int64(math.MinInt64)
	for _, s := range samples {
		newest = max(newest, t.sinceOf(s))
	}
	since, at = newest, math.MaxInt64
	for _, s := range samples {
		if own := t.sinceOf(s); newest-own <= int64(t.feed.Interval.Seconds()) {
			since, at = min(since, own), min(at, s.End.Unix())
		}
	}
	if len(samples) == 0 || since < t.since && t.since != 0 {
		return t.since, t.at
	}
	return since, max(at, t.at)
}

// sinceOf returns after which assignment a sample cannot contain a pod as it will be: later than a settle before the window.
func (t *table) sinceOf(s Sample) int64 {
	if t.feed.Key.NodeLabel != "" {
		return math.MaxInt64
	}
	return s.Begin.Add(-t.feed.Settle.Duration).Unix()
}

// keys returns how many rows there would be with these samples.
func (t *table) keys(samples map[string]Sample) int {
	n := len(t.rows)
	for key := range samples {
		if _, known := t.rows[key]; !known {
			n++
		}
	}
	return n
}

// step returns that of a key.
func (t *table) step(key string) int64 {
	var node *v1.Node
	if t.feed.Step.Percent > 0 && t.node != nil {
		node = t.node(key)
	}
	return t.feed.Step.of(node, t.feed.Unit)
}

// rounded returns a value rounded to the step. It is that of the old cell unless it is at least one and a half steps from it: noise of
// less than a step does not move a value that lies between two.
func (t *table) rounded(old state.Cell, value, step int64) int64 {
	if old.State != abi.FeedNone {
		distance := float64(value) - float64(old.Value)
		if math.Abs(distance) < 1.5*float64(step) {
			return old.Value
		}
	}
	down := value / step * step // towards 0
	rest := value - down
	switch {
	case 2*rest >= step && down <= math.MaxInt64-step:
		return down + step
	case -2*rest >= step && down >= math.MinInt64+step:
		return down - step
	}
	return down
}

// count returns how many keys have a value, and how many of these are stale.
func (t *table) count() (keys, stale int) {
	for _, r := range t.rows {
		if r.cell.State == abi.FeedStale {
			stale++
		}
	}
	return len(t.rows), stale
}
