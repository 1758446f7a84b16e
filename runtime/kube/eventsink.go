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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
)

// eventsAtOnce is the maximum number of events in flight.
const eventsAtOnce = 32

// eventSink limits concurrent writes of events. client-go starts a goroutine for each
// event. The others wait here, before they build a request.
type eventSink struct {
	next  events.EventSink
	slots chan struct{}
	// come counts all writes so far, and open those that have not ended.
	come, open atomic.Int64

	mu sync.Mutex
	// waiting has the failed attempts of each event by name. client-go makes eventTries
	// attempts for each.
	waiting map[string]int
}

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

func newEventSink(client kubernetes.Interface) *eventSink {
	return &eventSink{next: &events.EventSinkImpl{Interface: client.EventsV1()}, slots: make(chan struct{}, eventsAtOnce)}
}

// within waits for a slot and writes.
func (s *eventSink) within(ctx context.Context, write func() (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	s.open.Add(1)
	defer s.open.Add(-1)
	s.come.Add(1)
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.slots }()
	return write()
}

// once writes an event that client-go does not know. An event that the lease no longer covers is dropped.
func (s *eventSink) once(ctx context.Context, event *eventsv1.Event) error {
	_, err := s.within(ctx, func() (*eventsv1.Event, error) { return s.next.Create(ctx, event) })
	if errors.Is(err, ErrLeaseLost) {
		return nil
	}
	return err
}

// write writes an event of client-go's. If the lease no longer covers the write, it reports
// success, because client-go would retry and log it.
func (s *eventSink) write(ctx context.Context, event *eventsv1.Event, write func() (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	return s.within(ctx, func() (*eventsv1.Event, error) {
		out, err := write()
		s.written(event, err)
		if errors.Is(err, ErrLeaseLost) {
			s.written(event, nil)
			return event, nil
		}
		return out, err
	})
}

// Create implements events.EventSink.
func (s *eventSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return s.write(ctx, event, func() (*eventsv1.Event, error) { return s.next.Create(ctx, event) })
}

// Update implements events.EventSink.
func (s *eventSink) Update(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return s.write(ctx, event, func() (*eventsv1.Event, error) { return s.next.Update(ctx, event) })
}

// Patch implements events.EventSink.
func (s *eventSink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return s.write(ctx, event, func() (*eventsv1.Event, error) { return s.next.Patch(ctx, event, data) })
}
