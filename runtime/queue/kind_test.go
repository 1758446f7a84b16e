package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// helps reports whether a plugin of a rejection has the event's name, as plugins of these tests do, or there is none.
func helps(event state.ClusterEvent, r queue.Rejection) bool {
	if r.GatedBy != "" && r.GatedBy != event.Label {
		return false
	}
	return len(r.Rejectors)+len(r.Pending) == 0 || slices.Contains(r.Rejectors, event.Label) || slices.Contains(r.Pending, event.Label)
}

// selective is a queue whose hints are those that helps allows, and the number of pods that they were called for.
type selective struct {
	*queue.Queue
	asked int
	gates map[string]string
}

func newSelective(tb rapid.TB, c clock.Clock, ask bool) *selective {
	s := &selective{gates: map[string]string{}}
	deps := queue.Deps{
		Clock: c, Less: byPriority,
		Gate: func(pods []*state.QueuedPod, out []queue.GateResult) {
			for i, p := range pods {
				out[i].Plugin = s.gates[p.Pod.Name]
			}
		},
		Hint: func(event state.ClusterEvent, object state.Object, pods []*state.QueuedPod, out []state.Requeue) {
			s.asked += len(pods)
			for i, p := range pods {
				own := object.NewPod != nil && object.NewPod.UID == p.Pod.UID
				if own || helps(event, queue.Rejection{GatedBy: p.GatedBy, Rejectors: p.Rejectors, Pending: p.Pending}) {
					out[i] = state.AfterBackoff
				}
			}
		},
	}
	if ask {
		deps.Helps = helps
	}
	q, err := queue.New(queue.DefaultConfig(), deps)
	if err != nil {
		tb.Fatal(err)
	}
	s.Queue = q
	return s
}

// TestHelps holds a queue that asks whether an event helps against one that calls the hints for all pods.
func TestHelps(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		queues := [...]*selective{newSelective(t, c, true), newSelective(t, c, false)}
		names := []string{"a", "b", "c"}
		var pods []*state.Pod
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			c.Advance(time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second)
			operation := rapid.SampledFrom([]string{"add", "reject", "reject", "gate", "move", "move", "own", "ungate", "release", "delete", "tick"}).Draw(t, "operation")
			name := rapid.SampledFrom(names).Draw(t, "plugin")
			var pod *state.Pod
			if operation == "add" || len(pods) == 0 {
				operation, pod = "add", newPod(fmt.Sprint("p", len(pods)), nil)
				pods = append(pods, pod)
			} else {
				pod = pods[rapid.IntRange(0, len(pods)-1).Draw(t, "pod")]
			}
			rejectors := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, "rejectors")
			slices.Sort(rejectors)
			gate := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "gate")
			if operation == "tick" {
				c.Advance(time.Minute)
			}
			for _, q := range queues {
				switch operation {
				case "add":
					q.gates[pod.Name] = gate
					q.Add(pod)
				case "reject":
					if p, ok := q.Pop(); ok {
						p.ClearRejectors()
						p.Rejectors = rejectors
						q.AddUnschedulable(p)
					}
				case "gate":
					q.gates[pod.Name] = gate
				case "move":
					q.Move(state.ClusterEvent{Resource: state.NodeResource, Action: state.Add, Label: name}, state.Object{}, nil)
				case "own":
					q.Move(state.ClusterEvent{Resource: state.UnscheduledPodResource, Action: state.Update, Label: name}, state.Object{NewPod: pod}, nil)
				case "ungate":
					q.Ungate(pod.UID, name)
				case "release":
					q.Release(name)
				case "delete":
					q.Delete(pod.UID)
				case "tick":
					q.Tick()
				}
			}
			var all [2][]string
			for i, q := range queues {
				for place, p := range q.All() {
					all[i] = append(all[i], fmt.Sprint(p.Pod.Name, " ", place, " ", p.GatedBy, p.Rejectors))
				}
			}
			if !slices.Equal(all[0], all[1]) {
				t.Fatalf("after %s %s %s:\n%q, want\n%q", operation, name, pod.Name, all[0], all[1])
			}
		}
		if queues[0].asked > queues[1].asked {
			t.Fatalf("hints were called for %d pods, more than %d", queues[0].asked, queues[1].asked)
		}
	})
}

// TestEventsForOthers counts that pods which an event cannot help are not looked at.
func TestEventsForOthers(t *testing.T) {
	const n = 1000
	q := newSelective(t, clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), true)
	for i := range n {
		name := fmt.Sprint("gated", i)
		q.gates[name] = "a"
		q.Add(newPod(name, nil))
	}
	for i := range n {
		q.Add(newPod(fmt.Sprint("parked", i), nil))
	}
	for {
		p, ok := q.Pop()
		if !ok {
			break
		}
		p.ClearRejectors()
		p.Rejectors = []string{"b"}
		q.AddUnschedulable(p)
	}
	looked := 0
	for event, want := range map[string]int{"a": n, "b": n, "c": 0} {
		looked, q.asked = 0, 0
		q.Move(state.ClusterEvent{Resource: state.NodeResource, Action: state.Add, Label: event}, state.Object{}, func(*state.Pod) bool {
			looked++
			return false
		})
		if looked != want {
			t.Errorf("event for %s: looked at %d pods, want %d", event, looked, want)
		}
	}
}
