//go:build !wasip1

package hosttest

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// parked is how many pods wait for an event.
const parked = 10_000

// batch is the maximum number of pods in one call of a guest (ABI-10).
const batch = 1024

func parkedPods(annotations map[string]string) []*state.Pod {
	pods := make([]*state.Pod, parked)
	for i := range pods {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("p", i)), Annotations: annotations}}
		p.Spec.SchedulerName = "default-scheduler"
		pods[i] = state.NewPod(p)
	}
	return pods
}

// TestParkedPods: an event is one guest call per 1,024 waiting pods, and so are the gates of
// pods that arrive together; the scheduler calls the plugin once.
func TestParkedPods(t *testing.T) {
	c := newCluster(t, &scenario.Log{}, twins()[0])
	var p *wasm.Plugin
	calls := func(what string, most int64, do func()) {
		t.Helper()
		before := int64(0)
		if p != nil {
			before = p.Calls()
		}
		do()
		for c.get().Step(context.Background()) {
		}
		if p == nil {
			p = c.plugin
		}
		if n := p.Calls() - before; n > most {
			t.Errorf("%s: %d guest calls, at most %d are expected", what, n, most)
		} else {
			t.Logf("%s: %d guest calls", what, n)
		}
	}
	const batches = (parked + batch - 1) / batch
	calls("gates", batches, func() {
		c.get().SetPods(parkedPods(map[string]string{prefix + "pre-enqueue": "unschedulable no", prefix + "hint": "skip"})...)
	})
	if n := c.get().Pending().Queue.Gated; n != parked {
		t.Fatalf("%d pods are gated", n)
	}
	calls("a node comes", batches, func() {
		if err := c.language(t).Do("node a"); err != nil {
			t.Fatal(err)
		}
	})
	if n := c.get().Pending().Queue.Gated; n != parked {
		t.Errorf("%d pods are gated after an event that the hint skips", n)
	}
}

// BenchmarkParkedPods measures one event, and one round of gates and of keys, for 10,000 pods.
func BenchmarkParkedPods(b *testing.B) {
	e := wasmexamples.EveryPoint()
	pods := parkedPods(map[string]string{prefix + "pre-enqueue": "unschedulable no", prefix + "hint": "skip", prefix + "queue-key": "7"})
	queued := make([]*state.QueuedPod, len(pods))
	for i := range queued {
		queued[i] = &state.QueuedPod{Pod: pods[i]}
	}
	node := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	for _, twin := range []struct {
		name string
		make func(testing.TB, *wasmexamples.Example) sandbox.Factory
	}{{"native", native}, {"go", module}} {
		p, err := newPlugin(b, &e, twin.make(b, &e), wasm.Config{Grants: manifest(b, &e).Rights()})
		if err != nil {
			b.Fatal(err)
		}
		for name, do := range map[string]func(){
			"hint": func() {
				p.Hint(state.ClusterEvent{Resource: state.NodeResource, Action: state.Add}, state.Object{NewNode: node}, pods, make([]state.Hint, len(pods)))
			},
			"pre_enqueue": func() { p.PreEnqueue(pods, make([]*plugin.Status, len(pods))) },
			"queue_key":   func() { p.Keys(queued) },
		} {
			b.Run("guest="+twin.name+"/point="+name, func(b *testing.B) {
				do() // makes the instance
				calls, i := p.Calls(), 0
				b.ReportAllocs()
				for b.Loop() {
					do()
					i++
				}
				b.ReportMetric(float64(p.Calls()-calls)/float64(i), "guest-calls/event")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(i)/parked, "ns/pod")
			})
		}
		if err := p.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
