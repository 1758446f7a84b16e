package wire

import (
	"encoding/binary"
	"errors"

	"github.com/berth-scheduler/berth/abi"
)

// ErrBatchFull says that a call has no room for more records.
var ErrBatchFull = errors.New("wire: the pod records of the call have no more room")

// Batch writes the pods and the event of one call into a region.
type Batch struct {
	l    *Layout
	mem  []byte
	base uint32
	used uint32 // bytes used in the room for records
	n    uint32
}

// NewBatch begins the pods of a call. mem is the region's bytes, which begin at address base.
func (l *Layout) NewBatch(mem []byte, base uint32) Batch { return Batch{l: l, mem: mem, base: base} }

// Len returns the number of pods.
func (b *Batch) Len() uint32 { return b.n }

// Bytes returns how many bytes of the room for records are used.
func (b *Batch) Bytes() uint32 { return b.used }

// put copies bytes to the room for records and returns their address.
func (b *Batch) put(data []byte) (uint32, error) {
	at := (b.used + 7) &^ 7
	if uint64(at)+uint64(len(data)) > uint64(b.l.RecordRoom) {
		return 0, ErrBatchFull
	}
	copy(b.mem[b.l.Records+at:], data)
	b.used = at + uint32(len(data))
	return b.base + b.l.Records + at, nil
}

// Add adds a pod's record. If it succeeds, the record is number Len() in the list.
//
// # Errors
//
// ErrBatchFull.
func (b *Batch) Add(record []byte) error {
	if b.n == b.l.Batch {
		return ErrBatchFull
	}
	at, err := b.put(record)
	if err != nil {
		return err
	}
	e := b.mem[b.l.PodList+abi.PodEntrySize*b.n:]
	put32(e, 0, at)
	put32(e, 4, uint32(len(record)))
	b.n++
	return nil
}

// Queue writes the queue entry of the last added pod.
func (b *Batch) Queue(q QueueEntry) {
	e := b.mem[b.l.Queue+abi.QueueEntrySize*(b.n-1):]
	binary.LittleEndian.PutUint64(e, uint64(q.Time))
	put32(e, 8, q.Attempts)
	put32(e, 12, 0)
}

// Event writes the event record.
//
// # Errors
//
// ErrBatchFull.
func (b *Batch) Event(e *EventView) error {
	r := b.mem[b.l.Event : b.l.Event+abi.EventSize]
	clear(r)
	put32(r, abi.EventResource, uint32(e.Resource))
	put32(r, abi.EventActions, uint32(e.Actions))
	put32(r, abi.EventOldNode, e.OldNode)
	put32(r, abi.EventNewNode, e.NewNode)
	for _, part := range []struct {
		offset int
		data   []byte
	}{
		{abi.EventOldPod, e.OldPod}, {abi.EventNewPod, e.NewPod},
		{abi.EventNamespace, []byte(e.Namespace)}, {abi.EventName, []byte(e.Name)},
	} {
		if len(part.data) == 0 {
			continue
		}
		at, err := b.put(part.data)
		if err != nil {
			return err
		}
		put32(r, part.offset, at)
		put32(r, part.offset+4, uint32(len(part.data)))
	}
	return nil
}
