package queue_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// laned returns a queue whose lanes are namespaces; pods of "" have none of their own. Priorities above most count as most.
func laned(t rapid.TB, most int32) *queue.Queue {
	t.Helper()
	q, err := queue.New(queue.DefaultConfig(), queue.Deps{
		Clock: clock.NewStep(time.Unix(0, 0)), Less: byPriority,
		Gate: func([]*state.QueuedPod, []queue.GateResult) {},
		Hint: func(state.ClusterEvent, state.Object, []*state.QueuedPod, []state.Requeue) {},
		Lane: func(p *state.QueuedPod) queue.Lane {
			return queue.Lane{Name: p.Pod.Namespace, Priority: min(p.Pod.Priority, most)}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func podOf(namespace string, number int, priority int32) *state.Pod {
	return newPod(fmt.Sprint(namespace, "-", number), func(p *v1.Pod) { p.Namespace, p.Spec.Priority = namespace, &priority })
}

// popped returns the lanes of the next pods.
func popped(t rapid.TB, q *queue.Queue, n int) (lanes []string) {
	t.Helper()
	for range n {
		p, ok := q.Pop()
		if !ok {
			t.Fatalf("the queue is empty after %v", lanes)
		}
		lanes = append(lanes, p.Pod.Namespace)
	}
	return lanes
}

// TestTurnsOfLanes: a crowd of a lane does not keep others waiting, also not by what an attempt costs or by its priority.
func TestTurnsOfLanes(t *testing.T) {
	q := laned(t, 5)
	for i := range 20 {
		q.Add(podOf("team", i, 9))
	}
	for i := range 4 {
		q.Add(podOf("", i, 5))
	}
	if got, want := popped(t, q, 4), []string{"team", "", "team", ""}; !slices.Equal(got, want) {
		t.Errorf("by turns: %q, want %q", got, want)
	}
	q.Charge("team", 10)
	if got, want := popped(t, q, 3), []string{"", "", "team"}; !slices.Equal(got, want) {
		t.Errorf("after costs: %q, want %q", got, want)
	}
	q.Add(podOf("low", 0, 4))
	if got := popped(t, q, 18); got[17] != "low" {
		t.Errorf("a lower priority is not last: %q", got)
	}
}

// TestEmptyLaneSavesNothing: a lane that was empty gets its turn at once, and then no more turns than the others.
func TestEmptyLaneSavesNothing(t *testing.T) {
	q := laned(t, 0)
	for i := range 100 {
		q.Add(podOf("a", i, 0))
	}
	popped(t, q, 50)
	for i := range 20 {
		q.Add(podOf("b", i, 0))
	}
	got := popped(t, q, 20)
	turns := map[string]int{}
	for _, lane := range got {
		turns[lane]++
	}
	if got[0] != "b" && got[1] != "b" || turns["a"] != 10 || turns["b"] != 10 {
		t.Errorf("%q", got)
	}
}

// TestLanes: the pods of a lane keep their order; of two lanes that have pods all the time, neither uses more than the other and one
// attempt; what the lanes have used can be carried on.
func TestLanes(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		q, other := laned(t, 0), laned(t, 0)
		names := []string{"", "a", "b", "c"}[:rapid.IntRange(1, 4).Draw(t, "lanes")]
		const each = 60
		for i := range each {
			for _, name := range names {
				p := podOf(name, i, 0)
				q.Add(p)
				other.Add(p)
			}
		}
		used, last := map[string]int{}, map[string]int{}
		most := 1
		for range rapid.IntRange(0, each).Draw(t, "pops") {
			p, _ := q.Pop()
			name := p.Pod.Namespace
			var number int
			if _, err := fmt.Sscanf(p.Pod.Name, name+"-%d", &number); err != nil || number != last[name] {
				t.Fatalf("popped %s after %d pods of its lane", p.Pod.Name, last[name])
			}
			other.Delete(p.Pod.UID)
			cost := rapid.SampledFrom([]int{0, 0, 1, 7, 40}).Draw(t, "cost")
			q.Charge(name, uint64(cost))
			last[name]++
			used[name] += 1 + cost
			most = max(most, 1+cost)
		}
		for _, x := range names {
			for _, y := range names {
				if used[x] > used[y]+most {
					t.Fatalf("lane %q has used %d, lane %q %d, and an attempt costs %d at most", x, used[x], y, used[y], most)
				}
			}
		}
		ahead := q.Ahead()
		for _, name := range slices.Sorted(maps.Keys(ahead)) {
			other.Charge(name, ahead[name])
		}
		n := len(names)*each - sum(last)
		if got, want := popped(t, other, n), popped(t, q, n); !slices.Equal(got, want) {
			t.Fatalf("carried on: %q, want %q", got, want)
		}
	})
}

func sum(of map[string]int) (n int) {
	for _, v := range of {
		n += v
	}
	return n
}

// TestRelane: pods in Active go to the lanes that they have now.
func TestRelane(t *testing.T) {
	split := false
	q, err := queue.New(queue.DefaultConfig(), queue.Deps{
		Clock: clock.NewStep(time.Unix(0, 0)), Less: byPriority,
		Gate: func([]*state.QueuedPod, []queue.GateResult) {},
		Hint: func(state.ClusterEvent, state.Object, []*state.QueuedPod, []state.Requeue) {},
		Lane: func(p *state.QueuedPod) (l queue.Lane) {
			if split {
				l.Name = p.Pod.Namespace
			}
			return l
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		q.Add(podOf("a", i, 0))
	}
	q.Add(podOf("b", 0, 0), podOf("b", 1, 0))
	split = true
	q.Relane()
	if got, want := popped(t, q, 4), []string{"a", "b", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	split = false
	q.Relane()
	q.Delete(podOf("a", 2, 0).UID)
	if _, ok := q.Pop(); ok {
		t.Error("a deleted pod is popped")
	}
}
