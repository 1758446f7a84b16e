package berth

import "encoding/binary"

// Queued is how a pod stands in the queue.
type Queued struct {
	// Time at which the pod was queued, in nanoseconds since 1970.
	Time int64
	// Attempts is the number of tries so far.
	Attempts uint32
	_        uint32
}

// maxKey is the most bytes of a key.
const maxKey = 64

// Key is the place of a pod in the queue: up to 64 bytes, of which QueueKey
// appends one part after the other, the most important first. Keys are compared
// byte by byte, and the smaller one is tried first. The parts below are made so
// that their own order is that of the bytes; the Descending ones turn it around.
//
// A key that becomes longer than 64 bytes fails the call. Where a part may be
// long, see Room.
type Key struct {
	length uint32 // as appended, so it may be more than there is
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

// AppendBytes appends bytes as they are: a part of a fixed length, or the last
// one.
func (k *Key) AppendBytes(b []byte) { k.add(b, 0) }

// AppendBytesDescending appends bytes turned around: a larger one comes first.
func (k *Key) AppendBytesDescending(b []byte) { k.add(b, 0xFF) }

// AppendText appends a text of any length and two bytes that end it, so that
// parts after it do not mix with it: texts are in the order of their bytes, a
// beginning of another one before it. A zero byte in it takes two.
func (k *Key) AppendText(s string) { k.addText(s, 0) }

// AppendTextDescending is AppendText turned around.
func (k *Key) AppendTextDescending(s string) { k.addText(s, 0xFF) }

// The end of a text is 0 1 and a zero byte in it 0 255, so that the end is less
// than anything that goes on.
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
