package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// Reader reads a recording, in the compact or in the text form. The text form begins with the same
// header, as a comment.
type Reader struct {
	in      *bufio.Reader
	text    bool
	version int
	chain   chain
	decoder *inbox.Decoder
	frame   []byte
	read    int // events so far
	ended   bool
	modules map[string]bool // files that were read and that a plugin may have
	why     string          // it ended
}

// ErrCut is the error of a recording that ends without End: the process was killed, the disk was full, or the file was cut off. All
// events before it were read.
var ErrCut = errors.New("the recording was not closed, so what follows is missing: at most a second, if the process was killed; more, if the log says that the recording ended, or if the file was cut off")

// NewReader begins to read a recording.
//
// # Errors
//
// The input is not a recording, or is of another version.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(in, 64<<10), modules: make(map[string]bool)}
	first, err := r.in.ReadSlice('\n') // no more than the buffer: the file may be anything
	plain, text := strings.CutPrefix(string(first), "# ")
	for version := 1; version <= inbox.Version; version++ {
		if plain == header(version) && (text || version >= oldestCompact) {
			r.text, r.version, r.decoder, r.chain = text, version, inbox.NewDecoder(version), newChain(plain)
			return r, nil
		}
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
		return nil, err
	case strings.HasPrefix(plain, headerWords):
		return nil, fmt.Errorf("the recording has the format %q, and this berth reads %q, the versions from %d on, and the text form of older ones: use the berth that wrote it, or print it as text with that one (berth replay FILE --text)",
			strings.TrimSpace(plain), strings.TrimSpace(Header), oldestCompact)
	}
	return nil, errors.New("it is not a recording of berth: its first line is not " + strings.TrimSpace(Header))
}

// headerWords begin the first line of a recording.
const headerWords = "berth recording "

// header is the first line of a version.
func header(version int) string { return headerWords + strconv.Itoa(version) + "\n" }

// Read returns the number of events that were read.
func (r *Reader) Read() int { return r.read }

// Why says why the recording ended although its scheduler went on, once its End was read; empty if the scheduler ended, too.
func (r *Reader) Why() string { return r.why }

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
		err = r.once(e)
	}
	if err == nil {
		r.read++
		if end, ok := e.(*inbox.End); ok {
			r.ended, r.why = true, end.Reason
			if r.more() {
				err = errors.New("it continues after its end (replay each segment as a file of its own)")
			}
		}
	}
	switch {
	case errors.Is(err, ErrCut):
		return nil, err
	case errors.Is(err, io.EOF): // of a frame or an event: for callers io.EOF is the end of the recording
		err = errors.New(err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("the recording is damaged after event %d: %w", r.read, err)
	}
	return e, nil
}

// repeating is the last version of which a recording may have a module again at any time.
const repeating = 5

// packing is how many times more a module counts than its bytes, of what the bytes of a file may become: code does not pack well.
const packing = 8

// once refuses a module that the recording has already. It may come again only after a swap in which no plugin has it.
func (r *Reader) once(e inbox.Event) error {
	switch e := e.(type) {
	case *inbox.Module:
		if r.modules[e.File] && r.version > repeating {
			return fmt.Errorf("the module %s is there twice", e.File)
		}
		r.modules[e.File] = true
		if !r.text {
			return r.decoder.Take(packing * int64(len(e.Bytes)))
		}
	case *inbox.Swap:
		maps.DeleteFunc(r.modules, func(file string, _ bool) bool { return !named(file, e.Config, e.Attached) })
	}
	return nil
}

// more reports whether anything but comments follows.
func (r *Reader) more() bool {
	if !r.text {
		_, err := r.in.Peek(1)
		return len(r.frame) > 0 || err == nil
	}
	for {
		line, err := r.nextLine()
		if line != "" && line[0] != '#' {
			return true
		}
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
	}
}

// maxLine bounds a line of the text form, which has a module in base64.
const maxLine = 2 * maxFrame

// nextLine reads a line without its end.
func (r *Reader) nextLine() (string, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		switch line = append(line, part...); {
		case bytes.IndexByte(part, 0) >= 0: // a hole in the file
			return "", errors.New("a line has a zero byte, which no text has")
		case len(line) > maxLine:
			return "", fmt.Errorf("a line has more than %d bytes", maxLine)
		case !errors.Is(err, bufio.ErrBufferFull):
			return strings.TrimSuffix(string(line), "\n"), err
		}
	}
}

// line reads an event from the text form. It skips comments and empty lines.
func (r *Reader) line() (inbox.Event, error) {
	for {
		line, err := r.nextLine()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case err != nil: // a line without its end may be cut off
			return nil, ErrCut
		}
		switch {
		case line == "" || line[0] == '#':
		case r.version == 1 && strings.HasPrefix(line, "overrun "):
			return nil, fmt.Errorf("an overrun in the format %q does not say which call it was", strings.TrimSpace(header(1)))
		default:
			return inbox.Parse(line)
		}
	}
}

func (r *Reader) event() (e inbox.Event, err error) {
	if len(r.frame) == 0 {
		if r.frame, err = r.nextFrame(); err != nil {
			return nil, err
		}
		r.decoder.Reset()
	}
	e, r.frame, err = r.decoder.Next(r.frame)
	return e, err
}
