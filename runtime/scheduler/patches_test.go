package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// patcher notes which pods are not assumed any more.
type patcher struct {
	*fake.Plugin
	settled *[]types.UID
}

var _ plugin.Patcher = patcher{}

func (p patcher) Unassumed(pod types.UID) { *p.settled = append(*p.settled, pod) }

// TestUnassumed: plugins are told of each assumed pod once, when it was confirmed or given up, however that comes.
func TestUnassumed(t *testing.T) {
	pod, err := fake.Pod("p", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	node, err := fake.Node("n", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	expire := func(w *world) { w.clock.Advance(time.Minute) }
	allow := func(w *world) { w.get().AllowWaiting(pod.UID, "A") }
	confirm := func(w *world) { w.get().SetPods(pod.On("n", state.Patch{})) }
	for _, test := range []struct {
		name, plugin string
		deaf         bool
		steps        []func(w *world)
		want         int
	}{
		{"waits", "permit=wait:10s bind=ok", false, nil, 0},
		{"is allowed and confirmed", "permit=wait:10s bind=ok", false, []func(*world){allow}, 1},
		{"is bound and not confirmed", "permit=wait:10s bind=ok", true, []func(*world){allow}, 0},
		{"is confirmed later", "permit=wait:10s bind=ok", true, []func(*world){allow, confirm}, 1},
		{"is bound by another scheduler", "permit=wait:10s bind=ok", false, []func(*world){confirm}, 1},
		{"waits too long", "permit=wait:10s bind=ok", false, []func(*world){expire}, 1},
		{"is deleted", "permit=wait:10s bind=ok", false, []func(*world){func(w *world) { w.get().DeletePod(pod.UID) }}, 1},
		{"is deleted after it was bound", "permit=wait:10s bind=ok", true, []func(*world){allow, func(w *world) { w.get().DeletePod(pod.UID) }}, 1},
		{"is rejected at permit", "permit=unschedulable:no bind=ok", false, nil, 1},
		{"fails at reserve", "reserve=error:no bind=ok", false, nil, 1},
		{"is not bound", "bind=error:no", false, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, &scenario.Log{})
			w.declare("A", scenario.MustParse(test.plugin))
			var settled []types.UID
			wrapped := patcher{w.plugins["A"], &settled}
			for _, entries := range w.profiles[0].Points {
				for i := range entries {
					if entries[i].Plugin == plugin.Plugin(w.plugins["A"]) {
						entries[i].Plugin = wrapped
					}
				}
			}
			w.deaf = test.deaf
			w.get().SetNode(node)
			w.set(pod)
			w.run()
			for _, step := range test.steps {
				step(w)
				w.run()
			}
			if !slices.Equal(settled, slices.Repeat([]types.UID{pod.UID}, test.want)) {
				t.Errorf("told of %v, want %d times the pod", settled, test.want)
			}
		})
	}
}
