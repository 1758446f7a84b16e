package kube

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"
)

// eventsAtOnce is the maximum number of events in flight, and placedAtOnce that of pods that were placed: these are most events, and
// warnings need not wait for them.
const (
	eventsAtOnce = 32
	placedAtOnce = eventsAtOnce * 3 / 4
)

// eventsLate is how late an event may be written. What comes faster than the limit of requests allows would be written later and later
// otherwise, when it helps nobody.
const eventsLate = 10 * time.Second

// eventSink limits concurrent writes of events. client-go starts a goroutine for each event. The others wait here, before they build a
// request: up to eventsLate, and merged with a later event of the same object and reason.
type eventSink struct {
	next          events.EventSink
	slots, placed chan struct{}
	// come counts all writes so far, and open those that have not ended.
	come, open atomic.Int64
	// late and merged count the events that were not written.
	late, merged atomic.Int64

	mu sync.Mutex
	// waiting has the failed attempts of each event by name. client-go makes eventTries
	// attempts for each.
	waiting map[string]int
	// unsent has the events that wait for a slot, which a later one may replace.
	unsent map[eventSubject]*unsentEvent

	// lost has the subjects whose last event was not written. client-go counts later events of such a subject as repetitions, and writes
	// nothing for up to 30 minutes (tools/events, refreshTime).
	lost *lru.Cache
}

// lostSubjects is how many subjects are known as lost. Of more, the oldest are forgotten.
const lostSubjects = 4096

// eventSubject identifies an object and the reason of an event. Unlike client-go, it does not distinguish versions of the object.
type eventSubject struct {
	regarding      types.UID
	reason, action string
}

func subjectOf(e *eventsv1.Event) eventSubject {
	return eventSubject{e.Regarding.UID, e.Reason, e.Action}
}

// unsentEvent is the latest event of a subject.
type unsentEvent struct{ latest *eventsv1.Event }

// eventTries is the number of client-go's attempts to write an event (tools/events, maxTriesPerEvent).
const eventTries = 12

// pending returns how many events are in flight or wait for another attempt.
func (s *eventSink) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) + int(s.open.Load())
}

// written records the result of a write, after which client-go may try again.
func (s *eventSink) written(event *eventsv1.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := event.Namespace + "/" + event.Name
	if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown || s.waiting[name]+1 >= eventTries {
		delete(s.waiting, name)
		s.ended(event, err)
		return
	}
	if s.waiting == nil {
		s.waiting = make(map[string]int)
	}
	s.waiting[name]++
}

// ended records whether the last write of an event succeeded. That a patch finds nothing is not the end: client-go creates the event then.
func (s *eventSink) ended(event *eventsv1.Event, err error) {
	switch {
	case err == nil:
		s.lost.Remove(subjectOf(event))
	case !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err):
		s.lost.Add(subjectOf(event), nil)
	}
}

// isLost reports whether the last event of a subject was not written.
func (s *eventSink) isLost(subject eventSubject) bool {
	_, lost := s.lost.Get(subject)
	return lost
}

// quiet is how long no event may arrive before drain assumes that no event is left between
// the recorder and the sink, where client-go offers no count.
const quiet = 50 * time.Millisecond

// drain waits until all events are written or ctx ends. It returns how many are not written.
func (s *eventSink) drain(ctx context.Context) int64 {
	last := int64(-1)
	_ = wait.PollUntilContextCancel(ctx, quiet, true, func(context.Context) (done bool, _ error) {
		come := s.come.Load()
		done, last = come == last && s.open.Load() == 0, come
		return done, nil
	}) // the count of open events tells whether the time was enough
	return s.open.Load()
}

func newEventSink(next events.EventSink) *eventSink {
	return &eventSink{next: next, slots: make(chan struct{}, eventsAtOnce), placed: make(chan struct{}, placedAtOnce),
		unsent: make(map[eventSubject]*unsentEvent), lost: lru.New(lostSubjects)}
}

// within waits for slots and writes. It gives up with errLate when the event is too late.
func (s *eventSink) within(ctx context.Context, write func(context.Context) error, slots ...chan struct{}) error {
	s.open.Add(1)
	defer s.open.Add(-1)
	s.come.Add(1)
	inTime, cancel := context.WithTimeout(ctx, eventsLate)
	defer cancel()
	err := func() error {
		for _, slot := range slots {
			select {
			case slot <- struct{}{}:
				defer func() { <-slot }()
			case <-inTime.Done():
				return errLate
			}
		}
		return write(inTime)
	}()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case inTime.Err() != nil || errors.Is(err, errLate):
		s.late.Add(1)
		return errLate
	}
	return err
}

// errLate is the error of an event that would be too late.
var errLate = errors.New("the event would be too late")

// untilLate is a rate limiter that knows whose wait would be too long.
type untilLate struct{ flowcontrol.RateLimiter }

// Wait implements flowcontrol.RateLimiter.
func (l untilLate) Wait(ctx context.Context) error {
	if l.RateLimiter.Wait(ctx) != nil {
		return errLate
	}
	return nil
}

// isDropped reports whether an event is not tried again: it is too late, or the lease no longer covers it.
func isDropped(err error) bool { return errors.Is(err, errLate) || errors.Is(err, ErrLeaseLost) }

// once writes an event that client-go does not know. An event that is too late, or that the lease no longer covers, is dropped.
func (s *eventSink) once(ctx context.Context, event *eventsv1.Event) error {
	err := s.within(ctx, func(ctx context.Context) error {
		_, err := s.next.Create(ctx, event)
		return err
	}, s.placed, s.slots)
	if isDropped(err) {
		return nil
	}
	return err
}

// write writes an event of client-go's. If it is too late, or the lease no longer covers the write, it reports
// success, because client-go would retry and log it.
func (s *eventSink) write(ctx context.Context, event *eventsv1.Event, write func(context.Context) (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	out := event
	err := s.within(ctx, func(ctx context.Context) (err error) {
		out, err = write(ctx)
		return err
	}, s.slots)
	if isDropped(err) {
		s.ended(event, err)
		return event, nil
	}
	s.written(event, err)
	return out, err
}

// again writes an event of a subject that is lost, which client-go does not know. If that fails, the subject is lost still.
func (s *eventSink) again(ctx context.Context, event *eventsv1.Event) {
	if _, err := s.Create(ctx, event); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, event.Namespace+"/"+event.Name) // nobody tries again
		s.ended(event, err)
	}
}

// Create implements events.EventSink. An event about the same as one that waits replaces it, at its place.
func (s *eventSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	subject := subjectOf(event)
	s.mu.Lock()
	waits := s.unsent[subject]
	if waits != nil {
		waits.latest = event
		s.mu.Unlock()
		s.merged.Add(1)
		return event, nil
	}
	waits = &unsentEvent{event}
	s.unsent[subject] = waits
	s.mu.Unlock()
	take := func() *eventsv1.Event {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.unsent[subject] == waits {
			delete(s.unsent, subject)
		}
		return waits.latest
	}
	defer take() // if it was too late
	return s.write(ctx, event, func(ctx context.Context) (*eventsv1.Event, error) { return s.next.Create(ctx, take()) })
}

// Update implements events.EventSink.
func (s *eventSink) Update(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return s.write(ctx, event, func(ctx context.Context) (*eventsv1.Event, error) { return s.next.Update(ctx, event) })
}

// Patch implements events.EventSink.
func (s *eventSink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return s.write(ctx, event, func(ctx context.Context) (*eventsv1.Event, error) { return s.next.Patch(ctx, event, data) })
}
