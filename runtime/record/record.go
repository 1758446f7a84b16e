// Package record writes what enters a scheduler's loop to a file, and reads it again. docs/recordings.md
// describes the format.
package record

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// Header is the first line of a recording. Its number is the version of the format.
const Header = "berth recording 4\n"

// firstHeader, secondHeader and thirdHeader are those of earlier versions, of which only the text form can be read: the
// compact form of some events has more fields now.
const (
	firstHeader  = "berth recording 1\n"
	secondHeader = "berth recording 2\n"
	thirdHeader  = "berth recording 3\n"
)

const (
	// frameSize is the size at which events are written, before compression.
	frameSize = 256 << 10
	// maxFrame bounds a frame before and after compression: the largest event is a module.
	maxFrame = 1 << 30
	// flushEvery is how long events may wait to be written.
	flushEvery = time.Second
)

// Config configures a Writer.
type Config struct {
	// MaxBytes bounds what is written, or each segment; 0 means no bound.
	MaxBytes int64
	// SegmentBytes is how much follows the checkpoint of a segment before another one begins; 0 means never.
	SegmentBytes int64
	// Next (optional) returns where the next segment is written. Nothing is written to the last one any more.
	Next func() (io.Writer, error)
	// Retry is the time after which a recording that could not be written continues in the next segment; 0 means never.
	Retry time.Duration
	// Ended (optional) is called if the recording, or one of its segments, ends before it should, with the reason.
	Ended func(err error)
}

// Writer writes a recording. It implements inbox.Recorder.
//
// Events are gathered in frames, each compressed for itself and with a checksum. A frame is written when
// it is full and after a second, so little is lost if the process is killed. A recording may go on in other
// segments, each a recording that begins with the settings and with all that the loop carries on.
type Writer struct {
	config Config

	mu      sync.Mutex
	out     io.Writer
	encoder *inbox.Encoder
	redact  *redactor
	frame   []byte // events that are not written yet
	packer  *flate.Writer
	packed  bytes.Buffer
	written int64
	ended   bool
	full    bool // it ended because of MaxBytes
	retry   time.Time
	// begun is what the segment had when the loop took its first turn: its checkpoint.
	begun   int64
	stepped bool // it took a turn, whether or not the segment had ended
	later   bool // the segment is not the first
	last    bool // even the checkpoint had no room
	// What the next segment begins with.
	settings *inbox.Settings
	modules  []*inbox.Module

	stop    chan struct{}
	stopped sync.WaitGroup
}

var _ inbox.Segmented = (*Writer)(nil)

// NewWriter begins a recording. Close ends it; it does not close out.
func NewWriter(out io.Writer, config Config) (*Writer, error) {
	packer, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(out, Header); err != nil {
		return nil, err
	}
	w := &Writer{config: config, out: out, encoder: inbox.NewEncoder(), redact: newRedactor(), packer: packer, written: int64(len(Header)), stop: make(chan struct{})}
	w.stopped.Go(w.flushing)
	return w, nil
}

// flushing writes events that have waited.
func (w *Writer) flushing() {
	ticks := time.NewTicker(flushEvery) //nolint:forbidigo // when events reach the file decides nothing
	defer ticks.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticks.C:
			w.mu.Lock()
			w.flush()
			w.mu.Unlock()
		}
	}
}

// Enter implements inbox.Recorder.
func (w *Writer) Enter(e inbox.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remember(e)
	if !w.ended {
		w.append(e)
	}
}

// remember keeps what the next segment begins with. The caller holds w.mu.
func (w *Writer) remember(e inbox.Event) {
	switch e := e.(type) {
	case *inbox.Settings:
		own := *e
		w.settings = &own
	case *inbox.Swap:
		if w.settings == nil {
			return // a swap of a recording without a beginning
		}
		w.settings.Config, w.settings.Attached, w.settings.Lacks = e.Config, e.Attached, e.Lacks
		for _, key := range e.Annotations {
			if !slices.Contains(w.settings.Annotations, key) {
				w.settings.Annotations = append(slices.Clone(w.settings.Annotations), key)
			}
		}
	case *inbox.Step:
		if !w.stepped {
			w.stepped, w.begun = true, w.size()
		}
	case *inbox.Module:
		if !slices.ContainsFunc(w.modules, func(known *inbox.Module) bool { return known.File == e.File }) {
			w.modules = append(w.modules, e)
		}
	}
}

// Full implements inbox.Segmented. A recording whose checkpoints have no room does not go on.
func (w *Writer) Full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.config.SegmentBytes == 0 || !w.stepped || w.last || w.settings == nil || w.settings.Ranked { // ranks come once, with the nodes
		return false
	}
	if w.ended && !w.full {
		return w.config.Retry > 0 && !now().Before(w.retry)
	}
	return w.full || w.size()-w.begun >= w.config.SegmentBytes
}

// size is the size of the segment, before what waits is compressed. The caller holds w.mu.
func (w *Writer) size() int64 { return w.written + int64(len(w.frame)) }

// Begin implements inbox.Segmented.
func (w *Writer) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.append(&inbox.End{})
	}
	w.ended, w.full, w.stepped, w.later = true, false, false, true
	out, err := w.config.Next()
	if err == nil {
		_, err = io.WriteString(out, Header)
	}
	if err != nil {
		w.end(fmt.Errorf("begin the next segment: %w", err))
		return
	}
	w.out, w.written, w.ended = out, int64(len(Header)), false
	w.frame = w.frame[:0]
	w.encoder.Reset()
	w.append(w.settings)
	for _, m := range w.modules {
		w.append(m)
	}
}

// append appends an event. What a recording begins with is written before what follows, so that one of a
// process that was killed soon can be used. The caller holds w.mu.
func (w *Writer) append(e inbox.Event) {
	switch e.(type) {
	case *inbox.Settings, *inbox.Module:
	default:
		if w.written <= int64(len(Header)) {
			w.flush()
		}
		if w.ended {
			return
		}
	}
	var err error
	if w.frame, err = w.encoder.Append(w.frame, w.redact.event(e)); err != nil {
		w.end(fmt.Errorf("encode a %T: %w", e, err))
		return
	}
	if _, last := e.(*inbox.End); last {
		w.flush()
		w.ended = true
	} else if len(w.frame) >= frameSize {
		w.flush()
	}
}

// Close writes the end of the recording.
func (w *Writer) Close() {
	w.Enter(&inbox.End{})
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	close(w.stop)
	w.stopped.Wait()
}

// flush writes a frame. The caller holds w.mu.
func (w *Writer) flush() {
	if len(w.frame) == 0 || w.ended {
		return
	}
	w.packed.Reset()
	w.packer.Reset(&w.packed)
	_, err := w.packer.Write(w.frame)
	if err == nil {
		err = w.packer.Close()
	}
	if err != nil {
		w.end(err)
		return
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(w.packed.Len()))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(w.frame)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(w.frame, crc32.MakeTable(crc32.Castagnoli)))
	w.frame = w.frame[:0]
	w.encoder.Reset()
	size := int64(len(head) + w.packed.Len())
	if w.config.MaxBytes > 0 && w.written+size > w.config.MaxBytes {
		w.full, w.last = true, w.later && !w.stepped
		w.end(fmt.Errorf("it has reached its maximum size of %d bytes", w.config.MaxBytes))
		return
	}
	if _, err := w.out.Write(append(head, w.packed.Bytes()...)); err != nil { // in one write, so that a kill leaves whole frames
		w.end(err)
		return
	}
	w.written += size
}

// end ends the recording early. The caller holds w.mu.
func (w *Writer) end(err error) {
	w.ended, w.retry = true, now().Add(w.config.Retry)
	if w.config.Ended != nil {
		w.config.Ended(err)
	}
}

func now() time.Time {
	return time.Now() //nolint:forbidigo // when a recording goes on decides nothing
}
