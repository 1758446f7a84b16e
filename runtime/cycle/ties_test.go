package cycle_test

import (
	"testing"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestTies: every one of the best nodes can be chosen, about as often as the
// others, and none but those.
func TestTies(t *testing.T) {
	w := newWorld(t, nil)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if err := w.node(name, scenario.Args{}); err != nil {
			t.Fatal(err)
		}
	}
	w.declare("S", scenario.MustParse("score=b=1;*=2"))
	pod, err := fake.Pod("p", scenario.Args{})
	if err != nil {
		t.Fatal(err)
	}
	s := w.snapshot()
	chosen := map[string]int{}
	const tries = 4000
	for i := range tries {
		w.seed = uint64(i)
		other := i % 5
		w.beside = func(s *state.Snapshot) *state.Node { return s.Nodes.Node[other] }
		d := w.decide(s, pod)
		chosen[d.Node.Name]++
		if want := s.Name(uint32(other)) != "b"; d.Tied != want {
			t.Fatalf("%s is as good as %s: %t", s.Name(uint32(other)), d.Node.Name, d.Tied)
		}
	}
	if len(chosen) != 4 || chosen["b"] != 0 {
		t.Fatalf("chosen: %v, want a, c, d and e", chosen)
	}
	for name, n := range chosen {
		if n < tries/4*8/10 || n > tries/4*12/10 {
			t.Errorf("%s was chosen %d times of %d, want about %d", name, n, tries, tries/4)
		}
	}
}

// TestSeed: the same seed and number of the decision give the same node.
func TestSeed(t *testing.T) {
	var want string
	for range 2 {
		w := newWorld(t, nil)
		for _, name := range []string{"a", "b", "c"} {
			if err := w.node(name, scenario.Args{}); err != nil {
				t.Fatal(err)
			}
		}
		w.declare("S", scenario.MustParse("score=1"))
		pod, _ := fake.Pod("p", scenario.Args{})
		s := w.snapshot()
		var got string
		for range 50 {
			got += w.decide(s, pod).Node.Name
		}
		if want != "" && got != want {
			t.Errorf("chosen %s, and before %s", got, want)
		}
		want = got
	}
}
