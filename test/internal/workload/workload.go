// Package workload creates the nodes and pods that schedulers are measured and tested with. The
// same number gives the same object.
package workload

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	zones = 3
	pools = 10
	apps  = 10
	// groups of pods with anti-affinity within the group.
	groups = 100

	// LabelPool names the pool of a node.
	LabelPool = "pool"
	taintKey  = "example.com/dedicated"
)

// Capacity is the resources of a node.
type Capacity struct {
	CPU    int64 // cores
	Memory int64 // GiB
	Pods   int64
}

// Large is the node size that schedulers are measured with.
func Large() Capacity { return Capacity{CPU: 32, Memory: 128, Pods: 110} }

// Node returns the i-th node: with a hostname, one of three zones, a region, one
// of two architectures and one of ten pools as labels.
func Node(i int, c Capacity) *v1.Node {
	name := NodeName(i)
	resources := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(c.CPU, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(c.Memory<<30, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(c.Pods, resource.DecimalSI),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%zones), v1.LabelTopologyRegion: "region-1",
			v1.LabelArchStable: []string{"amd64", "arm64"}[i/zones%2], LabelPool: fmt.Sprintf("pool-%d", i%pools),
		}},
		Status: v1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

// NodeName is the name of the i-th node.
func NodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

// Taint keeps pods that do not tolerate it from every fourth node.
func Taint(node *v1.Node, i int) {
	if i%4 == 0 {
		node.Spec.Taints = []v1.Taint{{Key: taintKey, Value: "yes", Effect: v1.TaintEffectNoSchedule}}
	}
}

// Workload is a kind of pods.
type Workload struct {
	Name string
	// Tainted requires every fourth node to be tainted.
	Tainted bool
	// Full requires nodes that are filled by pods of Filler.
	Full bool
	// Claims requires nodes with devices, a template of claims for one, of this name, and a controller that makes them.
	Claims string
	// change turns the i-th basic pod into one of the workload.
	change func(pod *v1.Pod, i int)
}

// All returns the workloads.
func All() []Workload {
	return []Workload{
		{Name: "basic", change: func(*v1.Pod, int) {}},
		{Name: "nodeaffinity", change: nodeAffinity},
		{Name: "spread", change: spread},
		{Name: "affinity", change: affinity},
		{Name: "antiaffinity", change: antiAffinity},
		{Name: "taints", Tainted: true, change: tolerate},
		{Name: "mixed", Tainted: true, change: mixed},
		{Name: "preemption", Full: true, change: important},
		{Name: "claims", Claims: template, change: claiming},
	}
}

// ByName returns a workload.
func ByName(name string) (Workload, error) {
	all := All()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, fmt.Errorf("unknown workload %q", name)
	}
	return all[i], nil
}

// Pod returns the i-th pod of the workload: one container of 100m cpu and 250 Mi,
// of one of ten applications.
func (w Workload) Pod(namespace string, i int) *v1.Pod {
	pod := Pod(namespace, fmt.Sprintf("%s-%05d", w.Name, i), 100, 250)
	pod.Labels = map[string]string{"app": fmt.Sprintf("app-%d", i%apps)}
	w.change(pod, i)
	return pod
}

// Pod returns a pod of one container with requests for cpu and memory. It is deleted at once,
// as there is no kubelet to terminate it.
func Pod(namespace, name string, milliCPU, mebibytes int64) *v1.Pod {
	var grace int64
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.PodSpec{TerminationGracePeriodSeconds: &grace, Containers: []v1.Container{{
			Name: "main", Image: "registry.k8s.io/pause:3.10",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
			}},
		}}},
	}
}

func nodeAffinity(pod *v1.Pod, _ int) {
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"zone-0", "zone-1"}},
			{Key: v1.LabelArchStable, Operator: v1.NodeSelectorOpIn, Values: []string{"amd64"}},
		}}},
	}}}
}

func own(pod *v1.Pod) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod.Labels["app"]}}
}

func spread(pod *v1.Pod, _ int) {
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: own(pod),
	}}
}

func affinity(pod *v1.Pod, _ int) {
	pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
		{Weight: 10, PodAffinityTerm: v1.PodAffinityTerm{LabelSelector: own(pod), TopologyKey: v1.LabelTopologyZone}},
	}}}
}

func antiAffinity(pod *v1.Pod, i int) {
	group := fmt.Sprintf("group-%d", i%groups)
	pod.Labels["group"] = group
	pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"group": group}}, TopologyKey: v1.LabelHostname,
	}}}}
}

func tolerate(pod *v1.Pod, i int) {
	if i%2 == 0 {
		pod.Spec.Tolerations = []v1.Toleration{{Key: taintKey, Operator: v1.TolerationOpExists}}
	}
}

// mixed is the other kinds in turn; half of the pods of the tainted kind tolerate the taint.
func mixed(pod *v1.Pod, i int) {
	kinds := []func(*v1.Pod, int){func(*v1.Pod, int) {}, func(pod *v1.Pod, _ int) { tolerate(pod, i/5) }, nodeAffinity, spread, affinity}
	kinds[i%len(kinds)](pod, i)
}

// template is that of the claims of pods.
const template = "one-device"

// claiming pods get a device each.
func claiming(pod *v1.Pod, _ int) {
	name := template
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimTemplateName: &name}}
}

// Priority is that of preempting pods.
const Priority = "important"

// important pods fit on no node unless a filler is evicted.
func important(pod *v1.Pod, _ int) {
	pod.Spec.PriorityClassName = Priority
	pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewQuantity(8, resource.DecimalSI)
}

// Filler returns the pods that fill the i-th large node up to 2 cores: three of 10 cores each,
// already on it.
func Filler(namespace string, i int) []*v1.Pod {
	var pods []*v1.Pod
	for j := range 3 {
		pod := Pod(namespace, fmt.Sprintf("filler-%05d-%d", i, j), 10_000, 1024)
		pod.Labels = map[string]string{"app": "filler"}
		pod.Spec.NodeName = NodeName(i)
		pods = append(pods, pod)
	}
	return pods
}
