package kube

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/runtime/state"
)

// TestPlacedAsRecorded: the event of a pod that was placed is the one that client-go's recorder makes, and one that
// cannot be written is written again under the same name.
func TestPlacedAsRecorded(t *testing.T) {
	client := fake.NewClientset()
	client.Resources = []*metav1.APIResourceList{{GroupVersion: "events.k8s.io/v1"}}
	created := make(chan *eventsv1.Event, 4)
	fail := make(chan error, 1)
	client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		created <- a.(clienttesting.CreateAction).GetObject().(*eventsv1.Event).DeepCopy()
		select {
		case err := <-fail:
			return true, nil, err
		default:
			return false, nil, nil
		}
	})
	writer := func() *eventWriter {
		w, err := newEventWriter([]string{"p"}, client, &Deps{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.close)
		return w
	}
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "u", ResourceVersion: "7"}, Spec: v1.PodSpec{SchedulerName: "p"}}
	pod := state.NewPod(object)
	next := func() *eventsv1.Event { return <-created }
	recorded := writer()
	recorded.normal(pod, nil, "Scheduled", "Binding", "note")
	want := next()
	recorded.finish(t.Context())
	w := writer()
	fail <- errors.New("connection refused")
	w.placed(pod, "note")
	got, again := next(), next()
	if again.Name != got.Name || got.Name == want.Name || got.EventTime.IsZero() {
		t.Errorf("%s, then %s", got.Name, again.Name)
	}
	for _, e := range []*eventsv1.Event{got, again} {
		e.Name, e.EventTime = want.Name, want.EventTime
		if !equality.Semantic.DeepEqual(e, want) {
			t.Errorf("got %v, want %v", e, want)
		}
	}
	if n := w.finish(t.Context()); n != 0 || w.sink.pending() != 0 {
		t.Errorf("%d are left, %d wait", n, w.sink.pending())
	}
	w.placed(state.NewPod(&v1.Pod{Spec: v1.PodSpec{SchedulerName: "other"}}), "note") // not ours
}

// refusingSink has an error for each of the first writes. It keeps the notes of events that were created.
type refusingSink struct {
	mu     sync.Mutex
	errs   []func(context.Context) error
	events map[string]string // notes, by name
	notes  []string
}

func (s *refusingSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errs) > 0 {
		refuse := s.errs[0]
		s.errs = s.errs[1:]
		return nil, refuse(ctx)
	}
	s.events[e.Name] = e.Note
	s.notes = append(s.notes, e.Note)
	return e, nil
}

func (s *refusingSink) Update(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return e, nil
}

func (s *refusingSink) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.events[e.Name]; !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, e.Name)
	}
	return e, nil
}

// TestLostWarnings: warnings that are too late, refused, or not answered do not silence the pod: the next warning that can be written is.
func TestLostWarnings(t *testing.T) {
	late := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	refused := func(context.Context) error {
		return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	}
	unanswered := func(context.Context) error { return errors.New("connection refused") }
	type errs = []func(context.Context) error
	for _, test := range []struct {
		name string
		errs errs
		want []string // the notes of five warnings that are written, each a minute after the one before
	}{
		{"none", nil, []string{"0"}},                   // client-go counts the others
		{"late", errs{late, late}, []string{"2", "0"}}, // the broadcaster makes a series of its first one
		{"late for long", errs{late, late, late, late}, []string{"4"}},
		{"refused", errs{refused, refused}, []string{"2", "0"}},
		{"late, refused, unanswered", errs{late, refused, unanswered}, []string{"3", "0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := newEventWriter([]string{"p"}, fake.NewClientset(), &Deps{})
				if err != nil {
					t.Fatal(err)
				}
				sink := &refusingSink{errs: test.errs, events: make(map[string]string)}
				w.sink.next = sink
				pod := state.NewPod(&v1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "u", ResourceVersion: "7"}, Spec: v1.PodSpec{SchedulerName: "p"},
				})
				for i := range 5 {
					w.warning(pod, "FailedScheduling", "Scheduling", string(rune('0'+i)))
					time.Sleep(time.Minute)
				}
				if !slices.Equal(sink.notes, test.want) {
					t.Errorf("written are %q, want %q", sink.notes, test.want)
				}
				if n := w.finish(t.Context()); n != 0 || w.sink.pending() != 0 {
					t.Errorf("%d are left, %d wait", n, w.sink.pending())
				}
				w.close()
			})
		})
	}
}
