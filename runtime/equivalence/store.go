// Package equivalence caches the answers that plugins of scope node gave about rows, for the
// next equivalent pod: one with the same scheduling signature (KEP-5598 has such signatures). An
// answer holds while what the plugin declares to read of the row is unchanged, so the cost of a
// pod follows what changed and not the number of nodes.
package equivalence

import (
	"container/list"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Config bounds what is kept. The zero value keeps nothing.
type Config struct {
	// Bytes is the memory that kept answers may take, and PerNode what they may take
	// besides for each node.
	Bytes, PerNode int64
}

// Default is enough for some dozens of signatures.
func Default() Config { return Config{Bytes: 32 << 20, PerNode: 4 << 10} }

// Off reports whether nothing is kept.
func (c *Config) Off() bool { return c.Bytes <= 0 && c.PerNode <= 0 }

// Store is the answers of all plugins that a scheduling loop calls, and what is derived
// from them, under one bound. What was used least recently makes room for other things. It
// belongs to the loop's goroutine; only rows of Answers are written by several workers.
type Store struct {
	config      Config
	epoch       uint64
	generation  uint64
	rows        int
	journal     journal
	projections map[string]*projection
	recent      *list.List // of *Entry, the most recently used first
	bytes       int64
	bound       int64  // for the number of nodes
	largest     int64  // entry
	cycle       uint64 // now
	numbered    uint64 // Answers so far
	evicted     int64
}

// Stats is what a store keeps.
type Stats struct {
	// Keys counts signatures for which something is kept, for each plugin, and for all
	// filters together.
	Keys int
	// Bytes is their memory. Evicted counts the keys that made room for others so far.
	Bytes, Evicted int64
}

// Stats returns what is kept now. Without a store that is nothing.
func (s *Store) Stats() Stats {
	if s == nil {
		return Stats{}
	}
	return Stats{Keys: s.recent.Len(), Bytes: s.bytes, Evicted: s.evicted}
}

// New returns an empty store.
func New(config Config) *Store {
	return &Store{config: config, bound: config.Bytes, projections: make(map[string]*projection), recent: list.New()}
}

// Follow takes in what changed in the snapshot. It is called before each cycle.
func (s *Store) Follow(snapshot *state.Snapshot) {
	switch {
	case s.epoch != snapshot.Epoch: // rows and ids are others
		for _, p := range s.projections {
			p.reset()
		}
		s.epoch = snapshot.Epoch
		s.journal.lose()
	case s.generation == snapshot.Generation && s.rows == snapshot.Len():
		return
	default:
		if rows, _, ok := snapshot.Changes(s.generation); ok {
			s.journal.add(rows, snapshot.Len())
		} else {
			s.journal.lose()
		}
	}
	s.generation, s.rows = snapshot.Generation, snapshot.Len()
}

// Position is where the next change will be. What was derived now holds until Changed
// returns rows for this position.
func (s *Store) Position() uint64 { return s.journal.end() }

// Changed returns the rows that may have changed since a position, in which a row may come
// several times; false if it could be any.
func (s *Store) Changed(since uint64) (rows []uint32, ok bool) { return s.journal.since(since) }

// Trim begins a cycle and makes room: it removes what was used least recently until all takes no more than
// the bound for so many nodes. Answers that For returned before are not valid any more.
func (s *Store) Trim(nodes int) {
	s.cycle++
	s.bound = s.config.Bytes + s.config.PerNode*int64(nodes)
	for s.bytes > s.bound && s.recent.Len() > 0 {
		s.recent.Back().Value.(*Entry).Remove()
		s.evicted++
	}
}

// Within is in how many cycles equivalent pods have to come, so that it is worth it to look at the
// rows that changed, which most cycles do to one, instead of at all.
func (s *Store) Within() uint64 { return uint64(max(minWithin, s.rows/8)) }

const minWithin = 64

// Forgotten is called when nothing is kept any more.
func (s *Store) Forgotten() { s.largest = 0 }

// room reports whether there is room for an entry, or one that was not used for more than
// so many cycles. If more keys come in turn than there is room for, some stay, instead of
// each making room for the next.
func (s *Store) room(cycles uint64) bool {
	back := s.recent.Back()
	return back == nil || s.bytes+s.largest <= s.bound || s.cycle-back.Value.(*Entry).used > cycles
}

// Entry is something that is kept, and what it takes of the bound.
type Entry struct {
	store   *Store
	element *list.Element
	bytes   int64
	used    uint64 // the last cycle
	drop    func()
}

// Enter makes an entry; drop is called when it has to go.
func (s *Store) Enter(bytes int64, drop func()) *Entry {
	e := &Entry{store: s, used: s.cycle, drop: drop}
	e.element = s.recent.PushFront(e)
	e.Grow(bytes)
	return e
}

// Use makes the entry the last one to go.
func (e *Entry) Use() {
	e.used = e.store.cycle
	e.store.recent.MoveToFront(e.element)
}

// Grow accounts for memory. Room for it is made by the next Trim.
func (e *Entry) Grow(bytes int64) {
	e.bytes += bytes
	e.store.bytes += bytes
	e.store.largest = max(e.store.largest, e.bytes)
}

// Remove ends the entry.
func (e *Entry) Remove() {
	e.store.recent.Remove(e.element)
	e.store.bytes -= e.bytes
	e.drop()
}
