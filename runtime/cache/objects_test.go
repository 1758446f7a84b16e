package cache_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// podSpec has the fields in which pods of these tests differ.
type podSpec struct {
	Name, UID, Node     string
	Priority            int32
	Labels, Annotations map[string]string
	Containers          []containerSpec
}

// containerSpec is one container; zero amounts are not requested.
type containerSpec struct {
	CPU, Memory, GPU int64 // milli-CPU, bytes, count
	GPUName          string
	HostPort         int32
}

func (s podSpec) object() *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: s.Name, UID: types.UID(s.UID), Labels: s.Labels, Annotations: s.Annotations,
	}}
	pod.Spec.NodeName = s.Node
	pod.Spec.Priority = &s.Priority
	for i, c := range s.Containers {
		container := v1.Container{Name: fmt.Sprint("c", i)}
		container.Resources.Requests = quantities(c.CPU, c.Memory, 0, c.GPUName, c.GPU)
		if c.HostPort != 0 {
			container.Ports = []v1.ContainerPort{{HostPort: c.HostPort}}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}

// pod returns the pod, compiled.
func (s podSpec) pod() *state.Pod { return state.NewPod(s.object()) }

// nodeSpec has the fields in which nodes of these tests differ.
type nodeSpec struct {
	Name             string
	Labels           map[string]string
	Taints           []string // keys
	Images           []string
	Unschedulable    bool
	CPU, Memory, GPU int64
	GPUName          string
}

func (s nodeSpec) object() *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Labels: s.Labels}}
	node.Spec.Unschedulable = s.Unschedulable
	for _, key := range s.Taints {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: key, Value: "true", Effect: v1.TaintEffectNoSchedule})
	}
	for _, image := range s.Images {
		node.Status.Images = append(node.Status.Images, v1.ContainerImage{
			Names: []string{image + ":v1", image + "@sha256:00"}, SizeBytes: int64(1000 * len(image)),
		})
	}
	node.Status.Allocatable = quantities(s.CPU, s.Memory, 110, s.GPUName, s.GPU)
	return node
}

// node returns the node, compiled.
func (s nodeSpec) node() *state.Node { return state.NewNode(s.object()) }

func quantities(cpu, memory, pods int64, gpuName string, gpu int64) v1.ResourceList {
	list := v1.ResourceList{}
	set := func(name v1.ResourceName, q *resource.Quantity) {
		if !q.IsZero() {
			list[name] = *q
		}
	}
	set(v1.ResourceCPU, resource.NewMilliQuantity(cpu, resource.DecimalSI))
	set(v1.ResourceMemory, resource.NewQuantity(memory, resource.BinarySI))
	set(v1.ResourcePods, resource.NewQuantity(pods, resource.DecimalSI))
	if gpuName != "" {
		set(v1.ResourceName(gpuName), resource.NewQuantity(gpu, resource.DecimalSI))
	}
	return list
}

// namespaceOf returns a namespace, compiled.
func namespaceOf(name string, labels map[string]string) *state.Namespace {
	return state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
}
