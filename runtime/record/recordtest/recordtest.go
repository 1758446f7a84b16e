// Package recordtest records into memory, for tests.
package recordtest

import (
	"bytes"
	"io"

	"github.com/berth-scheduler/berth/runtime/record"
)

// Recorder records into memory. Segments begin at the same turns of the loop each time, because the loop waits until
// all it has entered is encoded.
type Recorder struct {
	*record.Writer
	segments []*bytes.Buffer
}

// New begins a recording, with segments that have a size after their checkpoints; 0 for one segment.
func New(t interface{ Fatal(args ...any) }, segmentBytes int64) *Recorder {
	r := &Recorder{segments: []*bytes.Buffer{{}}}
	var err error
	r.Writer, err = record.NewWriter(r.segments[0], record.Config{
		SegmentBytes: segmentBytes, Ended: func(err error) { panic(err) },
		Next: func() (io.Writer, error) {
			r.segments = append(r.segments, &bytes.Buffer{})
			return r.segments[len(r.segments)-1], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Full implements inbox.Segmented.
func (r *Recorder) Full() bool {
	r.Sync()
	return r.Writer.Full()
}

// Segments ends the recording and returns it.
func (r *Recorder) Segments() []*bytes.Buffer {
	r.Close()
	return r.segments
}
