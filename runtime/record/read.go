package record

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// Reader reads a recording, in the compact or in the text form. The text form begins with the same
// header, as a comment.
type Reader struct {
	in      *bufio.Reader
	text    bool
	first   bool // it has the first version
	decoder *inbox.Decoder
	frame   []byte
	read    int // events so far
	ended   bool
}

// ErrCut is the error of a recording that ends without End: the process was killed, or the recording
// had reached its maximum size. All events before it were read.
var ErrCut = errors.New("the recording was not closed: its last second may be missing")

// NewReader begins to read a recording.
//
// # Errors
//
// The input is not a recording, or is of another version.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(in, 64<<10), decoder: inbox.NewDecoder()}
	first, err := r.in.ReadSlice('\n') // no more than the buffer: the file may be anything
	plain, text := strings.CutPrefix(string(first), "# ")
	switch {
	case plain == Header:
		r.text = text
		return r, nil
	case text && (plain == firstHeader || plain == secondHeader || plain == thirdHeader):
		r.text, r.first = true, plain == firstHeader
		return r, nil
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
		return nil, err
	case strings.HasPrefix(plain, "berth recording "):
		return nil, fmt.Errorf("the recording has the format %q, and this berth reads %q and the text form of older ones: use the berth that wrote it, or print it as text with that one (berth replay FILE --text)",
			strings.TrimSpace(plain), strings.TrimSpace(Header))
	}
	return nil, errors.New("it is not a recording of berth: its first line is not " + strings.TrimSpace(Header))
}

// Read returns the number of events that were read.
func (r *Reader) Read() int { return r.read }

// Next returns the next event; io.EOF after End.
//
// # Errors
//
// The recording is damaged, or ErrCut.
func (r *Reader) Next() (e inbox.Event, err error) {
	if r.ended {
		return nil, io.EOF
	}
	if r.text {
		e, err = r.line()
	} else {
		e, err = r.event()
	}
	if err == nil {
		r.read++
		if _, r.ended = e.(*inbox.End); r.ended && r.more() {
			err = errors.New("it continues after its end (replay each segment as a file of its own)")
		}
	}
	switch {
	case errors.Is(err, ErrCut):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("the recording is damaged after event %d: %w", r.read, err)
	}
	return e, nil
}

// more reports whether anything but comments follows.
func (r *Reader) more() bool {
	if !r.text {
		_, err := r.in.Peek(1)
		return len(r.frame) > 0 || err == nil
	}
	for {
		line, err := r.in.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// line reads an event from the text form. It skips comments and empty lines.
func (r *Reader) line() (inbox.Event, error) {
	for {
		line, err := r.in.ReadString('\n')
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case err != nil: // a line without its end may be cut off
			return nil, ErrCut
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case r.first && strings.HasPrefix(line, "overrun "):
			return nil, fmt.Errorf("an overrun in the format %q does not say which call it was", strings.TrimSpace(firstHeader))
		default:
			return inbox.Parse(line)
		}
	}
}

func (r *Reader) event() (e inbox.Event, err error) {
	if len(r.frame) == 0 {
		if r.frame, err = r.next(); err != nil {
			return nil, err
		}
		r.decoder.Reset()
	}
	e, r.frame, err = r.decoder.Next(r.frame)
	return e, err
}

// next reads a frame.
func (r *Reader) next() ([]byte, error) {
	var head [12]byte
	if _, err := io.ReadFull(r.in, head[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, ErrCut
	} else if err != nil {
		return nil, err
	}
	packed, size, sum := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	if packed > maxFrame || size > maxFrame || size == 0 {
		return nil, errors.New("the next frame has an impossible size")
	}
	// Buffers grow with what is read, so that a wrong size costs nothing.
	var data, frame bytes.Buffer
	_, short := io.CopyN(&data, r.in, int64(packed))
	if short != nil && !errors.Is(short, io.EOF) {
		return nil, short
	}
	n, err := io.Copy(&frame, io.LimitReader(flate.NewReader(&data), int64(size)+1))
	switch {
	case short != nil && errors.Is(err, io.ErrUnexpectedEOF): // what is there is the beginning of a frame
		return nil, ErrCut
	case err != nil:
		return nil, fmt.Errorf("the next frame cannot be unpacked: %w", err)
	case short != nil || data.Len() > 0: // flate takes no byte more than it needs
		return nil, errors.New("the next frame has a wrong size")
	case n != int64(size) || crc32.Checksum(frame.Bytes(), crc32.MakeTable(crc32.Castagnoli)) != sum:
		return nil, errors.New("the next frame has a wrong checksum")
	}
	return frame.Bytes(), nil
}
