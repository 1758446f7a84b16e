package app

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// confirming confirms bindings at once.
type confirming struct {
	scheduler.Outlet
	scheduler *scheduler.Scheduler
}

func (c *confirming) Binding(context.Context, *state.Pod) error   { return nil }
func (c *confirming) Scheduled(*state.Pod, string, state.Feature) {}
func (c *confirming) Failed(scheduler.Failure)                    {}
func (c *confirming) Bind(_ context.Context, b objects.Binding) error {
	c.scheduler.SetPods(b.Pod.On(b.Node, b.Patch))
	return nil
}

// TestSource: what the console shows of a scheduler whose loop runs.
func TestSource(t *testing.T) {
	w := newWatched(newProgram())
	source := w.source()
	if _, err := source.Queue(t.Context()); err == nil {
		t.Error("there is a queue before the start")
	}
	c, owned := &confirming{}, owners.New()
	a, err := assembly.New(assembly.Config{Seed: 1, Scheduler: assembly.Default()}, assembly.Deps{
		Binder: c, Outlet: c, Services: owned, Controllers: owned, Observer: both{w},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c.scheduler = a.Scheduler
	w.running.Store(&running{assembly: a})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Scheduler.Run(ctx) }()
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Spec.Taints = []v1.Taint{{Key: "a", Value: "b", Effect: v1.TaintEffectPreferNoSchedule}, {Key: "c", Effect: v1.TaintEffectPreferNoSchedule}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("20"), "example.com/gpu": resource.MustParse("2")}
	a.Scheduler.SetNode(state.NewNode(n))
	for name, cpu := range map[string]string{"small": "3", "large": "9", "gated": "1"} {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		p.Spec.SchedulerName = v1.DefaultSchedulerName
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
		if name == "gated" {
			p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
		}
		a.Scheduler.SetPods(state.NewPod(p))
	}
	var places map[string]int
	eventually.Holds(t, "the pods are where they stay", func() bool {
		if places, err = source.Places(t.Context()); err != nil {
			t.Fatal(err)
		}
		return places["unschedulable"] == 1 && places["gated"] == 1 && places["active"]+places["binding"] == 0
	})
	queue, err := source.Queue(t.Context())
	if err != nil || len(queue) != 2 {
		t.Fatalf("%+v, %v", queue, err)
	}
	for _, p := range queue {
		switch p.Name {
		case "large":
			if p.Place != "unschedulable" || p.Attempts != 1 || p.First == nil || len(p.Plugins) != 1 || p.Plugins[0] != "NodeResourcesFit" {
				t.Errorf("%+v", p)
			}
		case "gated":
			if p.Place != "gated" || p.Reason == "" || len(p.Plugins) != 1 || p.Plugins[0] != "SchedulingGates" {
				t.Errorf("%+v", p)
			}
			if where, err := w.where(t.Context(), types.NamespacedName{Namespace: "ns", Name: "gated"}); err != nil || placeOf(queue, "ns", "gated") != where {
				t.Errorf("%q is not %q, %v", placeOf(queue, "ns", "gated"), where, err)
			}
		default:
			t.Errorf("%+v", p)
		}
	}
	nodes, err := source.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || len(nodes[0].Taints) != 2 || nodes[0].Taints[0] != "a=b:PreferNoSchedule" || nodes[0].Taints[1] != "c:PreferNoSchedule" {
		t.Fatalf("%+v, %v", nodes, err)
	}
	for i, want := range []debughttp.Amount{{Name: "cpu", Allocatable: 4000, Requested: 3000}, {Name: "memory"}, {Name: "pods", Allocatable: 20, Requested: 1}, {Name: "example.com/gpu", Allocatable: 2}} {
		if nodes[0].Resources[i] != want {
			t.Errorf("%+v, want %+v", nodes[0].Resources[i], want)
		}
	}
	work, err := source.Work(t.Context())
	calls := make(map[string]int64)
	for _, x := range work {
		calls[x.Plugin+" "+x.Point] += x.Calls
	}
	if err != nil || calls["NodeResourcesFit Filter"] < 2 || calls["DefaultBinder Bind"] != 1 {
		t.Errorf("%v, %v", calls, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
