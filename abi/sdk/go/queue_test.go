package berth_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/seeded"
)

// keyed makes keys with a function.
type keyed struct {
	berth.Base
	make func(pod berth.Pod, queued berth.Queued, key *berth.Key)
}

func (p *keyed) QueueKey(pod berth.Pod, queued berth.Queued, key *berth.Key) {
	p.make(pod, queued, key)
}

// keys returns the key of each queue entry.
func (r *region) keys(entries ...wire.QueueEntry) (abi.Code, *wire.CallView) {
	r.t.Helper()
	r.queue, r.pods = entries, nil
	for range entries {
		r.pods = append(r.pods, r.record("p", "n"))
	}
	return r.call(abi.ExportQueueKey, 0, uint32(len(entries)), wire.Call{Point: abi.QueueSort, N: uint32(len(entries))})
}

// TestKeyOrder: the order of keys is the order of their parts; the first difference counts.
func TestKeyOrder(t *testing.T) {
	p := &keyed{Base: berth.Load(callsManifest)}
	r := newRegion(t, p, nil)
	type parts struct {
		a int64
		s string
		u uint64
		b []byte
		z int64
	}
	small := rapid.OneOf(rapid.Int64Range(-2, 2), rapid.Int64())
	text := rapid.StringOf(rapid.RuneFrom([]rune{0, 1, 'a', 'b', 'é', 0xFFFF})).Filter(func(s string) bool { return len(s) < 9 })
	seeded.Check(t, func(t *rapid.T) {
		down := rapid.SliceOfN(rapid.Bool(), 5, 5).Draw(t, "descending")
		var two [2]parts
		for i := range two {
			two[i] = parts{
				small.Draw(t, "a"), text.Draw(t, "s"), uint64(small.Draw(t, "u")),
				rapid.SliceOfN(rapid.ByteRange(0, 2), 2, 2).Draw(t, "b"), small.Draw(t, "z"),
			}
		}
		p.make = func(_ berth.Pod, queued berth.Queued, key *berth.Key) {
			v := two[queued.Attempts]
			choose(down[0], key.AppendInt64Descending, key.AppendInt64)(v.a)
			choose(down[1], key.AppendTextDescending, key.AppendText)(v.s)
			choose(down[2], key.AppendUint64Descending, key.AppendUint64)(v.u)
			choose(down[3], key.AppendBytesDescending, key.AppendBytes)(v.b)
			choose(down[4], key.AppendInt64Descending, key.AppendInt64)(v.z)
		}
		code, v := r.keys(wire.QueueEntry{Attempts: 0}, wire.QueueEntry{Attempts: 1})
		want := 0
		for i, c := range []int{
			cmp.Compare(two[0].a, two[1].a), strings.Compare(two[0].s, two[1].s), cmp.Compare(two[0].u, two[1].u),
			bytes.Compare(two[0].b, two[1].b), cmp.Compare(two[0].z, two[1].z),
		} {
			if down[i] {
				c = -c
			}
			want = cmp.Or(want, c)
		}
		if code != abi.Success || bytes.Compare(v.Keys[0], v.Keys[1]) != want {
			t.Fatalf("%v: the order of %x and %x is not %d", code, v.Keys[0], v.Keys[1], want)
		}
	})
}

func choose[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}

// TestKeyTooLong: a key of 64 bytes is accepted; one more byte fails the call with the size of
// the key.
func TestKeyTooLong(t *testing.T) {
	room := -1
	p := &keyed{Base: berth.Load(callsManifest), make: func(_ berth.Pod, queued berth.Queued, key *berth.Key) {
		key.AppendUint64(7)
		key.AppendBytes(make([]byte, queued.Attempts))
		room = key.Room()
	}}
	r := newRegion(t, p, nil)
	code, v := r.keys(wire.QueueEntry{Attempts: 56}, wire.QueueEntry{})
	if code != abi.Success || len(v.Keys[0]) != 64 || len(v.Keys[1]) != 8 || room != 56 {
		t.Errorf("%v, keys %x, room %d", code, v.Keys, room)
	}
	for attempts, want := range map[uint32]string{57: "65", 60_000: "60008"} {
		code, v = r.keys(wire.QueueEntry{}, wire.QueueEntry{Attempts: attempts})
		if want := "the queue key has " + want + " bytes, at most 64 are allowed"; code != abi.Error || reasons(v, v.StatusReason)[0] != want || room != 0 {
			t.Errorf("%v %v, room %d; want %s", code, v.ReasonSets, room, want)
		}
	}
	p.make = func(_ berth.Pod, queued berth.Queued, key *berth.Key) {
		key.AppendBytes(make([]byte, queued.Attempts))
		key.AppendInt64(1) // 8 bytes that do not fit completely
	}
	if code, _ = r.keys(wire.QueueEntry{Attempts: 60}); code != abi.Error {
		t.Errorf("68 bytes: %v", code)
	}
}
