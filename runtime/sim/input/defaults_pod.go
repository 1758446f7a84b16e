package input

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	helper "k8s.io/component-helpers/resource"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// defaultPod is SetDefaults_Pod and SetDefaults_PodSpec of k8s.io/kubernetes
// (pkg/apis/core/v1/defaults.go), without fields that do not affect scheduling, and the merge
// of matchLabelKeys (pkg/registry/core/pod/strategy.go).
func defaultPod(p *v1.Pod) {
	s := &p.Spec
	if s.SchedulerName == "" {
		s.SchedulerName = v1.DefaultSchedulerName
	}
	if s.RestartPolicy == "" {
		s.RestartPolicy = v1.RestartPolicyAlways
	}
	if s.TerminationGracePeriodSeconds == nil {
		seconds := int64(v1.DefaultTerminationGracePeriodSeconds)
		s.TerminationGracePeriodSeconds = &seconds
	}
	if p.Status.Phase == "" {
		p.Status.Phase = v1.PodPending
	}
	for _, list := range [][]v1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			requestsFromLimits(&list[i].Resources)
			defaultPorts(list[i].Ports, s.HostNetwork)
		}
	}
	defaultPodRequests(p)
	mergeMatchLabelKeys(p)
}

// requestsFromLimits sets missing requests. Quantities are copied, so that resources do not
// share them.
func requestsFromLimits(r *v1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			if r.Requests == nil {
				r.Requests = make(v1.ResourceList, len(r.Limits))
			}
			r.Requests[name] = limit.DeepCopy()
		}
	}
}

func defaultPorts(ports []v1.ContainerPort, hostNetwork bool) {
	for i := range ports {
		if ports[i].Protocol == "" {
			ports[i].Protocol = v1.ProtocolTCP
		}
		if hostNetwork && ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}

// defaultPodRequests sets the missing requests of a pod with limits at pod level: the sum over
// its containers for resources that may be overcommitted, otherwise the limit. It skips a pod
// whose requests would take minutes to add up.
func defaultPodRequests(p *v1.Pod) {
	r := p.Spec.Resources
	if r == nil || len(r.Limits) == 0 || anyEndless(p.Spec.InitContainers) || anyEndless(p.Spec.Containers) {
		return
	}
	requests := r.Requests
	if requests == nil {
		requests = v1.ResourceList{}
	}
	fill := func(from v1.ResourceList, hugePages bool) {
		for name, q := range from {
			huge := strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
			if _, ok := requests[name]; !ok && helper.IsSupportedPodLevelResource(name) && (hugePages || !huge) {
				requests[name] = q.DeepCopy()
			}
		}
	}
	fill(helper.AggregateContainerRequests(p, helper.PodResourcesOptions{}), false)
	fill(r.Limits, true)
	r.Requests = requests
}

func anyEndless(list []v1.Container) bool {
	for i := range list {
		for _, q := range list[i].Resources.Requests {
			if quantity.Endless(q) {
				return true
			}
		}
	}
	return false
}

// mergeMatchLabelKeys adds matchLabelKeys and mismatchLabelKeys to the selector as expressions,
// once: a pod that was exported from a cluster has them already.
func mergeMatchLabelKeys(p *v1.Pod) {
	if a := p.Spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			mergeTerms(p, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			mergeTerms(p, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for i := range p.Spec.TopologySpreadConstraints {
		t := &p.Spec.TopologySpreadConstraints[i]
		mergeKeys(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn, p.Labels)
	}
}

func mergeTerms(p *v1.Pod, required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	merge := func(t *v1.PodAffinityTerm) {
		mergeKeys(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn, p.Labels)
		mergeKeys(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, p.Labels)
	}
	for i := range required {
		merge(&required[i])
	}
	for i := range preferred {
		merge(&preferred[i].PodAffinityTerm)
	}
}

func mergeKeys(s *metav1.LabelSelector, keys []string, op metav1.LabelSelectorOperator, labels map[string]string) {
	if s == nil {
		return // it matches nothing, whatever is added
	}
	for _, key := range keys {
		value, ok := labels[key]
		if !ok || slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == key && r.Operator == op && slices.Equal(r.Values, []string{value})
		}) {
			continue
		}
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{value}})
	}
}
