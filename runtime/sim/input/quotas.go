package input

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"
)

// Quotas are the ResourceQuotas of a cluster while pods are created, as admission and its evaluator of pods see them
// (pkg/quota/v1/evaluator/core in k8s.io/kubernetes).
type Quotas struct {
	byNamespace map[string][]*quota
}

// quota is a ResourceQuota and what is used of it.
type quota struct {
	name       string
	scopes     []v1.ScopedResourceSelectorRequirement
	hard, used v1.ResourceList
}

// Quotas returns the quotas. What is used is in their status; otherwise it is what the existing pods use.
func (k *Known) Quotas(existing []*v1.Pod) *Quotas {
	out := &Quotas{byNamespace: make(map[string][]*quota)}
	for _, o := range k.ResourceQuotas {
		q := &quota{name: o.Name, hard: saturated(o.Status.Hard), used: saturated(o.Status.Used)}
		if len(q.hard) == 0 {
			q.hard = saturated(o.Spec.Hard)
		}
		for _, scope := range o.Spec.Scopes {
			q.scopes = append(q.scopes, v1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: v1.ScopeSelectorOpExists})
		}
		if o.Spec.ScopeSelector != nil {
			q.scopes = append(q.scopes, o.Spec.ScopeSelector.MatchExpressions...)
		}
		if len(o.Status.Used) == 0 {
			for _, pod := range existing {
				if pod.Namespace == o.Namespace && !ended(pod) && q.matches(pod) {
					q.add(usage(withoutEndless(pod)), 1)
				}
			}
		}
		out.byNamespace[o.Namespace] = append(out.byNamespace[o.Namespace], q)
	}
	return out
}

// Charge counts a pod that is created. If a quota refuses it, it says why, and nothing is counted.
func (q *Quotas) Charge(pod *v1.Pod) (refusal string) {
	var why []string
	var charged []*quota
	var uses v1.ResourceList
	for _, quota := range q.byNamespace[pod.Namespace] {
		if !quota.matches(pod) {
			continue
		}
		if uses == nil {
			pod = withoutEndless(pod)
			uses = usage(pod)
		}
		charged = append(charged, quota)
		if missing := quota.missing(pod); missing != "" {
			why = append(why, fmt.Sprintf("ResourceQuota %s: %s", quota.name, missing))
			continue
		}
		for _, name := range sorted(uses) {
			hard, limited := quota.hard[name]
			request, used := uses[name], quota.used[name]
			sum := used.DeepCopy()
			sum.Add(request)
			if limited && !request.IsZero() && sum.Cmp(hard) > 0 {
				why = append(why, fmt.Sprintf("ResourceQuota %s: the pod needs %s of %s, %s of %s are used", quota.name, request.String(), name,
					used.String(), hard.String()))
			}
		}
	}
	if len(why) == 0 {
		for _, quota := range charged {
			quota.add(uses, 1)
		}
	}
	return few(why)
}

// Release counts a pod less.
func (q *Quotas) Release(pod *v1.Pod) {
	for _, quota := range q.byNamespace[pod.Namespace] {
		if !ended(pod) && quota.matches(pod) {
			quota.add(usage(withoutEndless(pod)), -1)
		}
	}
}

// add counts a usage n times.
func (q *quota) add(uses v1.ResourceList, n int64) {
	if q.used == nil {
		q.used = make(v1.ResourceList)
	}
	for name := range q.hard {
		more, ok := uses[name]
		if !ok {
			continue
		}
		sum := q.used[name]
		if n < 0 {
			sum.Sub(more)
		} else {
			sum.Add(more)
		}
		q.used[name] = sum
	}
}

// matches reports whether a quota is about a pod.
func (q *quota) matches(pod *v1.Pod) bool {
	if !slices.ContainsFunc(sorted(q.hard), ofPods) {
		return false
	}
	for i := range q.scopes {
		if !inScope(&q.scopes[i], pod) {
			return false
		}
	}
	return true
}

// ofPods reports whether a resource of quotas is one of pods.
func ofPods(name v1.ResourceName) bool {
	switch name {
	case v1.ResourcePods, "count/pods", v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage,
		v1.ResourceRequestsCPU, v1.ResourceRequestsMemory, v1.ResourceRequestsEphemeralStorage,
		v1.ResourceLimitsCPU, v1.ResourceLimitsMemory, v1.ResourceLimitsEphemeralStorage:
		return true
	}
	own, requested := strings.CutPrefix(string(name), v1.DefaultResourceRequestsPrefix)
	return isHugePages(v1.ResourceName(own)) || requested && isDevice(v1.ResourceName(own))
}

// isDevice reports whether a resource is one that device plugins or drivers provide, in the view of quotas.
func isDevice(name v1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") && (!strings.Contains(s, v1.ResourceDefaultNamespacePrefix) ||
		strings.HasPrefix(s, resourcev1.ResourceDeviceClassPrefix))
}

func inScope(s *v1.ScopedResourceSelectorRequirement, pod *v1.Pod) bool {
	deadline := pod.Spec.ActiveDeadlineSeconds
	switch terminating := deadline != nil && *deadline >= 0; s.ScopeName {
	case v1.ResourceQuotaScopeTerminating:
		return terminating
	case v1.ResourceQuotaScopeNotTerminating:
		return !terminating
	case v1.ResourceQuotaScopeBestEffort:
		return bestEffort(pod)
	case v1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort(pod)
	case v1.ResourceQuotaScopePriorityClass:
		class := pod.Spec.PriorityClassName
		switch s.Operator {
		case v1.ScopeSelectorOpIn:
			return class != "" && slices.Contains(s.Values, class)
		case v1.ScopeSelectorOpNotIn:
			return class == "" || !slices.Contains(s.Values, class)
		case v1.ScopeSelectorOpExists:
			return class != ""
		case v1.ScopeSelectorOpDoesNotExist:
			return class == ""
		}
	case v1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return slices.ContainsFunc(podTerms(pod), func(t *v1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
	case v1.ResourceQuotaScopeVolumeAttributesClass: // of claims
	}
	return false
}

// podTerms are the terms of affinity and anti-affinity to pods.
func podTerms(pod *v1.Pod) (terms []*v1.PodAffinityTerm) {
	a := pod.Spec.Affinity
	if a == nil {
		return nil
	}
	add := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
		for i := range required {
			terms = append(terms, &required[i])
		}
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
	}
	if a.PodAffinity != nil {
		add(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a.PodAntiAffinity != nil {
		add(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}

// bestEffort reports whether nothing in the pod has requests or limits of cpu or memory. Those of the pod itself go first.
func bestEffort(pod *v1.Pod) bool {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass == v1.PodQOSBestEffort
	}
	all := allResources(pod)
	if helper.IsPodLevelResourcesSet(pod) {
		all = []*v1.ResourceRequirements{pod.Spec.Resources}
	}
	for _, r := range all {
		for _, list := range []v1.ResourceList{r.Requests, r.Limits} {
			for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
				if q := list[name]; q.Sign() > 0 {
					return false
				}
			}
		}
	}
	return true
}

// missing says what containers must have because the quota is about it; "" if they have it.
func (q *quota) missing(pod *v1.Pod) string {
	if helper.IsPodLevelResourcesSet(pod) {
		return ""
	}
	var out []string
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			uses := usageOf(list[i].Resources.Requests, list[i].Resources.Limits)
			for _, name := range sorted(q.hard) {
				switch name {
				case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceRequestsCPU, v1.ResourceRequestsMemory, v1.ResourceLimitsCPU,
					v1.ResourceLimitsMemory:
					if _, ok := uses[name]; !ok {
						out = append(out, fmt.Sprintf("container %s must specify %s", list[i].Name, name))
					}
				}
			}
		}
	}
	return few(out)
}

// usage is what quotas count for a pod.
func usage(pod *v1.Pod) v1.ResourceList {
	o := helper.PodResourcesOptions{UseStatusResources: true}
	out := usageOf(helper.PodRequests(pod, o), helper.PodLimits(pod, o))
	out["count/pods"] = out[v1.ResourcePods]
	return out
}

func usageOf(requests, limits v1.ResourceList) v1.ResourceList {
	out := v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}
	for name, q := range requests {
		requested := v1.DefaultResourceRequestsPrefix + name
		switch {
		case name == v1.ResourceCPU, name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, isHugePages(name):
			out[name], out[requested] = q, q
		case isDevice(name):
			out[requested] = q
		}
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		if q, ok := limits[name]; ok {
			out["limits."+name] = q
		}
	}
	return out
}

// saturated returns a copy of a list with quantities that can be added up and printed.
func saturated(list v1.ResourceList) v1.ResourceList {
	out := make(v1.ResourceList, len(list))
	for name, q := range list {
		out[name] = finite(q).DeepCopy()
	}
	return out
}
