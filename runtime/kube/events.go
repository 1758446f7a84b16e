package kube

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/state"
)

// noteLimit is the longest note of an event in bytes (events.k8s.io validation).
const noteLimit = 1024

// eventWriter writes events, beside the loop and in series where they repeat.
type eventWriter struct {
	sink        *eventSink
	broadcaster events.EventBroadcaster
	recorders   map[string]events.EventRecorderLogger // by profile
	ofLease     record.EventBroadcaster
	lease       record.EventRecorder
	cancel      context.CancelFunc // ends what is written of pods
	endLease    context.CancelFunc
}

// newEventWriter begins to write.
func newEventWriter(profiles []string, client kubernetes.Interface) (*eventWriter, error) {
	ctx, cancel := context.WithCancel(context.Background())
	forLease, endLease := context.WithCancel(context.Background())
	sink := newEventSink(client)
	w := &eventWriter{
		sink:        sink,
		broadcaster: events.NewBroadcaster(sink),
		recorders:   make(map[string]events.EventRecorderLogger),
		ofLease:     record.NewBroadcaster(record.WithContext(forLease)),
		cancel:      cancel, endLease: endLease,
	}
	for _, profile := range profiles {
		w.recorders[profile] = w.broadcaster.NewRecorder(scheme.Scheme, profile)
	}
	if err := w.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		endLease()
		return nil, err
	}
	// Leases are reported in events of the old kind.
	w.ofLease.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	w.lease = w.ofLease.NewRecorder(scheme.Scheme, v1.EventSource{Component: profiles[0]})
	return w, nil
}

func (w *eventWriter) normal(pod, related *state.Pod, reason, action, note string, args ...any) {
	by := pod.Profile
	if related != nil { // it may be a pod of another scheduler that had to make room
		by = related.Profile
	}
	recorder := w.recorders[by]
	if recorder == nil {
		return
	}
	var other runtime.Object
	if related != nil {
		other = related.Object
	}
	recorder.Eventf(pod.Object, other, v1.EventTypeNormal, reason, action, "%s", shownNote(fmt.Sprintf(note, args...)))
}

func (w *eventWriter) warning(pod *state.Pod, reason, action, note string) {
	if recorder := w.recorders[pod.Profile]; recorder != nil {
		recorder.Eventf(pod.Object, nil, v1.EventTypeWarning, reason, action, "%s", shownNote(note))
	}
}

// shownNote cuts a note as kube-scheduler does, but never inside of a character.
func shownNote(note string) string {
	return plain.CutWith(plain.Lines(note, 2*noteLimit), noteLimit, " ...")
}

// finish sends what is on its way of pods, until the context ends, and returns how many
// events were not sent. Nothing is sent of pods from then on.
func (w *eventWriter) finish(ctx context.Context) int64 {
	left := w.sink.drain(ctx)
	w.broadcaster.Shutdown()
	w.cancel()
	return left
}

// close ends it all.
func (w *eventWriter) close() {
	w.ofLease.Shutdown()
	w.endLease()
}
