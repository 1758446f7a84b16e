package wire

import (
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// EventView is an event record (ABI-3.10).
type EventView struct {
	Resource abi.EventKind
	Actions  abi.EventAction
	// OldPod and NewPod are pod records; may be nil.
	OldPod, NewPod []byte
	// OldNode and NewNode are rows, or abi.EventNoNode.
	OldNode, NewNode uint32
	// Namespace and Name belong to an object of another kind.
	Namespace, Name string
}

// QueueEntry is what queue_key gets for a pod besides its record (ABI-3.11).
type QueueEntry struct {
	// Time is when the pod was queued, in nanoseconds since 1970.
	Time     int64
	Attempts uint32
}

// Directive is one directive of a guest (ABI-13.1).
type Directive struct {
	Kind          abi.DirectiveKind
	First, Second string
}

// pods reads what only points about many pods have.
func (c *CallView) pods(m Memory, r []byte) error {
	if list := get32(r, 40); list != 0 {
		n := max(1, uint64(c.N)) // add_pod has a row, and one pod
		if c.Point == uint32(abi.AddPod) || c.Point == uint32(abi.RemovePod) {
			n = 1
		}
		entries, err := m.at("ABI-3.1", "the pod list", uint64(list), 8*n)
		if err != nil {
			return err
		}
		for ; len(entries) > 0; entries = entries[8:] {
			record, err := m.at("ABI-3.1", "a record of the pod list", uint64(get32(entries, 0)), uint64(get32(entries, 4)))
			if err != nil {
				return err
			}
			c.Pods = append(c.Pods, record)
		}
	}
	if event := get32(r, 44); event != 0 {
		var err error
		if c.Event, err = m.event(event); err != nil {
			return err
		}
	}
	return c.queue(m, uint64(get32(r, 48)), uint64(get32(r, 52)))
}

func (m Memory) event(address uint32) (*EventView, error) {
	r, err := m.record("ABI-3.10", "the event record", address, 64, 4)
	if err != nil {
		return nil, err
	}
	e := &EventView{
		Resource: abi.EventKind(get32(r, 0)), Actions: abi.EventAction(get32(r, 4)),
		OldNode: get32(r, 24), NewNode: get32(r, 28),
	}
	var texts [4][]byte
	for i, offset := range [...]int{8, 16, 32, 40} {
		if at := get32(r, offset); at != 0 {
			if texts[i], err = m.at("ABI-3.10", "what an event refers to", uint64(at), uint64(get32(r, offset+4))); err != nil {
				return nil, err
			}
		}
	}
	e.OldPod, e.NewPod, e.Namespace, e.Name = texts[0], texts[1], string(texts[2]), string(texts[3])
	return e, nil
}

func (c *CallView) queue(m Memory, entries, keys uint64) error {
	if entries == 0 {
		return nil
	}
	n := uint64(c.N)
	queue, err := m.at("ABI-3.11", "queue entries", entries, 16*n)
	if err != nil {
		return err
	}
	answers, err := m.at("ABI-3.11", "keys", keys, 68*n)
	if err != nil {
		return err
	}
	for i := range int(n) {
		c.Queue = append(c.Queue, QueueEntry{Time: int64(get64(queue, 16*i)), Attempts: get32(queue, 16*i+8)})
		key := answers[68*i:]
		size := get32(key, 0)
		if size > abi.MaxQueueKey {
			return decodeError("ABI-5.10", "a key of %d bytes", size)
		}
		c.Keys = append(c.Keys, key[4:4+size])
	}
	return nil
}

// DecodeDirectives reads n directives at an address, within the limits of ABI-10. It checks
// that a text is UTF-8 and has what its directive needs, but not whether the directives are
// allowed.
//
// # Errors
//
// All wrap ErrDecode and name the violated sentence of SPEC.md.
func DecodeDirectives(m Memory, address, n uint32) ([]Directive, error) {
	if n == 0 {
		return nil, nil
	}
	if n > abi.MaxDirectives {
		return nil, decodeError("ABI-10", "%d directives, the limit is %d", n, abi.MaxDirectives)
	}
	entries, err := m.at("ABI-13.1", "directives", uint64(address), 24*uint64(n))
	if err != nil {
		return nil, err
	}
	out := make([]Directive, 0, n)
	total := 0
	for ; len(entries) > 0; entries = entries[24:] {
		d := Directive{Kind: abi.DirectiveKind(get32(entries, 0))}
		if d.Kind < 1 || d.Kind > 7 {
			return nil, decodeError("ABI-13.2", "unknown directive %d", d.Kind)
		}
		for i, text := range [...]*string{&d.First, &d.Second} {
			bytes, err := m.at("ABI-13.1", "the text of a directive", uint64(get32(entries, 8+8*i)), uint64(get32(entries, 12+8*i)))
			if err != nil {
				return nil, err
			}
			if total += len(bytes); total > abi.MaxDirectiveText {
				return nil, decodeError("ABI-10", "the texts of the directives have more than %d bytes", abi.MaxDirectiveText)
			}
			if !utf8.Valid(bytes) {
				return nil, decodeError("ABI-13.1", "the text of a directive is not UTF-8: %q", bytes)
			}
			*text = string(bytes)
		}
		out = append(out, d)
	}
	return out, nil
}
