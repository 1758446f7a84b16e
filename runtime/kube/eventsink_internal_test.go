package kube

import (
	"context"
	"errors"
	"sync"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
)

// heldSink lets go of events when it is told to.
type heldSink struct {
	mu       sync.Mutex
	now, top int
	entered  chan struct{}
	release  chan struct{}
}

func (s *heldSink) hold(event *eventsv1.Event) (*eventsv1.Event, error) {
	s.mu.Lock()
	s.now++
	s.top = max(s.top, s.now)
	s.mu.Unlock()
	s.entered <- struct{}{}
	<-s.release
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	return event, nil
}

func (s *heldSink) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return s.hold(e)
}
func (s *heldSink) Update(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return s.hold(e)
}
func (s *heldSink) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return s.hold(e)
}

// TestEventSink: of many events some are on their way at once, the others wait and are
// written later, or not at all when it is over.
func TestEventSink(t *testing.T) {
	const count = 3 * eventsAtOnce
	held := &heldSink{entered: make(chan struct{}, count), release: make(chan struct{})}
	sink := &eventSink{next: held, slots: make(chan struct{}, eventsAtOnce)}
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			event := &eventsv1.Event{}
			write := []func() (*eventsv1.Event, error){
				func() (*eventsv1.Event, error) { return sink.Create(ctx, event) },
				func() (*eventsv1.Event, error) { return sink.Update(ctx, event) },
				func() (*eventsv1.Event, error) { return sink.Patch(ctx, event, nil) },
			}[i%3]
			if got, err := write(); err != nil || got != event {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	for range eventsAtOnce {
		<-held.entered
	}
	close(held.release)
	wg.Wait()
	if held.top != eventsAtOnce {
		t.Errorf("%d were on their way at once, want %d", held.top, eventsAtOnce)
	}
	over := errors.New("over")
	cancel(over)
	for range eventsAtOnce { // all are taken
		sink.slots <- struct{}{}
	}
	if _, err := sink.Create(ctx, &eventsv1.Event{}); !errors.Is(err, over) {
		t.Errorf("error is %v", err)
	}
}
