// Package scale measures what it costs to place a pod, against the number of nodes, of
// pods that are alike, and of plugins: Berth's whole engine in memory, and kube-scheduler's
// with a client in memory, one after the other in one process.
package scale

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Kind is what pods ask for besides resources.
type Kind string

// The kinds.
const (
	Plain     Kind = "plain"
	Spread    Kind = "spread"    // over zones, DoNotSchedule
	Preferred Kind = "preferred" // affinity to pods of the same app in the zone
	Anti      Kind = "anti"      // required anti-affinity to pods of the same app on the node
)

// Workload is a cluster and the pods that are placed one after the other.
type Workload struct {
	Nodes []*v1.Node
	Pods  []*v1.Pod
	// Leaving are pods that are placed before those that are measured. Changes of them leave
	// before each of Pods comes.
	Leaving []*v1.Pod
	Changes int
}

// Changing returns the workload with so many rows that change before each pod, because a pod
// leaves the node. The pods that leave are of the same templates.
func (w Workload) Changing(rows, templates int) Workload {
	w.Changes = rows
	for i := range rows * len(w.Pods) {
		p := pod(Plain, len(w.Pods)+i, i%templates, len(w.Nodes))
		w.Leaving = append(w.Leaving, p)
	}
	return w
}

const tenant = "example.com/tenant" // what the example plugins know tenants by

// New returns a cluster of three zones, and pods of so many templates, which differ in
// requests and labels. All fit.
func New(kind Kind, nodes, pods, templates int) Workload {
	var w Workload
	for i := range nodes {
		name := fmt.Sprintf("node-%06d", i)
		w.Nodes = append(w.Nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
				v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprint("zone-", i%3),
			}},
			Status: v1.NodeStatus{
				Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("110")},
				Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
			},
		})
	}
	for i := range pods {
		w.Pods = append(w.Pods, pod(kind, i, i%templates, nodes))
	}
	return w
}

func pod(kind Kind, i, template, nodes int) *v1.Pod {
	name := fmt.Sprintf("pod-%07d", i)
	app := fmt.Sprint("app-", template)
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": app, tenant: fmt.Sprint("tenant-", template%10)}},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Containers: []v1.Container{{Name: "c", Image: "example.com/app:1", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(int64(100+template%1000), resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(int64(200+template)<<20, resource.BinarySI),
			}}}},
		},
	}
	same := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	switch kind {
	case Spread:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: same,
		}}
	case Preferred:
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
			Weight: 50, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: v1.LabelTopologyZone, LabelSelector: same},
		}}}}
	case Anti:
		// A node takes one pod of a group, and a group has as many as a third of the nodes.
		group := fmt.Sprint("group-", i/max(1, nodes/3))
		p.Labels["group"] = group
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"group": group}},
		}}}}
	}
	return p
}
