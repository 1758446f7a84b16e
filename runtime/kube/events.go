package kube

import (
	"context"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/record/util"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/workers"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// noteLimit is the longest note of an event in bytes (events.k8s.io validation).
const noteLimit = 1024

// eventWriter writes events, beside the loop and in series where they repeat.
type eventWriter struct {
	deps        *Deps
	sink        *eventSink
	broadcaster events.EventBroadcaster
	recorders   map[string]events.EventRecorderLogger // by profile
	host        string                                // as recorders name it
	beside      workers.Workers                       // write events of placed pods
	context     context.Context                       // of what is written of pods
	ofLease     record.EventBroadcaster
	lease       record.EventRecorder
	cancel      context.CancelFunc // ends what is written of pods
	endLease    context.CancelFunc
}

// newEventWriter begins to write.
func newEventWriter(profiles []string, client kubernetes.Interface, deps *Deps) (*eventWriter, error) {
	ctx, cancel := context.WithCancel(context.Background())
	forLease, endLease := context.WithCancel(context.Background())
	sink := newEventSink(&events.EventSinkImpl{Interface: client.EventsV1()})
	host, _ := os.Hostname()
	w := &eventWriter{
		deps: deps, host: host,
		context:     ctx,
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

// placed reports that a pod was placed. That happens once to a pod, so the event goes past client-go's
// broadcaster, which copies each event twice and keeps it for six minutes to find repetitions. The broadcaster
// gets what cannot be written, and tries again.
func (w *eventWriter) placed(pod *state.Pod, note string) {
	if w.recorders[pod.Profile] == nil {
		return
	}
	event := w.newEvent(pod, v1.EventTypeNormal, "Scheduled", "Binding", note)
	w.write(event, func() {
		if err := w.sink.once(w.context, event); err != nil {
			_ = w.broadcaster.(interface {
				Action(kind watch.EventType, event runtime.Object) error
			}).Action(watch.Added, event) // it fails only at the end
		}
	})
}

// newEvent makes an event as client-go's recorder does.
func (w *eventWriter) newEvent(pod *state.Pod, kind, reason, action, note string) *eventsv1.Event {
	now := clock.Real{}.Now()
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: util.GenerateEventName(pod.Name, now.UnixNano()), Namespace: pod.Namespace},
		EventTime:  metav1.MicroTime{Time: now}, Type: kind, Reason: reason, Action: action, Note: shownNote(note),
		ReportingController: pod.Profile, ReportingInstance: pod.Profile + "-" + w.host,
		Regarding: v1.ObjectReference{
			Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.Object.ResourceVersion,
		},
	}
}

// write writes an event beside the loop.
func (w *eventWriter) write(event *eventsv1.Event, write func()) {
	key := event.Namespace + "/" + event.Regarding.Name
	w.beside.Go(func() {
		_ = w.deps.guard(plugin.InWrite, "an event of pod "+key, func() {
			w.deps.fault("event", key)
			write()
		})
	})
}

// warning reports that a pod failed. If the last such event was not written, the broadcaster, which takes this one for a repetition,
// would not write it either.
func (w *eventWriter) warning(pod *state.Pod, reason, action, note string) {
	recorder := w.recorders[pod.Profile]
	switch {
	case recorder == nil:
	case w.sink.isLost(eventSubject{pod.UID, reason, action}):
		event := w.newEvent(pod, v1.EventTypeWarning, reason, action, note)
		w.write(event, func() { w.sink.again(w.context, event) })
	default:
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
	w.beside.Close()
	return left
}

// close ends it all.
func (w *eventWriter) close() {
	w.ofLease.Shutdown()
	w.endLease()
}
