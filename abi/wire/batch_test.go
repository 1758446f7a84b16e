package wire_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// batchExample returns a region with room for three pods and 64 bytes of records.
func batchExample(t testing.TB) *example {
	return newExample(t, wire.LayoutSpec{
		Tables: []wire.TableSpec{{ID: abi.TableNodes, Capacity: 2}},
		Batch:  3, RecordRoom: 64, Keys: true,
	})
}

// decoded decodes the call record of an example.
func (e *example) decoded(t testing.TB) *wire.CallView {
	t.Helper()
	c, err := wire.DecodeCall(e.memory, e.base+e.layout.Call)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBatch: ABI-3.1, 3.10, 3.11. Reading returns the pods, queue entries and event that were
// written; a call without them has none.
func TestBatch(t *testing.T) {
	e := batchExample(t)
	b := e.layout.NewBatch(e.region(), e.base)
	records := [][]byte{[]byte("first"), []byte("second"), []byte("3")}
	queue := []wire.QueueEntry{{Time: 1 << 60, Attempts: 7}, {Time: -1}, {Attempts: 1<<32 - 1}}
	for i, record := range records {
		if err := b.Add(record); err != nil {
			t.Fatal(err)
		}
		b.Queue(queue[i])
	}
	event := &wire.EventView{
		Resource: abi.EventDeviceClass, Actions: abi.ActionAdd | abi.ActionUpdateOther,
		OldPod: []byte("old"), NewPod: []byte("newer"), OldNode: abi.EventNoNode, NewNode: 1, Namespace: "ns", Name: "größe",
	}
	if err := b.Event(event); err != nil {
		t.Fatal(err)
	}
	if b.Len() != 3 || b.Bytes() > 64 {
		t.Errorf("%d pods, %d bytes", b.Len(), b.Bytes())
	}
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Hint, N: 3, Pods: true, Event: true, Keys: true})
	keys := e.region()[e.layout.Keys:]
	for i, key := range []string{"", "k", strings.Repeat("x", abi.MaxQueueKey)} {
		copy(keys[abi.KeySize*i:], append(le32(uint32(len(key))), key...))
	}
	c := e.decoded(t)
	for i, record := range c.Pods {
		if at := bytes.Index(e.memory, record); at%8 != 0 {
			t.Errorf("record %d is at %d, not a multiple of 8", i, at)
		}
	}
	if diff := cmp.Diff(records, c.Pods); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(queue, c.Queue); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(event, c.Event); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	if len(c.Keys) != 3 || len(c.Keys[0]) != 0 || string(c.Keys[1]) != "k" || len(c.Keys[2]) != 64 {
		t.Errorf("keys are %q", c.Keys)
	}

	// The next call has one pod, and nothing of this one.
	b = e.layout.NewBatch(e.region(), e.base)
	if err := b.Add([]byte("added")); err != nil {
		t.Fatal(err)
	}
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.AddPod, N: 1, Pods: true})
	if c = e.decoded(t); len(c.Pods) != 1 || string(c.Pods[0]) != "added" || c.Event != nil || c.Queue != nil || c.Keys != nil {
		t.Errorf("add_pod reads %+v", c)
	}
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.QueueSort, N: 1, Pods: true, Keys: true})
	if c = e.decoded(t); len(c.Keys) != 1 || len(c.Keys[0]) != 0 {
		t.Errorf("a key of an earlier call is left: %q", c.Keys)
	}
	e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Reserve})
	if c = e.decoded(t); c.Pods != nil || c.Event != nil || c.Queue != nil {
		t.Errorf("reserve reads %+v", c)
	}
}

// TestBatchIsFull: what does not fit is refused as a whole, and earlier records are unchanged.
func TestBatchIsFull(t *testing.T) {
	full := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, wire.ErrBatchFull) {
			t.Errorf("%s: %v", what, err)
		}
	}
	e := batchExample(t)
	b := e.layout.NewBatch(e.region(), e.base)
	after := bytes.Clone(e.memory[e.base+e.layout.Records+64:])
	full("65 bytes", b.Add(make([]byte, 65)))
	for _, size := range []int{1, 48} { // the second begins at 8
		if err := b.Add(bytes.Repeat([]byte{1}, size)); err != nil {
			t.Fatal(err)
		}
	}
	full("9 bytes where 8 are left", b.Add(make([]byte, 9)))
	full("an event of 9 bytes", b.Event(&wire.EventView{Name: "123456789"}))
	if err := b.Add(make([]byte, 8)); err != nil || b.Len() != 3 || b.Bytes() != 64 {
		t.Errorf("8 bytes where 8 are left: %v; %d pods, %d bytes", err, b.Len(), b.Bytes())
	}
	full("a fourth pod", b.Add(nil))
	if !bytes.Equal(after, e.memory[e.base+e.layout.Records+64:]) {
		t.Error("it wrote beyond the records")
	}
}

// TestDirectives: ABI-13.1 and 10. Directives are read unchanged; one that exceeds a limit or
// is not UTF-8 is refused with the sentence.
func TestDirectives(t *testing.T) {
	memory := make(wire.Memory, 1<<20)
	text := func(at int, s string) []byte { copy(memory[at:], s); return le32(uint32(at), uint32(len(s))) }
	write := func(i int, kind uint32, first, second []byte) {
		copy(memory[0x100+24*i:], append(append(le32(kind, 0), first...), second...))
	}
	none := le32(0, 0)
	var want []wire.Directive
	for i := range abi.MaxDirectives {
		kind := uint32(i%7) + 1
		write(i, kind, text(0x10000+16*i, "first"), none)
		want = append(want, wire.Directive{Kind: abi.DirectiveKind(kind), First: "first"})
	}
	got, err := wire.DecodeDirectives(memory, 0x100, abi.MaxDirectives)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err = wire.DecodeDirectives(memory, 0xffffffff, 0); got != nil || err != nil {
		t.Errorf("none are %v, %v", got, err)
	}
	long := strings.Repeat("x", abi.MaxDirectiveText)
	write(0, 1, text(0x20000, "k"), text(0x30000, long[1:]))
	if got, err = wire.DecodeDirectives(memory, 0x100, 1); err != nil || len(got[0].Second) != abi.MaxDirectiveText-1 {
		t.Errorf("65,536 bytes: %v", err)
	}
	for name, c := range map[string]struct {
		rule string
		set  func() (address, n uint32)
	}{
		"too many":      {"ABI-10", func() (uint32, uint32) { return 0x100, abi.MaxDirectives + 1 }},
		"out of bounds": {"ABI-13.1", func() (uint32, uint32) { return 1<<20 - 23, 1 }},
		"kind 0":        {"ABI-13.2", func() (uint32, uint32) { write(0, 0, none, none); return 0x100, 1 }},
		"kind 8":        {"ABI-13.2", func() (uint32, uint32) { write(0, 8, none, none); return 0x100, 1 }},
		"text":          {"ABI-13.1", func() (uint32, uint32) { write(0, 1, le32(1<<20, 1), none); return 0x100, 1 }},
		"second text":   {"ABI-13.1", func() (uint32, uint32) { write(0, 1, none, le32(1, 1<<32-1)); return 0x100, 1 }},
		"bytes":         {"ABI-10", func() (uint32, uint32) { write(0, 1, text(0x20000, "kk"), text(0x30000, long[1:])); return 0x100, 1 }},
		"bytes of two": {"ABI-10", func() (uint32, uint32) {
			write(0, 1, none, text(0x30000, long[1:]))
			write(1, 1, none, text(0x20000, "kk"))
			return 0x100, 2
		}},
		"no UTF-8": {"ABI-13.1", func() (uint32, uint32) { write(0, 1, text(0x20000, "\xff"), none); return 0x100, 1 }},
	} {
		address, n := c.set()
		if _, err := wire.DecodeDirectives(memory, address, n); !errors.Is(err, wire.ErrDecode) || !strings.Contains(err.Error(), "("+c.rule+")") {
			t.Errorf("%s: %v, want %s", name, err, c.rule)
		}
	}
}

// TestBatchRefuses: each wrong number in the lists of a call is an error that names the
// violated sentence.
func TestBatchRefuses(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		offset     func(l *wire.Layout) uint32
		value      uint32
	}{
		{"pod list", "ABI-3.1", func(l *wire.Layout) uint32 { return l.Call + abi.CallPods }, 65530},
		{"record", "ABI-3.1", func(l *wire.Layout) uint32 { return l.PodList }, 65535},
		{"record's size", "ABI-3.1", func(l *wire.Layout) uint32 { return l.PodList + 4 }, 65536},
		{"event", "ABI-3.10", func(l *wire.Layout) uint32 { return l.Call + abi.CallEvent }, 65500},
		{"event's pod", "ABI-3.10", func(l *wire.Layout) uint32 { return l.Event + abi.EventNewPodSize }, 65536},
		{"event's name", "ABI-3.10", func(l *wire.Layout) uint32 { return l.Event + abi.EventName }, 65535},
		{"queue", "ABI-3.11", func(l *wire.Layout) uint32 { return l.Call + abi.CallQueue }, 65530},
		{"keys", "ABI-3.11", func(l *wire.Layout) uint32 { return l.Call + abi.CallKeys }, 65500},
		{"key", "ABI-5.10", func(l *wire.Layout) uint32 { return l.Keys }, 65},
	} {
		e := batchExample(t)
		b := e.layout.NewBatch(e.region(), e.base)
		if err := errors.Join(b.Add([]byte("pod")), b.Event(&wire.EventView{NewPod: []byte("p"), Name: "n2"})); err != nil {
			t.Fatal(err)
		}
		e.layout.SetCall(e.region(), e.base, wire.Call{Point: abi.Hint, N: 1, Pods: true, Event: true, Keys: true})
		copy(e.region()[c.offset(e.layout):], le32(c.value))
		if _, err := wire.DecodeCall(e.memory, e.base+e.layout.Call); !errors.Is(err, wire.ErrDecode) || !strings.Contains(err.Error(), "("+c.rule+")") {
			t.Errorf("%s: got %v, want %s", c.name, err, c.rule)
		}
	}
}
