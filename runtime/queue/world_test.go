package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world is a queue with fake plugins: gates and hints are tables, and all callbacks are logged.
type world struct {
	*queue.Queue
	clock  *clock.Step
	start  time.Time
	gates  map[string]queue.GateResult
	hints  map[string]state.Requeue // by "pod event"
	deaf   map[string]bool          // events that no plugin registered
	less   func(a, b *state.QueuedPod) bool
	log    *scenario.Log
	out    map[string]*state.QueuedPod // popped
	latest map[string]*state.Pod
}

func newWorld(t testing.TB, config queue.Config, log *scenario.Log) *world {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &world{
		clock: clock.NewStep(start), start: start, less: byPriority, log: log,
		gates: map[string]queue.GateResult{}, hints: map[string]state.Requeue{}, deaf: map[string]bool{},
		out: map[string]*state.QueuedPod{}, latest: map[string]*state.Pod{},
	}
	q, err := queue.New(config, queue.Deps{
		Clock: w.clock,
		Less:  func(a, b *state.QueuedPod) bool { return w.less(a, b) },
		Gate: func(pods []*state.QueuedPod, out []queue.GateResult) {
			w.log.Printf("  gates asked about%s", described(pods, func(p *state.QueuedPod) string {
				return p.GatedBy
			}))
			for i, p := range pods {
				out[i] = w.gates[p.Pod.Name]
			}
		},
		Wants: func(e state.ClusterEvent) bool { return !w.deaf[eventName(e)] },
		Hint: func(e state.ClusterEvent, _ state.Object, pods []*state.QueuedPod, out []state.Requeue) {
			w.log.Printf("  hints asked about %s for%s", eventName(e), described(pods, func(p *state.QueuedPod) string {
				return strings.Join(append(slices.Clone(p.Rejectors), p.Pending...), ",")
			}))
			for i, p := range pods {
				out[i] = w.hints[p.Pod.Name+" "+eventName(e)]
			}
		},
		Observe: func(m queue.Transition) {
			w.log.Printf("  %s: %v -> %v (%s)", m.Pod.Pod.Name, m.From, m.To, eventName(m.Event))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Queue = q
	return w
}

// byPriority is kube-scheduler's PrioritySort.
func byPriority(a, b *state.QueuedPod) bool {
	if a.Pod.Priority != b.Pod.Priority {
		return a.Pod.Priority > b.Pod.Priority
	}
	return a.Timestamp.Before(b.Timestamp)
}

func described(pods []*state.QueuedPod, whom func(*state.QueuedPod) string) string {
	var b strings.Builder
	for _, p := range pods {
		b.WriteString(" " + p.Pod.Name)
		if plugins := whom(p); plugins != "" {
			b.WriteString("(" + plugins + ")")
		}
	}
	return b.String()
}

func names(pods []*state.Pod) string {
	var b strings.Builder
	for _, p := range pods {
		b.WriteString(" " + p.Name)
	}
	return b.String()
}

func newPod(name string, edit func(*v1.Pod)) *state.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
	if edit != nil {
		edit(p)
	}
	return state.NewPod(p)
}

// actionNames is in the order of the bits.
var actionNames = strings.Fields(`Add Delete UpdateNodeAllocatable UpdateNodeLabel UpdateNodeTaint
	UpdateNodeCondition UpdateNodeAnnotation UpdateNodeDeclaredFeature UpdatePodLabel UpdatePodScaleDown
	UpdatePodToleration UpdatePodSchedulingGatesEliminated UpdatePodGeneratedResourceClaim UpdateOther`)

func eventName(e state.ClusterEvent) string {
	switch {
	case e.Label != "":
		return e.Label
	case e.WildCard():
		return "*"
	case e.Action == state.Update:
		return string(e.Resource) + "/Update"
	}
	for i, name := range actionNames {
		if e.Action == 1<<i {
			return string(e.Resource) + "/" + name
		}
	}
	return fmt.Sprintf("%s/%b", e.Resource, e.Action)
}

func parseEvent(s string) (state.ClusterEvent, bool) {
	if s == "*" {
		return state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions}, true
	}
	for i, name := range actionNames {
		if resource, ok := strings.CutSuffix(s, "/"+name); ok {
			return state.ClusterEvent{Resource: state.EventResource(resource), Action: 1 << i}, true
		}
	}
	return state.ClusterEvent{}, false
}
