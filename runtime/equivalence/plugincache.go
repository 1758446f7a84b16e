package equivalence

import (
	"bytes"
	"math"
	"sync/atomic"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// PluginCache keeps the answers of one plugin.
type PluginCache struct {
	store           *Store
	info            *plugin.Info
	aggregates      plugin.Aggregates // nil if there are none
	projection      *projection
	name            string // of the projection
	answers         map[string]*Answers
	reads           []plugin.Read // of the pod
	signature, sums []byte
	door            *Doorkeeper
	costly          bool
	demoted         atomic.Bool
}

// PluginCache returns what keeps the answers of a plugin; nil if none can be kept: the store
// has no memory, the plugin has no point of scope node, or Info.Keyed says why not.
func (s *Store) PluginCache(p plugin.Plugin) *PluginCache {
	info := p.Info()
	if _, ok := info.Keyed(); !ok || s.config.Off() {
		return nil
	}
	k := &PluginCache{store: s, info: info, answers: make(map[string]*Answers), door: s.Doorkeeper()}
	k.aggregates, _ = p.(plugin.Aggregates)
	_, k.costly = p.(plugin.Fallible)
	columns, pod := split(info.Reads)
	k.reads = pod
	k.name = nameOf(columns, info.Namespaces, k.costly)
	if s.projections[k.name] == nil {
		s.projections[k.name] = newProjection(columns, info.Namespaces, k.costly)
	}
	k.projection = s.projections[k.name]
	k.projection.users++
	return k
}

// Demote ends the keeping of answers: the plugin gave another one than before although
// nothing had changed. It reports whether it did so first. Workers may call it.
func (k *PluginCache) Demote() bool { return k.demoted.CompareAndSwap(false, true) }

// Demoted reports whether answers are not kept any more.
func (k *PluginCache) Demoted() bool { return k.demoted.Load() }

// Drop forgets what is kept for a plugin that is not used any more.
func (k *PluginCache) Drop() {
	for _, a := range k.answers {
		a.entry.Remove()
	}
	if k.projection.users--; k.projection.users == 0 {
		delete(k.store.projections, k.name)
	}
}

// Forget forgets the answers so far, as if the plugin had not been asked yet.
func (k *PluginCache) Forget() {
	for _, a := range k.answers {
		a.entry.Remove()
	}
	k.door = k.store.Doorkeeper()
}

// Lookup returns the answers about pods that are equivalent to the plugin, with what changed in
// the snapshot taken into account; nil for the first such pod, for there may be no other, and for one that comes too seldom.
// It is valid until the next call of Lookup with the same store. namespace is the pod's, nil
// if its object is not known.
func (k *PluginCache) Lookup(c *plugin.Cycle, namespace *state.Namespace) *Answers {
	s := k.store
	s.Follow(c.Snapshot)
	k.projection.follow(c.Snapshot, &s.journal)
	k.signature = appendSignature(k.signature[:0], k.reads, c.Pod, namespace, c.Now)
	a, ok := k.answers[string(k.signature)]
	if !ok {
		if !k.door.Again(k.signature, k.within()) {
			return nil
		}
		a = &Answers{plugin: k, signature: string(k.signature)}
		a.forget()
		a.entry = s.Enter(int64(len(a.signature))+signatureBytes, func() { delete(k.answers, a.signature) })
		k.answers[a.signature] = a
	}
	a.entry.Use()
	a.follow(&s.journal)
	if k.aggregates != nil {
		if k.sums = k.aggregates.AppendAggregates(k.sums[:0], c); !bytes.Equal(k.sums, a.sums) {
			a.sums = append(a.sums[:0], k.sums...)
			a.forget()
		}
	}
	return a
}

// within is in how many cycles a signature has to come again.
func (k *PluginCache) within() uint64 {
	if k.costly { // a look at what changed costs far less than a call
		return math.MaxUint64
	}
	return k.store.Within()
}

// signatureBytes is about what an Answers takes besides its rows and its signature.
const signatureBytes = 512
