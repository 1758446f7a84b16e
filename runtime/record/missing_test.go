package record_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
)

// TestMissing: decisions are in a segment, or their number is told when the recording goes on after a full disk.
func TestMissing(t *testing.T) {
	var good bytes.Buffer
	outs := []io.Writer{&full{room: 60}, &good}
	missing := -1
	w, err := record.NewWriter(&full{room: 400}, record.Config{
		SegmentBytes: 1 << 30, Retry: time.Nanosecond, Ended: func(error) {}, Resumed: func(n int) { missing = n },
		Next: func() (io.Writer, error) {
			out := outs[0]
			outs = outs[1:]
			return out, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Enter(&inbox.Settings{Seed: 7})
	for range 9 {
		w.Enter(&inbox.Step{})
		w.Enter(&inbox.Decision{Pod: "ns/" + strings.Repeat("p", 300_000), Code: "Success", Node: "n"}) // each is a frame
		if w.Sync(); missing < 0 && w.Full() {
			w.Begin()
			w.Sync()
		}
	}
	w.Close()
	lines, err := read(t, good.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "decision ") {
			written++
		}
	}
	if missing < 1 || written < 1 || missing+written != 9 {
		t.Errorf("%d decisions are written, %d are said to be missing", written, missing)
	}
}

// TestSaysWhy: a recording that reaches its maximum size is closed, and says that.
func TestSaysWhy(t *testing.T) {
	var out bytes.Buffer
	w, err := record.NewWriter(&out, record.Config{MaxBytes: 200})
	if err != nil {
		t.Fatal(err)
	}
	w.Enter(&inbox.Settings{Seed: 7})
	for _, e := range noise(1, 40) {
		w.Enter(e)
	}
	w.Close()
	lines, err := read(t, out.Bytes())
	if err != nil || lines[len(lines)-1] != `end reason="it has reached its maximum size of 200 bytes"` {
		t.Errorf("%.300q, %v", lines, err)
	}
}
