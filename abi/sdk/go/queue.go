package berth

import "encoding/binary"

// Queued is a pod's data in the queue.
type Queued struct {
	// Time is when the pod was queued, in nanoseconds since 1970.
	Time int64
	// Attempts is the number of attempts so far.
	Attempts uint32
	_        uint32
}

// maxKey is the maximum size of a key in bytes.
const maxKey = 64

// Key is the place of a pod in the queue: up to 64 bytes. QueueKey appends its parts, the most
// important first. Keys are compared byte by byte, and the pod with the smaller one is tried
// first. The order of a part below is the order of its bytes; Descending variants reverse it.
//
// A key longer than 64 bytes fails the call. If a part may be long, use Room.
type Key struct {
	length uint32 // as appended, so it may exceed the size
	bytes  [maxKey]byte
}

// Room returns how many bytes still fit.
func (k *Key) Room() int { return max(maxKey-int(k.length), 0) }

// AppendUint64 appends 8 bytes: a smaller number comes first.
func (k *Key) AppendUint64(v uint64) {
	if k.Room() >= 8 {
		binary.BigEndian.PutUint64(k.bytes[k.length:], v)
	}
	k.length += 8
}

// AppendUint64Descending appends 8 bytes: a larger number comes first.
func (k *Key) AppendUint64Descending(v uint64) { k.AppendUint64(^v) }

// AppendInt64 appends 8 bytes: a smaller number comes first, negative ones before
// 0.
func (k *Key) AppendInt64(v int64) { k.AppendUint64(uint64(v) ^ 1<<63) }

// AppendInt64Descending appends 8 bytes: a larger number comes first.
func (k *Key) AppendInt64Descending(v int64) { k.AppendInt64(^v) }

// AppendBytes appends bytes unchanged: a part of fixed length, or the last one.
func (k *Key) AppendBytes(b []byte) { k.add(b, 0) }

// AppendBytesDescending appends inverted bytes: a larger one comes first.
func (k *Key) AppendBytesDescending(b []byte) { k.add(b, 0xFF) }

// AppendText appends a string of any length and two bytes that end it, so that later parts do
// not mix with it: strings are in the order of their bytes, a prefix before longer strings. A
// zero byte takes two bytes.
func (k *Key) AppendText(s string) { k.addText(s, 0) }

// AppendTextDescending is AppendText in reverse order.
func (k *Key) AppendTextDescending(s string) { k.addText(s, 0xFF) }

// The end of a string is 0 1 and a zero byte in it 0 255, so that the end is less than any
// continuation.
func (k *Key) addText(s string, mask byte) {
	for i := range len(s) {
		k.put(s[i], mask)
		if s[i] == 0 {
			k.put(0xFF, mask)
		}
	}
	k.put(0, mask)
	k.put(1, mask)
}

func (k *Key) add(b []byte, mask byte) {
	for _, v := range b {
		k.put(v, mask)
	}
}

func (k *Key) put(v, mask byte) {
	if k.length < maxKey {
		k.bytes[k.length] = v ^ mask
	}
	k.length++
}
