package assembly

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// told records what a scheduler reported about plugins while it ran, by point: the counts in
// its metrics.
type told struct {
	recorder
	faults, calls map[abi.Point]int64
	// ofPod are the faults reported with attempts of a pod.
	ofPod map[string]int64
}

func (r *told) add(pod string, timings []report.Timing) {
	for _, t := range timings {
		if t.Plugin == "broken" {
			r.faults[t.Point] += t.Faults
			r.calls[t.Point] += t.Calls
			r.ofPod[pod] += t.Faults
		}
	}
}

func (r *told) Attempted(a *report.Attempt, _ func(uint32) string) { r.add(a.Pod, a.Timings) }
func (r *told) Ended(e *report.Ending)                             { r.add(e.Pod, e.Timings) }

// TestFaultsAreTold: the scheduler reports the faults of a plugin while it runs, at the right
// points, as many as the plugin counts itself.
func TestFaultsAreTold(t *testing.T) {
	modules := newModules(t)
	for _, p := range points {
		t.Run(p.point.String(), func(t *testing.T) {
			s := Default()
			loaded, err := modules.Load(module.Reference{
				Path: everywhere(t, p.point == abi.QueueSort, p.point, failures["traps"], 2), Name: "broken", GrantAll: true,
			})
			if err == nil {
				err = loaded.Enable(s)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := &told{faults: make(map[abi.Point]int64), calls: make(map[abi.Point]int64), ofPod: make(map[string]int64)}
			now := clock.NewStep(time.Unix(0, 0))
			a, err := New(Config{Scheduler: s, Modules: modules}, Deps{
				Clock: now, Binder: refuses{r}, Outlet: r, Observer: r,
				Worked: func(_ string, timings []report.Timing) { r.add("", timings) }, Spawn: func(run func()) { run() },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			r.scheduler = a
			for i := range 3 {
				a.Scheduler.SetNode(state.NewNode(node(fmt.Sprint("n-", i))))
			}
			for i := range 40 {
				a.Scheduler.SetPods(state.NewPod(pod(fmt.Sprint("p-", i), int32(i/30)))) // the last ones preempt
			}
			for round := range 20 {
				for a.Scheduler.Step(t.Context()) {
				}
				a.Scheduler.SetNode(state.NewNode(node(fmt.Sprint("more-", round/10)))) // this calls hints
				now.Advance(10 * time.Minute)
			}
			for a.Scheduler.Step(t.Context()) {
			}
			counted := make(map[abi.Point]int64)
			for _, w := range a.Status().Plugins[0].Work {
				for _, f := range w.Faults {
					if f.Kind != fault.BreakerOpen {
						counted[w.Point] += f.Count
					}
				}
			}
			if counted[p.point] == 0 || len(counted) != 1 {
				t.Fatalf("the plugin counts %v; the test needs faults at all points", counted)
			}
			for point := range abi.NumPoints {
				if r.faults[point] != counted[point] {
					t.Errorf("%d faults were reported at %s, %d were counted", r.faults[point], point, counted[point])
				}
			}
			if r.calls[p.point] == 0 {
				t.Errorf("no calls were reported")
			}
			if between := p.point == abi.PreEnqueue || p.point == abi.QueueSort || p.point == abi.Hint; (r.ofPod[""] > 0) != between {
				t.Errorf("%d faults outside of attempts: %v", r.ofPod[""], r.ofPod)
			}
		})
	}
}

// refuses binds only every other pod.
type refuses struct{ *told }

func (r refuses) Bind(ctx context.Context, b objects.Binding) error {
	if len(r.bound)%2 == 0 {
		r.bound = append(r.bound, "")
		return context.DeadlineExceeded
	}
	return r.recorder.Bind(ctx, b)
}

func node(name string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourcePods: resource.MustParse("10")}
	return n
}

func pod(name string, priority int32) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	p.Spec.SchedulerName, p.Spec.Priority = v1.DefaultSchedulerName, &priority
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}}
	return p
}
