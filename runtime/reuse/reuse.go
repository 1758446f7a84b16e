// Package reuse keeps the answers that plugins of scope node gave about rows, for the
// next pod that is alike. An answer holds while what the plugin declares to read of the
// row is unchanged, so the cost of a pod follows what changed and not the number of nodes.
package reuse

import (
	"container/list"
	"sync/atomic"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Config bounds what is kept. The zero value keeps nothing.
type Config struct {
	// Bytes is the memory that kept answers may take, and PerNode what they may take
	// besides for each node.
	Bytes, PerNode int64
}

// Default is enough for some dozens of pods that are not alike.
func Default() Config { return Config{Bytes: 32 << 20, PerNode: 4 << 10} }

// Off reports whether nothing is kept.
func (c *Config) Off() bool { return c.Bytes <= 0 && c.PerNode <= 0 }

// Store is the answers of all plugins that a scheduling loop calls, under one bound. The
// answers of the key that was used least recently make room for others. It belongs to the
// loop's goroutine; only rows of Answers are written by several workers.
type Store struct {
	config      Config
	epoch       uint64
	projections map[string]*projection
	recent      *list.List // of *Answers, the most recently used first
	bytes       int64
}

// New returns an empty store.
func New(config Config) *Store {
	return &Store{config: config, projections: make(map[string]*projection), recent: list.New()}
}

// Keeper keeps the answers of one plugin.
type Keeper struct {
	store      *Store
	info       *plugin.Info
	projection *projection
	answers    map[string]*Answers
	key        []byte
	demoted    atomic.Bool
}

// Keeper returns what keeps the answers of a plugin; nil if none can be kept: the store
// has no memory, the plugin has no point of scope node, or Keyed says why not.
func (s *Store) Keeper(info *plugin.Info) *Keeper {
	if _, ok := Keyed(info); !ok || s.config.Off() {
		return nil
	}
	columns := columnsOf(info.Reads)
	name := string(appendReads(nil, columns))
	p, ok := s.projections[name]
	if !ok {
		p = newProjection(columns)
		s.projections[name] = p
	}
	p.users++
	return &Keeper{store: s, info: info, projection: p, answers: make(map[string]*Answers)}
}

// Demote ends the keeping of answers: the plugin gave another one than before although
// nothing had changed. It reports whether it did so first. Workers may call it.
func (k *Keeper) Demote() bool { return k.demoted.CompareAndSwap(false, true) }

// Demoted reports whether answers are not kept any more.
func (k *Keeper) Demoted() bool { return k.demoted.Load() }

// Drop forgets what is kept for a plugin that is not used any more.
func (k *Keeper) Drop() {
	for _, a := range k.answers {
		k.store.remove(a)
	}
	if k.projection.users--; k.projection.users == 0 {
		delete(k.store.projections, string(appendReads(nil, k.projection.columns)))
	}
}

// For returns the answers about pods that are alike to the plugin, with what changed in
// the snapshot taken into account. It is valid until the next call of For with the same
// store. namespace is the pod's, nil if its object is not known.
func (k *Keeper) For(snapshot *state.Snapshot, pod *state.Pod, namespace *state.Namespace) *Answers {
	s := k.store
	if s.epoch != snapshot.Epoch { // rows are others
		s.clear()
		s.epoch = snapshot.Epoch
	}
	k.projection.follow(snapshot)
	k.key = appendKey(k.key[:0], k.info.Reads, pod, namespace)
	a, ok := k.answers[string(k.key)]
	if !ok {
		a = &Answers{keeper: k, key: string(k.key), stamps: &k.projection.stamps}
		a.element = s.recent.PushFront(a)
		k.answers[a.key] = a
		s.grown(a, int64(len(a.key))+keyBytes)
	}
	s.recent.MoveToFront(a.element)
	return a
}

// keyBytes is about what an Answers takes besides its rows and its key.
const keyBytes = 512

// grown accounts for memory that answers take, and makes room for it.
func (s *Store) grown(a *Answers, bytes int64) {
	a.bytes += bytes
	s.bytes += bytes
}

// Trim makes room: it removes the answers that were used least recently until all take no
// more than the bound for so many nodes. Answers that For returned before are not valid
// any more.
func (s *Store) Trim(nodes int) {
	bound := s.config.Bytes + s.config.PerNode*int64(nodes)
	for s.bytes > bound && s.recent.Len() > 0 {
		s.remove(s.recent.Back().Value.(*Answers))
	}
}

func (s *Store) remove(a *Answers) {
	s.recent.Remove(a.element)
	s.bytes -= a.bytes
	delete(a.keeper.answers, a.key)
}

// clear forgets everything.
func (s *Store) clear() {
	for s.recent.Len() > 0 {
		s.remove(s.recent.Front().Value.(*Answers))
	}
	for _, p := range s.projections {
		p.reset()
	}
}
