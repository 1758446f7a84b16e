// Package record writes what enters a scheduler's loop to a file, and reads it again. docs/recordings.md
// describes the format.
package record

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// Header is the first line of a recording. Its number is the version of the format.
const Header = "berth recording 11\n" // with inbox.Version

// oldestCompact is the oldest version of which the compact form can be read: in that of earlier ones, events have less fields. Of
// those, the text is read.
const oldestCompact = 4

const (
	// batchSize is how many events wait before they are encoded, at the latest after flushEvery.
	batchSize = 128
	// maxWaiting is how many events may wait.
	maxWaiting = 1 << 17
	// flushEvery is how long events may wait to be written.
	flushEvery = time.Second
)

// Config configures a Writer.
type Config struct {
	// MaxBytes bounds what follows the checkpoint of a recording or a segment, modules apart; 0 means no bound.
	MaxBytes int64
	// SegmentBytes is how much follows the checkpoint of a segment before another one begins; 0 means never.
	SegmentBytes int64
	// Next (optional) returns where the next segment is written. Nothing is written to the last one any more.
	Next func() (io.Writer, error)
	// Retry is the time after which a recording that could not be written continues in the next segment; 0 means never.
	Retry time.Duration
	// Patience is how long Enter waits for a slow disk, when very many events wait to be written. Then the segment ends;
	// 0 means for ever.
	Patience time.Duration
	// Ended (optional) is called if the recording, or one of its segments, ends before it should, with the reason, and Resumed
	// (optional) when the next segment has begun after that, or after a gap, with the number of decisions that no segment has.
	// Neither of them, nor Next, is called on the goroutine that enters events, but for the start.
	Ended   func(err error)
	Resumed func(missing int)
}

// Writer writes a recording. It implements inbox.Recorder.
//
// Events are encoded, compressed and written beside the loop: what they refer to is not changed any more. A recording
// may go on in other segments, each a recording that begins with the settings and with all that the loop carries on.
type Writer struct {
	config Config

	mu      sync.Mutex
	waiting []entry // not encoded yet
	spare   []entry // for the next that wait
	started bool    // what the recording begins with is written
	begins  bool    // the beginning of a segment is among those that wait
	lost    bool    // an event had no room, so the segment ends
	missing int     // decisions that had no room
	closed  bool
	reads   reads    // which annotations the segment has
	widened bool     // plugins came that read others, so the next segment begins as soon as possible
	known   progress // of the segment, up to what waits
	room    chan struct{}
	wake    chan struct{}

	encoding sync.Mutex // held by who takes from waiting and uses segments
	segments *segments

	stop    chan struct{}
	stopped sync.WaitGroup
}

// entry is an event or, without one, the end of a segment that lacks the next event, or else the beginning of a segment.
type entry struct {
	event   inbox.Event
	lost    bool
	missing int      // decisions, when a segment begins
	more    []string // annotations that an event, a Swap, needs and the objects of the segment lack
}

var _ inbox.Segmented = (*Writer)(nil)

// NewWriter begins a recording. Close ends it; it does not close out. With out nil it is written to Next's first writer: if
// there is none, or it cannot be written, the recording begins after Config.Retry.
func NewWriter(out io.Writer, config Config) (*Writer, error) {
	w := &Writer{config: config}
	var err error
	if w.segments, err = newSegments(out, &w.config); err != nil {
		return nil, err
	}
	w.known = w.segments.progress()
	w.room, w.wake, w.stop = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	w.stopped.Go(w.encodes)
	return w, nil
}

// encodes encodes events that have waited.
func (w *Writer) encodes() {
	ticks := time.NewTicker(flushEvery) //nolint:forbidigo // when events reach the file decides nothing
	defer ticks.Stop()
	for {
		flush := false
		select {
		case <-w.stop:
			return
		case <-w.wake:
		case <-ticks.C:
			flush = true
		}
		w.encode(flush)
	}
}

// encode encodes what waits, and writes it if flush.
func (w *Writer) encode(flush bool) {
	w.encoding.Lock()
	defer w.encoding.Unlock()
	w.mu.Lock()
	batch, begins := w.waiting, w.begins
	w.waiting, w.spare = w.spare, nil
	w.mu.Unlock()
	signal(w.room)
	for _, e := range batch {
		switch {
		case e.more != nil:
			w.segments.widen(e.event.(*inbox.Swap), e.more)
		case e.event != nil:
			w.segments.enter(e.event)
		case e.lost:
			w.segments.lose(fmt.Errorf("the disk is too slow: %d events waited for more than %v", maxWaiting, w.config.Patience))
		default:
			w.segments.missing += e.missing
			w.segments.begin()
		}
	}
	if flush {
		w.segments.flush()
	}
	clear(batch)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare = batch[:0]
	if begins || !w.begins {
		w.begins, w.known = false, w.segments.progress()
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Sync encodes what was entered, so that Full knows of it. Without it that happens within a second.
func (w *Writer) Sync() { w.encode(false) }

// Enter implements inbox.Recorder. What a recording begins with is written before it returns, so that one of a process
// that was killed soon can be used.
func (w *Writer) Enter(e inbox.Event) {
	start := false
	w.mu.Lock()
	if w.add(e) && !w.started {
		switch e.(type) {
		case *inbox.Settings, *inbox.Module:
		default:
			start, w.started = true, true
		}
	}
	w.mu.Unlock()
	if start {
		w.Sync()
	}
}

// add lets an event wait, if there is room. The caller holds w.mu.
func (w *Writer) add(e inbox.Event) bool {
	var patience <-chan time.Time
	for len(w.waiting) >= maxWaiting && !w.lost {
		if patience == nil && w.config.Patience > 0 {
			timer := time.NewTimer(w.config.Patience) //nolint:forbidigo // the disk decides nothing
			defer timer.Stop()
			patience = timer.C
		}
		w.mu.Unlock()
		signal(w.wake)
		select {
		case <-w.room:
			w.mu.Lock()
		case <-patience:
			w.mu.Lock()
			w.lost = true
			w.waiting = append(w.waiting, entry{lost: true})
		}
	}
	if w.closed || w.lost && !kept(e) {
		if _, decision := e.(*inbox.Decision); decision {
			w.missing++
		}
		return false
	}
	more := w.reads.enter(e)
	w.widened = w.widened || more != nil && w.config.SegmentBytes > 0
	w.waiting = append(w.waiting, entry{event: e, more: more})
	if len(w.waiting) >= batchSize {
		signal(w.wake)
	}
	return true
}

// Full implements inbox.Segmented.
func (w *Writer) Full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.begins, w.closed, w.lost && !w.known.ended:
		return false
	case w.widened:
		return true
	case !w.known.again.IsZero():
		return !now().Before(w.known.again)
	default:
		return w.known.full
	}
}

// Begin implements inbox.Segmented.
func (w *Writer) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, entry{missing: w.missing})
	w.begins, w.lost, w.widened, w.missing = true, false, false, 0
}

// Close writes the end of the recording. Nothing is recorded any more.
func (w *Writer) Close() {
	w.Enter(&inbox.End{})
	close(w.stop)
	w.stopped.Wait()
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.Sync()
}

func now() time.Time {
	return time.Now() //nolint:forbidigo // when a recording goes on decides nothing
}
