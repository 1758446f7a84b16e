package kube

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
