package feeds

import (
	"math"
	"time"

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
	rows map[string]row
}

type row struct {
	cell state.Cell
	seen time.Time // when a sample last had the key
}

func newTable(f *Feed) *table { return &table{feed: f, rows: make(map[string]row)} }

// round takes in the samples of a round, none after a failure, and returns what has changed. A value that no sample renews is stale
// after the maximal age, and forgotten after twice that.
func (t *table) round(now time.Time, samples map[string]Sample) map[string]state.Cell {
	changed := make(map[string]state.Cell)
	for key, sample := range samples {
		old := t.rows[key]
		cell := state.Cell{Value: t.rounded(old.cell, sample.Value), State: abi.FeedFresh, Since: t.since(sample)}
		if now.Sub(sample.End) > t.feed.MaxAge.Duration {
			cell.State = abi.FeedStale // the source repeats itself
		}
		if cell.Since < old.cell.Since { // a pod that was measured once stays so
			cell.Since = old.cell.Since
		}
		if cell != old.cell {
			changed[key] = cell
		}
		t.rows[key] = row{cell, now}
	}
	for key, r := range t.rows {
		switch age := now.Sub(r.seen); {
		case age > 2*t.feed.MaxAge.Duration:
			delete(t.rows, key)
			changed[key] = state.Cell{}
		case age > t.feed.MaxAge.Duration && r.cell.State == abi.FeedFresh:
			r.cell.State = abi.FeedStale
			t.rows[key], changed[key] = r, r.cell
		}
	}
	return changed
}

// since returns after which assignment the sample cannot contain a pod as it will be: later than a settle before the window.
func (t *table) since(s Sample) int64 {
	if t.feed.Key.NodeLabel != "" {
		return math.MaxInt64
	}
	return s.Begin.Add(-t.feed.Settle.Duration).Unix()
}

// rounded returns a value rounded to the step. It is that of the old cell unless it is at least one and a half steps from it: noise of
// less than a step does not move a value that lies between two.
func (t *table) rounded(old state.Cell, value int64) int64 {
	step := t.feed.Step
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

// stale returns how many keys have a value, and how many of these are stale.
func (t *table) count() (keys, stale int) {
	for _, r := range t.rows {
		if r.cell.State == abi.FeedStale {
			stale++
		}
	}
	return len(t.rows), stale
}
