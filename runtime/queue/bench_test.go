package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// crowd returns a queue of n pods, its clock, and the number of calls of Hint, which always
// answers Leave.
func crowd(tb testing.TB, n int) (*queue.Queue, *clock.Step, *int) {
	tb.Helper()
	c, hints := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), new(int)
	q, err := queue.New(queue.DefaultConfig(), queue.Deps{
		Clock: c,
		Less:  byPriority,
		Gate:  func([]*state.QueuedPod, []queue.GateResult) {},
		Hint: func(_ state.ClusterEvent, _ state.Object, pods []*state.QueuedPod, _ []state.Requeue) {
			*hints++
			if len(pods) != n {
				tb.Fatalf("called for %d pods, want %d", len(pods), n)
			}
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		q.Add(newPod(fmt.Sprint(i), nil))
		c.Advance(time.Microsecond)
	}
	return q, c, hints
}

// park pops and returns all pods.
func park(q *queue.Queue) {
	for {
		p, ok := q.Pop()
		if !ok {
			return
		}
		p.ClearRejectors()
		p.Rejectors = []string{"Fit"}
		q.AddUnschedulable(p)
	}
}

func TestOneEventAsksOnce(t *testing.T) {
	const n = 10_000
	q, _, hints := crowd(t, n)
	park(q)
	q.Move(state.EventAssignedPodDelete(), state.Object{}, nil)
	if *hints != 1 || q.Pending().Unschedulable != n {
		t.Errorf("Hint was called %d times, %d pods stayed; want 1, %d", *hints, q.Pending().Unschedulable, n)
	}
	if allocs := testing.AllocsPerRun(5, func() { q.Move(state.EventAssignedPodDelete(), state.Object{}, nil) }); allocs != 0 {
		t.Errorf("%v allocations an event, want 0", allocs)
	}
}

func BenchmarkEvent(b *testing.B) {
	q, _, _ := crowd(b, 10_000)
	park(q)
	b.ReportAllocs()
	for b.Loop() {
		q.Move(state.EventAssignedPodDelete(), state.Object{}, nil)
	}
}

// BenchmarkAddPop adds one pod, and pops and deletes the first one, among 10,000.
func BenchmarkAddPop(b *testing.B) {
	q, c, _ := crowd(b, 10_000)
	pods := make([]*state.Pod, 20_000)
	for i := range pods {
		pods[i] = newPod(fmt.Sprint("new", i), nil)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Advance(time.Microsecond)
		q.Add(pods[i%len(pods)])
		p, _ := q.Pop()
		q.Done(p.Pod.UID)
		q.Delete(p.Pod.UID)
		i++
	}
}

// BenchmarkRetry fails an attempt and goes through the backoff, among 10,000.
func BenchmarkRetry(b *testing.B) {
	q, c, _ := crowd(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if p, ok := q.Pop(); ok {
			q.AddFailed(p)
		}
		c.Advance(2 * time.Millisecond)
		q.Tick()
	}
}
