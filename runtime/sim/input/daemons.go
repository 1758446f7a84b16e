package input

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// DaemonPod returns the pod that the DaemonSet controller makes for a node, with a number in its name; nil if
// it makes none (pkg/controller/daemon in k8s.io/kubernetes).
func DaemonPod(set *appsv1.DaemonSet, node *v1.Node, number int) *v1.Pod {
	m := of(set, &set.Spec.Template, 1, set.Spec.Selector)
	pod := m.Pod
	pod.Name = pod.GenerateName + strconv.Itoa(number)
	m.label(appsv1.ControllerRevisionHashLabelKey, hashOf(&set.Spec.Template))
	m.label("pod-template-generation", strconv.FormatInt(max(set.Generation, 1), 10))
	tolerateAsDaemon(&pod.Spec)
	if !RunsDaemon(pod, node) {
		return nil
	}
	PinTo(pod, node.Name)
	defaultPod(pod)
	return pod
}

// RunsDaemon reports whether the DaemonSet controller makes a pod for a node. The pod is as its template has it,
// not yet pinned to a node.
func RunsDaemon(pod *v1.Pod, node *v1.Node) bool {
	if name := pod.Spec.NodeName; name != "" && name != node.Name {
		return false
	}
	if fits, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); !fits { // errors are ignored there, too
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, func(t *v1.Taint) bool {
		return t.Effect == v1.TaintEffectNoExecute || t.Effect == v1.TaintEffectNoSchedule
	}, true)
	return !untolerated
}

// PinTo has a pod of a DaemonSet go to its node: by node affinity, which replaces the required terms of the template. A node that
// the template names stays, so no scheduler places the pod.
func PinTo(pod *v1.Pod, node string) {
	a := &v1.Affinity{}
	if pod.Spec.Affinity != nil {
		*a = *pod.Spec.Affinity
	}
	own := &v1.NodeAffinity{}
	if a.NodeAffinity != nil {
		*own = *a.NodeAffinity
	}
	own.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
	}}}
	a.NodeAffinity, pod.Spec.Affinity = own, a
}

// tolerateAsDaemon adds the tolerations of all pods of DaemonSets.
func tolerateAsDaemon(s *v1.PodSpec) {
	add := func(effect v1.TaintEffect, keys ...string) {
		for _, key := range keys {
			s.Tolerations = append(s.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: effect})
		}
	}
	add(v1.TaintEffectNoExecute, v1.TaintNodeNotReady, v1.TaintNodeUnreachable)
	add(v1.TaintEffectNoSchedule, v1.TaintNodeDiskPressure, v1.TaintNodeMemoryPressure, v1.TaintNodePIDPressure, v1.TaintNodeUnschedulable)
	if s.HostNetwork {
		add(v1.TaintEffectNoSchedule, v1.TaintNodeNetworkUnavailable)
	}
}
