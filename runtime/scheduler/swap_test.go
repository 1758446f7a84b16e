package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestSwapIsShort: on the loop, a swap calls no plugin and tries no pod, however many are parked,
// except for pods that the changed plugin rejected.
func TestSwapIsShort(t *testing.T) {
	log := &scenario.Log{}
	w := newWorld(t, log)
	w.declare("A", scenario.MustParse("filter=n0=unschedulable:no gate="))
	node, err := fake.Node("n0", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	w.get().SetNode(node)
	var pods []*state.Pod
	for i := range 1000 {
		p, err := fake.Pod(fmt.Sprint("p", i), scenario.Args{})
		if err != nil {
			t.Fatal(err)
		}
		pods = append(pods, p)
	}
	w.set(pods...)
	w.run()
	log.Take()
	for _, c := range []struct{ name, options, want string }{
		{"B", "filter= prescore= reserve= permit= gate=", "swap 1: drained\n"},
		{"B", "", "swap 2: drained\n"},
	} {
		if err := w.swap(c.name, scenario.MustParse(c.options)); err != nil {
			t.Fatal(err)
		}
		w.run()
		if got := log.Take(); got != c.want {
			t.Errorf("a swap of %s did\n%.1000s", c.name, got)
		}
	}
	if err := w.swap("A", scenario.MustParse("")); err != nil {
		t.Fatal(err)
	}
	w.run()
	if placed := strings.Count(log.Take(), "scheduled: "); placed != len(pods) {
		t.Errorf("%d pods are placed without the plugin", placed)
	}
}
