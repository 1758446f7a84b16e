package input

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	helper "k8s.io/component-helpers/resource"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// defaultPod is SetDefaults_Pod and SetDefaults_PodSpec of k8s.io/kubernetes
// (pkg/apis/core/v1/defaults.go), without fields that do not affect scheduling, and what follows when a pod
// is created: the merge of matchLabelKeys and the resources at pod level (pkg/registry/core/pod/strategy.go).
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
			inThousandths(list[i].Resources.Limits)
			inThousandths(list[i].Resources.Requests)
			requestsFromLimits(&list[i].Resources)
			defaultPorts(list[i].Ports, s.HostNetwork)
		}
	}
	inThousandths(s.Overhead)
	if s.Resources != nil {
		inThousandths(s.Resources.Limits)
		inThousandths(s.Resources.Requests)
	}
	if !isNew(p) { // otherwise admission comes first
		defaultPodLevel(p)
	}
	mergeMatchLabelKeys(p)
}

// inThousandths rounds amounts up, as the API server does before it compares or adds them.
func inThousandths(list v1.ResourceList) {
	for name, q := range list {
		if _, is := q.AsInt64(); is || quantity.Endless(q) {
			continue
		}
		if !q.RoundUp(resource.Milli) {
			list[name] = q
		}
	}
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

// defaultPodLevel is DefaultPodLevelResources of k8s.io/kubernetes (pkg/api/pod/util.go): of a pod that has requests or limits at pod
// level, it sets those that are missing there. Limits of huge pages are the sum over the containers; requests are that sum for
// resources that may be overcommitted, otherwise the limit; other limits are the sum if each container has one, at least the request.
// Of quantities that would take minutes to add up, it adds up what the scheduler makes of them.
func defaultPodLevel(p *v1.Pod) {
	r := p.Spec.Resources
	if r == nil || len(r.Requests)+len(r.Limits) == 0 {
		return
	}
	set := func(list *v1.ResourceList, name v1.ResourceName, q resource.Quantity) {
		if _, ok := (*list)[name]; !ok && helper.IsSupportedPodLevelResource(name) {
			if *list == nil {
				*list = make(v1.ResourceList)
			}
			(*list)[name] = q.DeepCopy()
		}
	}
	summed := withoutEndless(p)
	limits := helper.AggregateContainerLimits(summed, helper.PodResourcesOptions{})
	for name, sum := range limits {
		if _, requested := r.Requests[name]; !requested && isHugePages(name) {
			set(&r.Limits, name, sum)
		}
	}
	for name, sum := range helper.AggregateContainerRequests(summed, helper.PodResourcesOptions{}) {
		if !isHugePages(name) {
			set(&r.Requests, name, sum)
		}
	}
	for name, limit := range r.Limits {
		set(&r.Requests, name, limit)
	}
	without := func(name v1.ResourceName) bool {
		return slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), func(c v1.Container) bool {
			_, ok := c.Resources.Limits[name]
			return !ok
		})
	}
	for name, request := range r.Requests {
		if sum, ok := limits[name]; ok && !without(name) {
			if request = finite(request); request.Cmp(sum) > 0 {
				sum = request
			}
			set(&r.Limits, name, sum)
		}
	}
}

func isHugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
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
