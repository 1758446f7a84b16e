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
}

// eventSubject identifies an object and the reason of an event. Unlike client-go, it does not distinguish versions of the object.
type eventSubject struct {
	regarding      types.UID
	reason, action string
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

// written records the result of a write.
func (s *eventSink) written(event *eventsv1.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := event.Namespace + "/" + event.Name
	if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown || s.waiting[name]+1 >= eventTries {
		delete(s.waiting, name)
		return
	}
	if s.waiting == nil {
		s.waiting = make(map[string]int)
	}
	s.waiting[name]++
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
		unsent: make(map[eventSubject]*unsentEvent)}
}

// within waits for slots and writes. It gives up, without an error, when the event is too late.
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
		return nil
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

// once writes an event that client-go does not know. An event that the lease no longer covers is dropped.
func (s *eventSink) once(ctx context.Context, event *eventsv1.Event) error {
	err := s.within(ctx, func(ctx context.Context) error {
		_, err := s.next.Create(ctx, event)
		return err
	}, s.placed, s.slots)
	if errors.Is(err, ErrLeaseLost) {
		return nil
	}
	return err
}

// write writes an event of client-go's. If the lease no longer covers the write, it reports
// success, because client-go would retry and log it.
func (s *eventSink) write(ctx context.Context, event *eventsv1.Event, write func(context.Context) (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	out := event
	err := s.within(ctx, func(ctx context.Context) (err error) {
		out, err = write(ctx)
		return err
	}, s.slots)
	if errors.Is(err, ErrLeaseLost) {
		out, err = event, nil
	}
	s.written(event, err)
	return out, err
}

// Create implements events.EventSink. An event about the same as one that waits replaces it, at its place.
func (s *eventSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	subject := eventSubject{event.Regarding.UID, event.Reason, event.Action}
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
