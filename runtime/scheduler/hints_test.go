package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/queue"
)

// TestHintsOfWaitingPods: while five pods wait at Permit, 347 updates of a node come. When the wait ends, an attached plugin is asked
// about few of them, and its pods are tried again instead; a plugin of all namespaces is asked about each, and its pods are parked.
func TestHintsOfWaitingPods(t *testing.T) {
	const pods, updates = 5, 347
	for _, test := range []struct {
		namespaces string
		hints      int
		parked     int
	}{{"", pods * updates, pods}, {" namespaces=team", 4, 0}} {
		t.Run(test.namespaces, func(t *testing.T) {
			w := newWorld(t, &scenario.Log{})
			w.declare("A", scenario.MustParse("filter=ok permit=wait:10s events=Node/UpdateNodeLabel hint=skip bind=ok"+test.namespaces))
			update := func(i int) {
				node, err := fake.Node("n", scenario.MustParse(fmt.Sprint("cpu=100 label=", i)))
				if err != nil {
					t.Fatal(err)
				}
				w.get().SetNode(node)
				w.run()
			}
			update(0)
			for i := range pods {
				w.set(pod(t, fmt.Sprint("p", i), "namespace=team"))
			}
			w.run()
			for i := range updates {
				update(1 + i)
			}
			w.log.Take()
			w.clock.Advance(11 * time.Second)
			w.get().Step(t.Context())
			if got := strings.Count(w.log.Take(), "A.hint"); got != test.hints {
				t.Errorf("%d hints were asked for, want %d", got, test.hints)
			}
			parked := 0
			for place := range w.get().Queued() {
				if place == queue.Unschedulable {
					parked++
				}
			}
			if parked != test.parked {
				t.Errorf("%d pods are parked, want %d", parked, test.parked)
			}
		})
	}
}
