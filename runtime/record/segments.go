package record

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

const (
	// frameSize is the size at which events are written, before compression.
	frameSize = 256 << 10
	// maxFrame bounds a frame before and after compression: the largest event is a module.
	maxFrame = 1 << 30
)

// segments encodes the events of a recording, segment by segment, in their order.
//
// Events are gathered in frames, each compressed for itself and with a checksum. A frame is written when
// it is full and after a second, so little is lost if the process is killed.
type segments struct {
	config  *Config
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
}

func newSegments(out io.Writer, config *Config) (*segments, error) {
	packer, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(out, Header); err != nil {
		return nil, err
	}
	return &segments{config: config, out: out, encoder: inbox.NewEncoder(), redact: newRedactor(), frame: make([]byte, 0, frameSize+frameSize/4), packer: packer, written: int64(len(Header))}, nil
}

// enter takes the next event.
func (s *segments) enter(e inbox.Event) {
	s.remember(e)
	if !s.ended {
		s.append(e)
	}
}

// lose ends a segment that lacks what comes next.
func (s *segments) lose(err error) {
	s.stepped = true // or it is among what is missing
	if !s.ended {
		s.end(err)
	}
}

// kept reports whether the next segment begins with an event, or with what it changes.
func kept(e inbox.Event) bool {
	switch e.(type) {
	case *inbox.Settings, *inbox.Swap, *inbox.Module:
		return true
	}
	return false
}

// remember keeps what the next segment begins with.
func (s *segments) remember(e inbox.Event) {
	switch e := e.(type) {
	case *inbox.Settings:
		own := *e
		s.settings = &own
	case *inbox.Swap:
		if s.settings == nil {
			return // a swap of a recording without a beginning
		}
		s.settings.Config, s.settings.Attached, s.settings.Lacks = e.Config, e.Attached, e.Lacks
		for _, key := range e.Annotations {
			if !slices.Contains(s.settings.Annotations, key) {
				s.settings.Annotations = append(slices.Clone(s.settings.Annotations), key)
			}
		}
	case *inbox.Step:
		if !s.stepped {
			s.stepped, s.begun = true, s.size()
		}
	case *inbox.Module:
		if !slices.ContainsFunc(s.modules, func(known *inbox.Module) bool { return known.File == e.File }) {
			s.modules = append(s.modules, e)
		}
	}
}

// progress is how far a segment is.
type progress struct {
	ended bool
	// full tells that another segment is to begin, or to begin at the time again, unless that is zero.
	full  bool
	again time.Time
}

// progress returns how far the segment is. A recording whose checkpoints have no room does not go on.
func (s *segments) progress() progress {
	p := progress{ended: s.ended}
	switch {
	case s.config.SegmentBytes == 0 || !s.stepped || s.last || s.settings == nil || s.settings.Ranked: // ranks come once, with the nodes
	case !s.ended || s.full:
		p.full = s.full || s.size()-s.begun >= s.config.SegmentBytes
	case s.config.Retry > 0:
		p.full, p.again = true, s.retry
	}
	return p
}

// size is the size of the segment, before what waits is compressed.
func (s *segments) size() int64 { return s.written + int64(len(s.frame)) }

// begin begins the next segment. What the loop carries on follows.
func (s *segments) begin() {
	if !s.ended {
		s.append(&inbox.End{})
	}
	s.ended, s.full, s.stepped, s.later = true, false, false, true
	out, err := s.config.Next()
	if err == nil {
		_, err = io.WriteString(out, Header)
	}
	if err != nil {
		s.end(fmt.Errorf("begin the next segment: %w", err))
		return
	}
	s.out, s.written, s.ended = out, int64(len(Header)), false
	s.frame = s.frame[:0]
	s.encoder.Reset()
	s.append(s.settings)
	for _, m := range s.modules {
		s.append(m)
	}
}

// append appends an event. What a recording begins with is written before what follows, so that one of a
// process that was killed soon can be used.
func (s *segments) append(e inbox.Event) {
	switch e.(type) {
	case *inbox.Settings, *inbox.Module:
	default:
		if s.written <= int64(len(Header)) {
			s.flush()
		}
		if s.ended {
			return
		}
	}
	var err error
	if s.frame, err = s.encoder.Append(s.frame, s.redact.event(e)); err != nil {
		s.end(fmt.Errorf("encode a %T: %w", e, err))
		return
	}
	if _, last := e.(*inbox.End); last {
		s.flush()
		s.ended = true
	} else if len(s.frame) >= frameSize {
		s.flush()
	}
}

// flush writes a frame.
func (s *segments) flush() {
	if len(s.frame) == 0 || s.ended {
		return
	}
	s.packed.Reset()
	s.packer.Reset(&s.packed)
	_, err := s.packer.Write(s.frame)
	if err == nil {
		err = s.packer.Close()
	}
	if err != nil {
		s.end(err)
		return
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(s.packed.Len()))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(s.frame)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(s.frame, crc32.MakeTable(crc32.Castagnoli)))
	s.frame = s.frame[:0]
	s.encoder.Reset()
	size := int64(len(head) + s.packed.Len())
	if s.config.MaxBytes > 0 && s.written+size > s.config.MaxBytes {
		s.full, s.last = true, s.later && !s.stepped
		s.end(fmt.Errorf("it has reached its maximum size of %d bytes", s.config.MaxBytes))
		return
	}
	if _, err := s.out.Write(append(head, s.packed.Bytes()...)); err != nil { // in one write, so that a kill leaves whole frames
		s.end(err)
		return
	}
	s.written += size
}

// end ends the recording early.
func (s *segments) end(err error) {
	s.ended, s.retry = true, now().Add(s.config.Retry)
	if s.config.Ended != nil {
		s.config.Ended(err)
	}
}
