package kube

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
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
	sink := newEventSink(held)
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			event := &eventsv1.Event{Reason: strconv.Itoa(i)}
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

// TestLateEvents: of more events than the limit lets through, the ones that are written are at most ten seconds late, and the others are
// counted. Events of placed pods leave room for warnings, and a later event about the same is written instead of one that waits.
func TestLateEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each, took = 500 * time.Millisecond, 60 * time.Second // 64 events a second, of 100
		come, notes := make(map[string]time.Time), make(map[string]int)
		var mu sync.Mutex
		var worst time.Duration
		sink := newEventSink(&timedSink{write: func(ctx context.Context, e *eventsv1.Event) error {
			select {
			case <-time.After(each):
			case <-ctx.Done():
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			worst = max(worst, time.Since(come[e.Note]))
			notes[e.Reason]++
			return nil
		}})
		var wg sync.WaitGroup
		put := func(e *eventsv1.Event, write func(*eventsv1.Event) error) {
			mu.Lock()
			come[e.Note] = time.Now()
			mu.Unlock()
			wg.Go(func() {
				if err := write(e); err != nil {
					t.Error(err)
				}
			})
		}
		const scheduled, failed = 80, 20 // a second
		for i := range int(took / time.Second) {
			for k := range scheduled {
				put(&eventsv1.Event{Reason: "Scheduled", Note: fmt.Sprint("s", i, k)}, func(e *eventsv1.Event) error { return sink.once(t.Context(), e) })
			}
			for k := range failed {
				e := &eventsv1.Event{Reason: "FailedScheduling", Note: fmt.Sprint("f", i, k), Regarding: v1.ObjectReference{UID: types.UID(strconv.Itoa(k % 10))}}
				put(e, func(e *eventsv1.Event) error { _, err := sink.Create(t.Context(), e); return err })
			}
			time.Sleep(time.Second)
		}
		wg.Wait()
		late, merged := sink.late.Load(), sink.merged.Load()
		if worst > eventsLate {
			t.Errorf("an event was written %v late", worst)
		}
		if sum := int(late+merged) + notes["Scheduled"] + notes["FailedScheduling"]; sum != int(took/time.Second)*(scheduled+failed) {
			t.Errorf("%d are written, late (%d) or merged (%d)", sum, late, merged)
		}
		if late == 0 || merged == 0 || int(merged)+notes["FailedScheduling"] != int(took/time.Second)*failed || len(sink.unsent) != 0 {
			t.Errorf("%d late, %d merged, written %v, %d wait", late, merged, notes, len(sink.unsent))
		}
	})
}

// timedSink creates events with a function.
type timedSink struct {
	events.EventSink
	write func(context.Context, *eventsv1.Event) error
}

func (s *timedSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return e, s.write(ctx, e)
}

// TestLimitedEvents: an event that the limit of requests would delay for too long counts as late, and is not tried again.
func TestLimitedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := untilLate{flowcontrol.NewTokenBucketRateLimiter(0.05, 1)}
		sink := newEventSink(&timedSink{write: func(ctx context.Context, _ *eventsv1.Event) error { return limit.Wait(ctx) }})
		for range 3 {
			if err := sink.once(t.Context(), &eventsv1.Event{}); err != nil {
				t.Error(err)
			}
		}
		if late := sink.late.Load(); late != 2 {
			t.Errorf("%d are late, want 2", late)
		}
	})
}
