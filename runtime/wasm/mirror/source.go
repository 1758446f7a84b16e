package mirror

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Source fills mirrors that share string ids: those of a plugin's cycle instances, or the one
// of an aux instance.
type Source struct {
	// Shards is how many mirrors share the rows, at least 1. It is set before the first Mirror.
	Shards int

	projection   *Projection
	written      *atomic.Uint64 // bytes
	seed         maphash.Seed
	encoder      podEncoder
	record       []byte // of the pod to be placed
	recordNumber uint64
	now          int64      // what pod: now has
	other        podEncoder // of another pod that a call is about
	otherRoom    uint32     // room for its record in bytes, now
	otherLeast   uint32     // and at first

	// mu guards what follows within a cycle: an instance may be filled, or an overlay row
	// written, while others run.
	mu      sync.Mutex
	dict    dictionary
	room    capacities
	slots   *slots // nil if the plugin sees all pods, or none
	scratch []shown
	pairs   []wire.Pair // scratch
}

// NewSource returns the source of one mirror. Mirrors add the bytes that they write to written.
func NewSource(p *Projection, written *atomic.Uint64) *Source {
	s := &Source{Shards: 1, projection: p, written: written, seed: maphash.MakeSeed()}
	if p.HasPods() && p.restricted() {
		s.slots = newSlots()
	}
	s.BeginEpoch()
	return s
}

// Lock is held to fill a mirror while others of the source are in use.
func (s *Source) Lock() { s.mu.Lock() }

// Unlock ends what Lock began.
func (s *Source) Unlock() { s.mu.Unlock() }

// BeginEpoch makes all ids of strings void. Mirrors must Begin again.
func (s *Source) BeginEpoch() {
	s.dict.begin()
	s.encoder = podEncoder{p: s.projection, dict: &s.dict, now: &s.now}
	s.other = podEncoder{p: s.projection, dict: &s.dict, now: &s.now}
}

// Stale reports whether an epoch should begin because half of the strings may be dead.
func (s *Source) Stale() bool { return s.dict.stale() }

// Settle ends the beginning of an epoch: everything is written.
func (s *Source) Settle() { s.dict.settle() }

// Epoch returns the number of the epoch.
func (s *Source) Epoch() uint64 { return s.dict.epoch }

// Follow prepares to translate the strings and the slots of a snapshot.
func (s *Source) Follow(snap *state.Snapshot) {
	s.dict.follow(snap.Strings)
	if s.slots != nil {
		s.slots.follow(snap, s.projection)
	}
}

// SetTime sets the time that pods' records have: at a point, and a time in seconds since 1970.
func (s *Source) SetTime(p abi.Point, at int64) {
	if s.now = 0; s.projection.timed.Has(p) {
		s.now = s.projection.now(at)
	}
}

// SetPod encodes the pod to be placed. namespace is the pod's; nil if its object is not
// known.
func (s *Source) SetPod(pod *state.Pod, namespace *state.Namespace) {
	s.record = s.encoder.encode(pod, namespace)
	s.recordNumber++
}

// PodSize returns the size of the pod's record in bytes.
func (s *Source) PodSize() uint32 { return uint32(len(s.record)) }

// PodFits reports whether regions have room for the pod's record.
func (s *Source) PodFits() bool { return s.PodSize() <= s.room.podRoom }

// EncodeOther returns the record of another pod; it is valid until the next call.
func (s *Source) EncodeOther(pod *state.Pod, namespace *state.Namespace) []byte {
	return s.other.encode(pod, namespace)
}

// RoomForOther sets the room for the record of another pod, in bytes. WriteOther enlarges it.
func (s *Source) RoomForOther(bytes uint32) { s.otherRoom, s.otherLeast = bytes, bytes }

// ForgetOther takes back what WriteOther enlarged, for later regions. It reports whether that was
// anything.
func (s *Source) ForgetOther() bool {
	enlarged := s.otherRoom > s.otherLeast
	s.otherRoom = s.otherLeast
	return enlarged
}

// RoomForBatch sets the room for a list of pods: their number, the bytes of their records,
// and whether the guest answers with queue keys. It is called after Measure.
func (s *Source) RoomForBatch(pods, bytes uint32, keys bool) {
	s.room.batch, s.room.records, s.room.keys = pods, bytes, keys
}
