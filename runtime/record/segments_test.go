package record_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
)

// modulesOf returns the files of the modules that a recording has, in their order.
func modulesOf(t *testing.T, recording []byte) (out []string) {
	t.Helper()
	lines, err := read(t, recording)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if file, ok := strings.CutPrefix(line, "module "); ok {
			out = append(out, strings.Fields(file)[0])
		}
	}
	return out
}

// moduleNamed returns a module that is larger than segments and cannot be compressed.
func moduleNamed(file string) *inbox.Module {
	r := rand.New(rand.NewPCG(uint64(file[0]), 1))
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(r.Uint64())
	}
	return &inbox.Module{File: file, Bytes: data}
}

// TestModules: a segment has the modules in use at its beginning, and those that are attached later where that happens, once; they
// do not count for its size. One that is loaded for a swap is there although a segment begins before the swap.
func TestModules(t *testing.T) {
	segments := []*bytes.Buffer{{}}
	w, err := record.NewWriter(segments[0], record.Config{
		MaxBytes: 20_000, SegmentBytes: 10_000, Ended: func(err error) { t.Error(err) },
		Next: func() (io.Writer, error) {
			segments = append(segments, &bytes.Buffer{})
			return segments[len(segments)-1], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := moduleNamed("a.wasm"), moduleNamed("b.wasm"), moduleNamed("c.wasm")
	begin := func() {
		w.Begin()
		w.Enter(&inbox.Step{})
	}
	check := func(full bool) {
		t.Helper()
		if w.Sync(); w.Full() != full {
			t.Errorf("full is not %v", full)
		}
	}
	w.Enter(&inbox.Settings{Config: `"a.wasm"`})
	w.Enter(a)
	w.Enter(&inbox.Step{})
	check(false)
	w.Enter(a)
	w.Enter(b)
	w.Enter(&inbox.Swap{Config: `"a.wasm"`, Attached: []byte(`["b.wasm"]`)})
	check(false)
	for range 200 {
		w.Enter(&inbox.NodeGone{Name: strings.Repeat("n", 70)})
	}
	check(true)
	begin()
	check(false)
	w.Enter(b)
	w.Enter(&inbox.Swap{Config: `"b.wasm"`})
	begin()
	w.Enter(a)
	w.Enter(c)
	begin()
	w.Enter(&inbox.Swap{Config: `"a.wasm"`, Attached: []byte(`["c.wasm"]`)})
	begin()
	check(false)
	// Three swaps are prepared before the loop makes the first, and the one between the others does not name b.
	w.Enter(b)
	w.Enter(a)
	w.Enter(b)
	w.Enter(&inbox.Swap{Config: `"b.wasm"`})
	w.Enter(&inbox.Swap{Config: `"a.wasm"`})
	w.Enter(&inbox.Swap{Config: `"b.wasm"`})
	begin()
	w.Close()
	for i, want := range [][]string{
		{"a.wasm", "b.wasm"}, {"a.wasm", "b.wasm"}, {"b.wasm", "a.wasm", "c.wasm"}, {"b.wasm", "a.wasm", "c.wasm"},
		{"a.wasm", "c.wasm", "b.wasm"}, {"b.wasm"},
	} {
		if got := modulesOf(t, segments[i].Bytes()); !slices.Equal(got, want) {
			t.Errorf("segment %d has %v, want %v", i, got, want)
		}
	}
}

// TestFullAtStart: a recording that cannot be begun begins later, with what was swapped meanwhile.
func TestFullAtStart(t *testing.T) {
	var good bytes.Buffer
	outs := []io.Writer{nil, &full{}, &full{room: 60}, &good}
	var ended []error
	resumed := 0
	w, err := record.NewWriter(nil, record.Config{
		SegmentBytes: 1 << 30, Retry: time.Nanosecond, Ended: func(err error) { ended = append(ended, err) }, Resumed: func(int) { resumed++ },
		Next: func() (io.Writer, error) {
			out := outs[0]
			if outs = outs[1:]; out == nil {
				return nil, errors.New("no space left on device")
			}
			return out, nil
		},
	})
	if err != nil || len(ended) != 1 {
		t.Fatal(err, ended)
	}
	w.Enter(&inbox.Settings{Seed: 7})
	w.Enter(&inbox.Swap{Config: "swapped"})
	for range 5 {
		w.Enter(&inbox.Step{})
		if w.Sync(); w.Full() {
			w.Begin()
		}
	}
	w.Close()
	lines, err := read(t, good.Bytes())
	if err != nil || len(ended) != 3 || resumed != 1 || len(lines) < 3 || !strings.Contains(lines[0], "swapped") {
		t.Errorf("%q, ended with %v, resumed %d times, %v", lines, ended, resumed, err)
	}
}

// TestWaits: the first segment of a scheduler that waits to lead ends at its size, without an alarm, and the next one begins when
// it leads. A checkpoint and what comes with it do not count.
func TestWaits(t *testing.T) {
	segments := []*bytes.Buffer{{}}
	w, err := record.NewWriter(segments[0], record.Config{
		MaxBytes: 1 << 20, SegmentBytes: 1000, Ended: func(err error) { t.Error(err) },
		Next: func() (io.Writer, error) {
			segments = append(segments, &bytes.Buffer{})
			return segments[len(segments)-1], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	reason := string(bytes.Repeat([]byte("r"), 100))
	many := func() {
		for i := range 60 {
			data := moduleNamed(string(rune('a' + i))).Bytes
			w.Enter(&inbox.Reject{UID: "u", Plugin: "p", Reason: reason + string(data)})
		}
		w.Sync()
	}
	w.Enter(&inbox.Settings{Seed: 7})
	many()
	if w.Full() {
		t.Error("full before the first turn")
	}
	w.Enter(&inbox.Step{})
	if w.Sync(); !w.Full() {
		t.Error("no segment begins")
	}
	w.Begin()
	many() // the checkpoint
	w.Enter(&inbox.Step{})
	if w.Sync(); w.Full() {
		t.Error("the checkpoint counts")
	}
	w.Close()
	for i, s := range segments {
		if _, err := read(t, s.Bytes()); err != nil {
			t.Errorf("segment %d: %v", i, err)
		}
	}
	if len(segments) != 2 {
		t.Errorf("%d segments", len(segments))
	}
}
