package kube

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// told keeps what is reported of parts, unless it shall fail.
type told struct {
	notices
	events []string
	fails  error
	at     time.Time
}

func newTold() *told {
	t := &told{at: time.Unix(0, 0)}
	t.notices = notices{log: slog.New(slog.DiscardHandler), known: make(map[string]*toldPart), write: func(kind string, n Notice) error {
		if t.fails == nil {
			t.events = append(t.events, kind+" "+n.Note)
		}
		return t.fails
	}}
	return t
}

// look looks at parts once more, and returns what was told.
func (t *told) look(parts ...Part) []string {
	t.at = t.at.Add(partsPoll)
	t.events = nil
	t.step(t.at, parts)
	return t.events
}

func part(name string, failed bool, times int) Part {
	return Part{Name: name, Failed: failed, Times: times, Failure: Notice{Note: name + " fails"}, Recovery: Notice{Note: name + " works"}}
}

func (t *told) expect(test *testing.T, when string, got []string, want ...string) {
	test.Helper()
	if !slices.Equal(got, want) {
		test.Errorf("%s: told is %q, want %q", when, got, want)
	}
}

// TestParts: a failing part is reported once, however often it is tried, and that it works
// again.
func TestParts(t *testing.T) {
	n := newTold()
	n.expect(t, "had failed before", n.look(part("p", false, 3)))
	n.expect(t, "fails", n.look(part("p", true, 4)), "Warning p fails")
	for times := 5; times < 100; times++ { // probes
		n.expect(t, "goes on", n.look(part("p", true, times)))
	}
	n.expect(t, "works", n.look(part("p", false, 100)), "Normal p works")
	n.expect(t, "goes on working", n.look(part("p", false, 100)))
	n.at = n.at.Add(noticePause)
	n.expect(t, "failed between two looks", n.look(part("p", false, 101)), "Warning p fails")
	n.expect(t, "and works", n.look(part("p", false, 101)), "Normal p works")
	n.at = n.at.Add(noticePause)
	n.expect(t, "another one in its place", n.look(part("p", false, 0)))
	n.expect(t, "which fails", n.look(part("p", true, 1)), "Warning p fails")
	n.expect(t, "removed", n.look())
	n.at = n.at.Add(noticePause)
	n.expect(t, "and forgotten", n.look())
	if len(n.known) > 0 {
		t.Errorf("%d parts are known", len(n.known))
	}
}

// TestPartsStay: what is bad for a moment, as a file that is being written, is not told;
// another cause is.
func TestPartsStay(t *testing.T) {
	n := newTold()
	bad := func(cause string) Part {
		p := part("f", true, 0)
		p.Cause = cause
		return p
	}
	n.expect(t, "first seen", n.look(bad("half")))
	n.expect(t, "other cause", n.look(bad("no module")))
	n.expect(t, "stays", n.look(bad("no module")), "Warning f fails")
	n.expect(t, "stays", n.look(bad("no module")))
	n.at = n.at.Add(noticePause)
	n.expect(t, "other cause", n.look(bad("no export")))
	n.expect(t, "which stays", n.look(bad("no export")), "Warning f fails")
	n.expect(t, "used", n.look(part("f", false, 0)), "Normal f works")
}

// TestPartsFlap: parts that fail and work in turn, and many of them, do not flood the API
// server with events, and in the end it is told how they are.
func TestPartsFlap(t *testing.T) {
	const parts, hours = 200, 2
	n := newTold()
	total, last, now := 0, make(map[string]string), make([]Part, parts)
	begin := n.at
	for look := 0; n.at.Sub(begin) < hours*time.Hour; look++ {
		for i := range now {
			now[i] = part(fmt.Sprint("p", i), look%2 == 0, look)
		}
		for _, e := range n.look(now...) {
			total++
			last[strings.Fields(e)[1]] = e
		}
	}
	if most := noticesAtOnce + hours*int(time.Hour/noticeEvery); total > most || total < most/2 {
		t.Errorf("%d events, want at most %d", total, most)
	}
	for i := range now {
		now[i].Failed = false
	}
	for range 2 * parts * int(noticeEvery/partsPoll) {
		for _, e := range n.look(now...) {
			last[strings.Fields(e)[1]] = e
		}
	}
	for name, e := range last {
		if e != "Normal "+name+" works" {
			t.Errorf("the last event is %q", e)
		}
	}
}

// TestOnePartFlaps: one part has two events a pause.
func TestOnePartFlaps(t *testing.T) {
	n := newTold()
	total, begin := 0, n.at
	for look := 0; n.at.Sub(begin) < 10*noticePause; look++ {
		total += len(n.look(part("p", look%2 == 0, look)))
	}
	if total < 10 || total > 22 {
		t.Errorf("%d events in 10 pauses", total)
	}
}

// TestPartsLater: what could not be written is written later, if it still holds.
func TestPartsLater(t *testing.T) {
	n := newTold()
	n.look(part("p", false, 0), part("q", false, 0))
	n.fails = errors.New("away")
	n.look(part("p", true, 1), part("q", true, 1))
	n.fails = nil
	n.expect(t, "at once", n.look(part("p", true, 1), part("q", true, 1)))
	n.at = n.at.Add(noticeEvery)
	n.expect(t, "later", n.look(part("p", true, 1), part("q", true, 2)), "Warning p fails", "Warning q fails")
}

// TestNoteOfPart: what a guest says is printable in an event, and short enough for it.
func TestNoteOfPart(t *testing.T) {
	n := newTold()
	p := part("p", true, 1)
	p.Failure.Note = "\x1b[2J\xff" + strings.Repeat("ä", noteLimit)
	n.look(part("p", false, 0))
	told := n.look(p)
	if len(told) == 0 {
		t.Fatal("nothing was told")
	}
	if note := strings.TrimPrefix(told[0], "Warning "); len(note) > noteLimit || !utf8.ValidString(note) || strings.Contains(note, "\x1b") {
		t.Errorf("note of %d bytes: %q", len(note), note)
	}
}
