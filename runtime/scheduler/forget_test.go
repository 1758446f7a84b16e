package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// tape keeps what the loop handles.
type tape struct{ events []inbox.Event }

func (r *tape) Enter(e inbox.Event) { r.events = append(r.events, e) }

// TestMissedIsBounded: while a pod waits at Permit, 1,462 updates of nodes of 150 KB come, none of which helps it. What is kept for
// it is bounded, and it is tried again after it was rejected. Events of few bytes are not forgotten.
func TestMissedIsBounded(t *testing.T) {
	for _, test := range []struct {
		size, updates int
		forgotten     bool
	}{{150_000, 1462, true}, {150, 1462, false}, {150_000, 100, false}} {
		t.Run(fmt.Sprint(test.updates, " of ", test.size), func(t *testing.T) {
			w := newWorld(t, &scenario.Log{})
			recorder := &tape{}
			w.recorder = recorder
			w.declare("A", scenario.MustParse("filter=ok permit=wait:10s events=Node/Update hint=skip bind=ok"))
			node := func(version int, size int) *state.Node {
				n, err := fake.Node("n", scenario.Args{})
				if err != nil {
					t.Fatal(err)
				}
				object := n.Object.DeepCopy()
				object.ResourceVersion = fmt.Sprint(version)
				object.Annotations = map[string]string{"a": strings.Repeat("x", size)}
				object.Status.Allocatable = v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(int64(1000+version), resource.DecimalSI)}
				return state.NewNode(object)
			}
			pod, err := fake.Pod("p", scenario.Args{})
			if err != nil {
				t.Fatal(err)
			}
			w.get().SetNode(node(0, test.size))
			w.set(pod)
			w.run()
			most := 0
			for i := range test.updates {
				w.get().SetNode(node(1+i, test.size))
				w.run()
				most = max(most, w.get().MissedBytes())
			}
			if most > 33<<20 || !test.forgotten && most < test.updates*test.size {
				t.Errorf("up to %d bytes of events are kept", most)
			}
			w.clock.Advance(11 * time.Second)
			w.run()
			forgotten := 0
			for _, e := range recorder.events {
				if raised, ok := e.(*inbox.Raise); ok && raised.Event == state.EventForgotten() {
					forgotten++
				}
			}
			place := w.place(pod)
			if (forgotten > 0) != test.forgotten || (place != queue.Unschedulable) != test.forgotten {
				t.Errorf("events were forgotten %d times, and the pod is at %v", forgotten, place)
			}
			again := newWorld(t, &scenario.Log{})
			again.declare("A", scenario.MustParse("filter=ok permit=wait:10s events=Node/Update hint=skip bind=ok"))
			for _, e := range recorder.events {
				if _, decision := e.(*inbox.Decision); !decision {
					again.get().Handle(t.Context(), e)
				}
			}
			if err := again.get().Broken(); err != nil {
				t.Fatal(err)
			}
			if got := again.place(pod); got != place {
				t.Errorf("in a replay the pod is at %v, and was at %v", got, place)
			}
		})
	}
}

// place returns where the queue has a pod.
func (w *world) place(pod *state.Pod) queue.Place {
	for place, q := range w.get().Queued() {
		if q.Pod.UID == pod.UID {
			return place
		}
	}
	return queue.Nowhere
}
