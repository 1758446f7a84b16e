package state_test

import (
	"fmt"
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// amounts are requests by name: milli-CPU for cpu, bytes for memory, otherwise counts.
type amounts map[v1.ResourceName]int64

func (a amounts) plus(b amounts) amounts {
	out := maps.Clone(a)
	for name, n := range b {
		out[name] += n
	}
	return out
}

func (a amounts) list() v1.ResourceList {
	list := v1.ResourceList{}
	for name, n := range a {
		if name == v1.ResourceCPU {
			list[name] = *resource.NewMilliQuantity(n, resource.DecimalSI)
		} else {
			list[name] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return list
}

// ask has the requests of a pod, in the terms of the KEPs.
type ask struct {
	containers []amounts
	init       []amounts
	sidecar    []bool // which of init are sidecars
	overhead   amounts
	pod        amounts // pod-level; may be nil
}

func drawAmounts(t *rapid.T, what string) amounts {
	return rapid.MapOf(
		rapid.SampledFrom([]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, "nvidia.com/gpu"}),
		rapid.Int64Range(0, 5000),
	).Draw(t, what)
}

func drawAsk(t *rapid.T) ask {
	var a ask
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		a.containers = append(a.containers, drawAmounts(t, fmt.Sprint("container ", i)))
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "init containers") {
		a.init = append(a.init, drawAmounts(t, fmt.Sprint("init container ", i)))
		a.sidecar = append(a.sidecar, rapid.Bool().Draw(t, "sidecar"))
	}
	if rapid.Bool().Draw(t, "has overhead") {
		a.overhead = drawAmounts(t, "overhead")
	}
	if rapid.Bool().Draw(t, "pod level") {
		a.pod = drawAmounts(t, "pod requests")
		delete(a.pod, "nvidia.com/gpu") // not allowed at this level
	}
	return a
}

func (a ask) object() *v1.Pod {
	pod := &v1.Pod{}
	container := func(r amounts) v1.Container {
		return v1.Container{Resources: v1.ResourceRequirements{Requests: r.list()}}
	}
	for _, r := range a.containers {
		pod.Spec.Containers = append(pod.Spec.Containers, container(r))
	}
	always := v1.ContainerRestartPolicyAlways
	for i, r := range a.init {
		c := container(r)
		if a.sidecar[i] {
			c.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if a.overhead != nil {
		pod.Spec.Overhead = a.overhead.list()
	}
	if a.pod != nil {
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: a.pod.list()}
	}
	return pod
}

// total adds up the requests: containers and sidecars run together; an ordinary init container
// runs alone with the sidecars that were started before it (KEP-753). Pod-level requests
// replace the sum (KEP-2837), and overhead is added (KEP-688). defaults apply to containers
// that do not name a resource.
func (a ask) total(defaults amounts) amounts {
	full := func(r amounts) amounts {
		out := maps.Clone(defaults)
		if out == nil {
			out = amounts{}
		}
		maps.Copy(out, r)
		return out
	}
	together, sidecars, peak := amounts{}, amounts{}, amounts{}
	for _, r := range a.containers {
		together = together.plus(full(r))
	}
	for i, r := range a.init {
		alone := sidecars.plus(full(r))
		if a.sidecar[i] {
			sidecars = alone
		}
		for name, n := range alone {
			peak[name] = max(peak[name], n)
		}
	}
	out := together.plus(sidecars)
	for name, n := range peak {
		out[name] = max(out[name], n)
	}
	for name, n := range a.pod {
		out[name] = n
	}
	return out.plus(a.overhead)
}

// TestRequestsOfOneContainer: NewPod takes for a pod with one container what component-helpers of Kubernetes compute.
func TestRequestsOfOneContainer(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		list := func(what string) v1.ResourceList {
			list := v1.ResourceList{}
			for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, "example.com/gpu", "hugepages-2Mi", "unknown"} {
				if q := rapid.SampledFrom([]string{"", "", "0", "1n", "1m", "1500u", "3", "2Gi", "1.5", "9e18", "16Ei"}).Draw(t, fmt.Sprint(what, " ", name)); q != "" {
					list[name] = resource.MustParse(q)
				}
			}
			return list
		}
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: list("requests")}}}}}
		if rapid.Bool().Draw(t, "runs") {
			status := v1.ContainerStatus{Name: rapid.SampledFrom([]string{"c", "other"}).Draw(t, "status of")}
			if rapid.Bool().Draw(t, "has resources") {
				status.Resources = &v1.ResourceRequirements{Requests: list("actual")}
			}
			if rapid.Bool().Draw(t, "has allocated resources") {
				status.AllocatedResources = list("allocated")
			}
			pod.Status.ContainerStatuses = []v1.ContainerStatus{status}
		}
		if rapid.IntRange(0, 3).Draw(t, "infeasible") == 0 {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}}
		}
		switch rapid.IntRange(0, 6).Draw(t, "more") {
		case 0:
			pod.Spec.Overhead = list("overhead")
		case 1:
			pod.Spec.InitContainers = []v1.Container{{Name: "i", Resources: v1.ResourceRequirements{Requests: list("init")}}}
		case 2:
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "d", Resources: v1.ResourceRequirements{Requests: list("second")}})
		case 3:
			pod.Spec.Resources = &v1.ResourceRequirements{}
		case 4:
			pod.Status.AllocatedResources, pod.Status.Resources = list("allocated to the pod"), &v1.ResourceRequirements{Requests: list("actual of the pod")}
		}
		options := resourcehelper.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
		want := state.NewResources(resourcehelper.PodRequests(pod, options))
		want.Pods = 1
		options.NonMissingContainerRequests = v1.ResourceList{
			v1.ResourceCPU:    *resource.NewMilliQuantity(state.DefaultMilliCPURequest, resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(state.DefaultMemoryRequest, resource.DecimalSI),
		}
		nonZero := resourcehelper.PodRequests(pod, options)
		p := state.NewPod(pod)
		if fmt.Sprint(p.Requests) != fmt.Sprint(want) || p.NonZeroCPU != quantity.Milli(*nonZero.Cpu()) || p.NonZeroMemory != quantity.Whole(*nonZero.Memory()) {
			t.Fatalf("requests %+v, %d and %d for scores; want %+v, %v", p.Requests, p.NonZeroCPU, p.NonZeroMemory, want, nonZero)
		}
	})
}

// TestRequests: NewPod computes requests as the KEPs say, and scores use kube-scheduler's
// defaults for resources that neither a container nor the pod names.
func TestRequests(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		a := drawAsk(t)
		p := state.NewPod(a.object())
		want := a.total(nil)
		got := amounts{v1.ResourceCPU: p.Requests.MilliCPU, v1.ResourceMemory: p.Requests.Memory, "nvidia.com/gpu": p.Requests.Scalar("nvidia.com/gpu")}
		for name, n := range got {
			if n != want[name] {
				t.Fatalf("requests %d of %s, want %d", n, name, want[name])
			}
		}
		defaults := amounts{v1.ResourceCPU: state.DefaultMilliCPURequest, v1.ResourceMemory: state.DefaultMemoryRequest}
		if len(a.pod) > 0 {
			for name := range want { // named somewhere
				delete(defaults, name)
			}
		}
		nonZero := a.total(defaults)
		if p.NonZeroCPU != nonZero[v1.ResourceCPU] || p.NonZeroMemory != nonZero[v1.ResourceMemory] {
			t.Fatalf("with defaults: %d and %d, want %d and %d", p.NonZeroCPU, p.NonZeroMemory, nonZero[v1.ResourceCPU], nonZero[v1.ResourceMemory])
		}
		if p.Requests.Pods != 1 {
			t.Fatalf("a pod counts %d pods", p.Requests.Pods)
		}
	})
}

// TestNewPodIsCheap: nothing is added up in maps for a pod with one container.
func TestNewPodIsCheap(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Image: "i", Resources: v1.ResourceRequirements{Requests: amounts{v1.ResourceCPU: 100, v1.ResourceMemory: 200}.list()}}}}}
	if n := testing.AllocsPerRun(100, func() { state.NewPod(pod) }); n > 14 {
		t.Errorf("%v allocations, want at most 14", n)
	}
}
