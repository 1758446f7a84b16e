package kube

import (
	"context"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
)

// eventsAtOnce is how many events are on their way at most.
const eventsAtOnce = 32

// eventSink writes some events at once. client-go starts a goroutine for each event:
// those that are not on their way wait here, where they have not built a request yet.
type eventSink struct {
	next  events.EventSink
	slots chan struct{}
}

func newEventSink(client kubernetes.Interface) *eventSink {
	return &eventSink{next: &events.EventSinkImpl{Interface: client.EventsV1()}, slots: make(chan struct{}, eventsAtOnce)}
}

func (s *eventSink) write(ctx context.Context, write func() (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.slots }()
	return write()
}

// Create implements events.EventSink.
func (s *eventSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return s.write(ctx, func() (*eventsv1.Event, error) { return s.next.Create(ctx, event) })
}

// Update implements events.EventSink.
func (s *eventSink) Update(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return s.write(ctx, func() (*eventsv1.Event, error) { return s.next.Update(ctx, event) })
}

// Patch implements events.EventSink.
func (s *eventSink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return s.write(ctx, func() (*eventsv1.Event, error) { return s.next.Patch(ctx, event, data) })
}
