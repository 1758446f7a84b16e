package fault

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
)

// Origin names the plugin that failed.
type Origin struct {
	Plugin string
	Digest string // of its module; empty for native code
}

// Fault is a failure of a guest. A guest that says "no" has not failed: that is a status.
// Its texts are printable and bounded: Detail to 1 KiB, Output to its last 4 KiB, Trace to
// 8 KiB.
type Fault struct {
	Origin
	Point abi.Point
	Kind  Kind
	// Detail says what happened in one line. Output is what the guest wrote last. Trace
	// lists the functions of the guest in which it trapped, one a line, the innermost
	// first.
	Detail string
	Output string
	Trace  string
	// logged is shared by the copies of a fault: one that keeps a cycle from being
	// prepared fails each call of that cycle, and is logged once.
	logged *atomic.Bool
}

// The longest texts of a fault, in bytes. A message quotes maxQuoted of the output.
const (
	MaxDetail = 1 << 10
	MaxOutput = 4 << 10
	MaxTrace  = 8 << 10
	maxQuoted = 256
)

// New returns f with its texts cut.
func New(f Fault) *Fault {
	f.Detail, f.Output, f.Trace = plain.Line(f.Detail, MaxDetail), plain.Tail(f.Output, MaxOutput), plain.Lines(f.Trace, MaxTrace)
	f.logged = new(atomic.Bool)
	return &f
}

// At returns the fault as one of a call of another point.
func (f *Fault) At(point abi.Point) *Fault {
	c := *f
	c.Point = point
	return &c
}

// FirstLog reports whether the fault has not been logged yet, and counts it as logged.
func (f *Fault) FirstLog() bool { return !f.logged.Swap(true) }

// Error says which plugin failed, where and how.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fault of plugin %s at %s: %s: %s", f.Plugin, f.Point, f.Kind, f.Detail)
	if f.Digest != "" {
		fmt.Fprintf(&b, " (module %s)", ShortDigest(f.Digest))
	}
	if f.Output != "" {
		fmt.Fprintf(&b, "; the guest's last output: %q", lastWords(f.Output))
	}
	return b.String()
}

// Story says in several lines, for the plugin's author, what happened, what the guest wrote last,
// and the functions in which it trapped.
func (f *Fault) Story() string {
	indented := func(lines string) string { return "\n  " + strings.ReplaceAll(lines, "\n", "\n  ") }
	text := f.Detail
	if f.Output != "" {
		text += "\nThe guest's last output:" + indented(f.Output)
	}
	if f.Trace != "" && !Dumped(f.Output) {
		text += "\nIt trapped in:" + indented(f.Trace)
	}
	return text
}

// Dumped reports whether an output has the dump of a Go guest, which has the guest's functions already, without those
// that make the dump.
func Dumped(output string) bool { return strings.Contains(output, "\ngoroutine ") }

// lastWords returns the end of an output, without the stack dump of a Go guest.
func lastWords(output string) string {
	output, _, _ = strings.Cut(output, "\n\ngoroutine ")
	return plain.Tail(output, maxQuoted)
}

// ShortDigest returns the part of a digest that messages show.
func ShortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// As returns the fault in an error chain, if there is one.
func As(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}
