package record_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/record"
)

// TestGoesOn: a recording that could not be written continues in another segment as soon as one can be written, and not before
// Retry. Without Retry it never does.
func TestGoesOn(t *testing.T) {
	for _, retry := range []time.Duration{0, time.Nanosecond, time.Hour} {
		var ended []error
		var good bytes.Buffer
		segments := []io.Writer{nil, &full{room: 20}, &good}
		w, err := record.NewWriter(&full{room: 50}, record.Config{
			SegmentBytes: 1 << 30, Retry: retry,
			Next: func() (io.Writer, error) {
				out := segments[0]
				if segments = segments[1:]; out == nil {
					return nil, errors.New("no space left on device")
				}
				return out, nil
			},
			Ended: func(err error) { ended = append(ended, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Enter(&inbox.Settings{Seed: 7})
		begun := 0
		for range 6 {
			w.Enter(&inbox.Step{})
			w.Sync()
			if w.Full() {
				w.Begin()
				begun++
			}
		}
		w.Close()
		if retry != time.Nanosecond {
			if begun != 0 || len(ended) != 1 {
				t.Errorf("after %v: begun %d times, ended with %v", retry, begun, ended)
			}
			continue
		}
		if lines, err := read(t, good.Bytes()); err != nil || len(lines) < 3 || begun != 3 || len(ended) != 3 {
			t.Errorf("begun %d times, ended with %v: %q, %v", begun, ended, lines, err)
		}
	}
}
