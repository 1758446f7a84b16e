package record

import (
	"bytes"
	"cmp"
	"compress/flate"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
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
	failed  bool // the last segment ended early
	retry   time.Time
	// missing counts decisions that no segment has, since this was said, and unwritten those that are not written yet.
	missing, unwritten int
	chain              chain
	// begun is what the segment had when the loop took its first turn, its checkpoint, and the modules that came after that. It
	// does not count.
	begun   int64
	stepped bool // it took a turn, whether or not the segment had ended
	later   bool // the segment is not the first
	free    bool // what is being written does not count
	// What the next segment begins with.
	settings *inbox.Settings
	modules  []*attachment
}

// attachment is a module that the settings name, or that the next swap is to name.
type attachment struct {
	*inbox.Module
	used    bool // the settings name it
	awaited int  // swaps that are still to come name it; they are prepared ahead of the loop
	has     bool // the segment has it
}

func newSegments(out io.Writer, config *Config) (*segments, error) {
	packer, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	s := &segments{config: config, encoder: inbox.NewEncoder(), redact: newRedactor(), frame: make([]byte, 0, frameSize+frameSize/4), packer: packer}
	if out == nil {
		s.open()
		return s, nil
	}
	return s, s.to(out)
}

// to writes the first line of a segment.
func (s *segments) to(out io.Writer) error {
	if _, err := io.WriteString(out, Header); err != nil {
		return err
	}
	s.out, s.written, s.ended, s.begun, s.chain = out, int64(len(Header)), false, 0, newChain(Header)
	s.frame = s.frame[:0]
	s.encoder.Reset()
	return nil
}

// open begins a segment where Next says.
func (s *segments) open() {
	s.ended = true
	out, err := s.config.Next()
	if err == nil {
		err = s.to(out)
	}
	if err != nil {
		s.end(fmt.Errorf("begin a segment: %w", err))
	}
}

// enter takes the next event.
func (s *segments) enter(e inbox.Event) {
	if m, ok := e.(*inbox.Module); ok {
		s.attach(m)
		return
	}
	s.remember(e)
	_, decision := e.(*inbox.Decision)
	switch {
	case s.ended && decision:
		s.missing++
	case s.ended:
	default:
		if decision {
			s.unwritten++
		}
		s.append(e)
	}
}

// The reasons for an End.
const (
	reasonFull    = "the segment has its size; the next one goes on"
	reasonWaits   = "the segment has its size; the next one begins when the scheduler leads"
	reasonWidened = "plugins came that read annotations which were not recorded before; the next segment has them"
)

// widen takes plugins that read annotations which the objects of the segment lack. The next segment begins at once, with them. Where
// there is none, the recording cannot be repeated from here on.
func (s *segments) widen(e *inbox.Swap, more []string) {
	s.remember(e)
	switch {
	case s.ended:
	case s.segmented():
		s.append(&inbox.End{Reason: reasonWidened})
		s.full = true
	default:
		own := *e
		own.Lacks = cmp.Or(own.Lacks, "plugins read annotations that were not recorded before: "+strings.Join(more, ", "))
		s.append(&own)
	}
}

// segmented reports whether another segment can follow: ranks come once, with the nodes.
func (s *segments) segmented() bool {
	return s.config.SegmentBytes > 0 && s.settings != nil && !s.settings.Ranked
}

// attach takes a module, of the settings or of a swap that is still to come.
func (s *segments) attach(m *inbox.Module) {
	i := slices.IndexFunc(s.modules, func(known *attachment) bool { return known.File == m.File })
	switch {
	case i >= 0:
		s.modules[i].awaited++
	case s.names(m):
		i = len(s.modules)
		s.modules = append(s.modules, &attachment{Module: m, used: true})
	default:
		i = len(s.modules)
		s.modules = append(s.modules, &attachment{Module: m, awaited: 1})
	}
	s.write(s.modules[i])
}

// names reports whether the settings name a module.
func (s *segments) names(m *inbox.Module) bool {
	return s.settings != nil && named(m.File, s.settings.Config, s.settings.Attached)
}

// named reports whether a configuration or attached plugins name a module.
func named(file, config string, attached []byte) bool {
	return strings.Contains(config, file) || bytes.Contains(attached, []byte(file))
}

// write writes a module, unless the segment has it.
func (s *segments) write(a *attachment) {
	if s.ended || a.has {
		return
	}
	if !s.stepped { // with the settings, before what follows them
		s.append(a.Module)
		a.has = !s.ended
		return
	}
	s.flush()
	before := s.written
	s.free = true
	s.append(a.Module)
	s.flush()
	s.free = false
	s.begun += s.written - before
	a.has = !s.ended
}

// keep forgets modules that the settings name no more, and that no swap to come names.
func (s *segments) keep() {
	s.modules = slices.DeleteFunc(s.modules, func(m *attachment) bool {
		was := m.used
		if m.used = s.names(m.Module); m.used && m.awaited > 0 {
			m.awaited--
		}
		return was && !m.used && m.awaited == 0
	})
}

// lose ends a segment that lacks what comes next.
func (s *segments) lose(err error) {
	s.stepped = true // or it is among what is missing
	if !s.ended {
		s.early(err)
	}
}

// early ends the recording early, and says in it why.
func (s *segments) early(err error) {
	s.append(&inbox.End{Reason: err.Error()})
	s.end(err)
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
		s.keep()
	case *inbox.Swap:
		if s.settings == nil {
			return // a swap of a recording without a beginning
		}
		s.settings.Config, s.settings.Attached, s.settings.Lacks = e.Config, e.Attached, e.Lacks
		s.keep()
		for _, key := range e.Annotations {
			if !slices.Contains(s.settings.Annotations, key) {
				s.settings.Annotations = append(slices.Clone(s.settings.Annotations), key)
			}
		}
	case *inbox.Step:
		if !s.stepped {
			s.stepped, s.begun = true, s.size()
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

// progress returns how far the segment is.
func (s *segments) progress() progress {
	p := progress{ended: s.ended}
	switch {
	case !s.segmented() || !s.stepped:
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
		s.append(&inbox.End{Reason: reasonFull})
	}
	s.full, s.stepped, s.later = false, false, true
	s.open()
	for _, m := range s.modules {
		m.has = false
	}
	if s.ended {
		return
	}
	s.append(s.settings)
	for _, m := range s.modules {
		s.write(m)
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
		s.free = true
		s.flush()
		s.free, s.ended = false, true
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
	size := int64(headSize + s.packed.Len())
	if counts := s.stepped || !s.later; counts && !s.free && s.config.MaxBytes > 0 && s.written-s.begun+size > s.config.MaxBytes {
		s.exceeded()
		return
	}
	head := s.chain.head(s.packed.Bytes(), s.frame)
	s.frame = s.frame[:0]
	s.encoder.Reset()
	if _, err := s.out.Write(append(head, s.packed.Bytes()...)); err != nil { // in one write, so that a kill leaves whole frames
		s.end(err)
		return
	}
	s.chain.next(head, s.packed.Bytes())
	s.written += size
	s.unwritten = 0
	if !s.free && (s.failed || s.missing > 0) {
		missing := s.missing
		s.failed, s.missing = false, 0
		if s.config.Resumed != nil {
			s.config.Resumed(missing)
		}
	}
}

// exceeded ends a segment that is too large. Of a scheduler that has not led, nothing is missing: the next segment begins when it
// does.
func (s *segments) exceeded() {
	s.full = true
	s.frame = s.frame[:0]
	s.encoder.Reset()
	s.missing, s.unwritten = s.missing+s.unwritten, 0
	if s.stepped || s.config.SegmentBytes == 0 {
		s.early(fmt.Errorf("it has reached its maximum size of %d bytes", s.config.MaxBytes))
		return
	}
	s.append(&inbox.End{Reason: reasonWaits})
}

// end ends the recording early.
func (s *segments) end(err error) {
	s.ended, s.failed, s.retry = true, true, now().Add(s.config.Retry)
	s.missing, s.unwritten = s.missing+s.unwritten, 0
	if s.config.Ended != nil {
		s.config.Ended(err)
	}
}
