package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// shape has the fields of a pod that schedulers and plugins read before it is placed. What differs from cluster to cluster is
// left out.
type shape struct {
	Namespace, Name    string
	Labels             map[string]string
	OwnerKind, Owner   string
	Spec               v1.PodSpec
	Claims             []string
	InitAmounts        []v1.ResourceRequirements
	Amounts            []v1.ResourceRequirements
	Ports              [][]v1.ContainerPort
	GracePeriodSeconds *int64
}

// shapeOf writes the shape of a pod as JSON.
func shapeOf(pod *v1.Pod) (string, error) {
	s := shape{
		Namespace: pod.Namespace, Name: pod.Name, Labels: maps.Clone(pod.Labels),
		GracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds,
	}
	hash := pod.Labels["pod-template-hash"]
	for _, key := range []string{"pod-template-hash", "controller-revision-hash", "controller-uid", "batch.kubernetes.io/controller-uid"} {
		if _, ok := s.Labels[key]; ok {
			s.Labels[key] = "…"
		}
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		s.OwnerKind, s.Owner = owner.Kind, strings.TrimSuffix(owner.Name, hash)
	}
	delete(s.Labels, v1.LabelTopologyZone) // comes with the binding
	if pod.GenerateName != "" && s.OwnerKind != "StatefulSet" {
		s.Name = strings.TrimSuffix(strings.TrimSuffix(pod.GenerateName, "-"), hash)
	}
	amounts := func(containers []v1.Container) (out []v1.ResourceRequirements) {
		for i := range containers {
			out = append(out, containers[i].Resources)
		}
		return out
	}
	s.Amounts, s.InitAmounts = amounts(pod.Spec.Containers), amounts(pod.Spec.InitContainers)
	for i := range pod.Spec.Containers {
		s.Ports = append(s.Ports, pod.Spec.Containers[i].Ports)
	}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			s.Claims = append(s.Claims, claim.ClaimName)
		}
	}
	slices.Sort(s.Claims)
	spec := &pod.Spec
	s.Spec = v1.PodSpec{
		Affinity: spec.Affinity, NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations,
		TopologySpreadConstraints: spec.TopologySpreadConstraints, SchedulerName: spec.SchedulerName,
		Priority: spec.Priority, PriorityClassName: spec.PriorityClassName, PreemptionPolicy: spec.PreemptionPolicy,
		HostNetwork: spec.HostNetwork, RestartPolicy: spec.RestartPolicy, RuntimeClassName: spec.RuntimeClassName, Overhead: spec.Overhead,
		SchedulingGates: spec.SchedulingGates, ResourceClaims: spec.ResourceClaims, Resources: spec.Resources,
		SchedulingGroup: spec.SchedulingGroup,
	}
	text, err := json.Marshal(s)
	return string(text), err
}

// shapes compares the pods that controllers have made with those that simulate asks about, and counts them. The controllers may not
// have made all yet.
func (p *project) shapes() int {
	p.Helper()
	o, err := input.LoadCluster(p.Context(), []string{p.cluster, p.folder}, false)
	if err != nil {
		p.Fatal(err)
	}
	asked := make(map[string]int)
	for _, pod := range o.Pods {
		text, err := shapeOf(pod)
		if err != nil {
			p.Fatal(err)
		}
		asked[text]++
	}
	pods, err := p.client.CoreV1().Pods("").List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	for i := range pods.Items {
		text, err := shapeOf(&pods.Items[i])
		if err != nil {
			p.Fatal(err)
		}
		if asked[text]--; asked[text] < 0 {
			p.Errorf("no pod of simulate is like that of the cluster,\n%s\nbut there are\n%s", text,
				strings.Join(slices.Sorted(maps.Keys(asked)), "\n"))
		}
	}
	return len(pods.Items)
}
