package input

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// WouldRefuse begins what is said about a pod with a Refusal, or that Quotas do not allow.
const WouldRefuse = "the API server would refuse it: "

// Refusal says why the API server would refuse a pod that Admit has returned; "" if it would not. It looks at the LimitRanges of the
// namespace (plugin/pkg/admission/limitranger in k8s.io/kubernetes), and at requests that are above a limit that one of them sets.
func (k *Known) Refusal(pod *v1.Pod) string {
	var why []string
	for _, r := range k.LimitRanges {
		if r.Namespace != pod.Namespace {
			continue
		}
		if why == nil {
			pod = withoutEndless(pod)
			why = aboveOwnLimits(pod)
		}
		for i := range r.Spec.Limits {
			why = append(why, outside(r.Name, &r.Spec.Limits[i], pod)...)
		}
	}
	return few(why)
}

// aboveOwnLimits lists requests that are above their limit, and what containers have beyond the pod itself, as validation of a pod does
// (validateResourceRequirements and validatePodResourceConsistency in pkg/apis/core/validation of k8s.io/kubernetes).
func aboveOwnLimits(pod *v1.Pod) []string {
	why := []string{}
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			aboveLimit("container "+list[i].Name, &list[i].Resources, say)
		}
	}
	own := pod.Spec.Resources
	if own == nil {
		return why
	}
	aboveLimit("the pod", own, say)
	for i := range pod.Spec.Containers { // not init containers
		c := &pod.Spec.Containers[i]
		for _, name := range sorted(own.Limits) {
			most := own.Limits[name]
			if limit, limited := c.Resources.Limits[name]; limited && limit.Cmp(most) > 0 {
				say("container %s has a limit of %s of %s, the pod one of %s", c.Name, limit.String(), name, most.String())
			}
		}
	}
	sums := helper.AggregateContainerRequests(pod, helper.PodResourcesOptions{})
	for _, name := range sorted(own.Requests) {
		request := own.Requests[name]
		if sum := sums[name]; sum.Cmp(request) > 0 {
			say("the pod requests %s of %s, its containers %s", request.String(), name, sum.String())
		}
	}
	sums = helper.AggregateContainerLimits(pod, helper.PodResourcesOptions{})
	for _, name := range sorted(own.Limits) {
		most := own.Limits[name]
		if sum := sums[name]; isHugePages(name) && sum.Cmp(most) > 0 {
			say("the pod has a limit of %s of %s, its containers %s", most.String(), name, sum.String())
		}
	}
	return why
}

// aboveLimit says which requests are above their limit. Of what cannot be overcommitted, a request and its limit must be equal.
func aboveLimit(who string, r *v1.ResourceRequirements, say func(format string, args ...any)) {
	for _, name := range sorted(r.Requests) {
		request := r.Requests[name]
		limit, limited := r.Limits[name]
		whole := isDevice(name) || isHugePages(name)
		switch {
		case !limited && whole:
			say("%s requests %s of %s and has no limit", who, request.String(), name)
		case limited && request.Cmp(limit) > 0, limited && whole && request.Cmp(limit) != 0:
			say("%s requests %s of %s and has a limit of %s", who, request.String(), name, limit.String())
		}
	}
}

// outside lists what a pod has outside of the limits of a LimitRange.
func outside(name string, item *v1.LimitRangeItem, pod *v1.Pod) (why []string) {
	add := func(who string, requests, limits v1.ResourceList) {
		for _, what := range violations(item, requests, limits) {
			why = append(why, fmt.Sprintf("LimitRange %s: %s %s", name, who, what))
		}
	}
	switch item.Type {
	case v1.LimitTypeContainer:
		for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				add("container "+list[i].Name, list[i].Resources.Requests, list[i].Resources.Limits)
			}
		}
	case v1.LimitTypePod:
		o := helper.PodResourcesOptions{ExcludeOverhead: true, SkipPodLevelResources: true}
		requests, limits := helper.PodRequests(pod, o), helper.PodLimits(pod, o)
		if own := pod.Spec.Resources; own != nil { // of these, admission knows two
			for _, resource := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
				override(requests, own.Requests, resource)
				override(limits, own.Limits, resource)
			}
		}
		add("the pod", requests, limits)
	case v1.LimitTypePersistentVolumeClaim: // of claims
	}
	return why
}

func override(list, with v1.ResourceList, name v1.ResourceName) {
	if q, ok := with[name]; ok {
		list[name] = q
	}
}

// violations compares what a container or a pod has with an item of a LimitRange.
func violations(item *v1.LimitRangeItem, requests, limits v1.ResourceList) (why []string) {
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	for _, name := range sorted(item.Min) {
		least := finite(item.Min[name])
		request, requested := requests[name]
		limit, limited := limits[name]
		asked, allowed, bound := inOneUnit(request, limit, least)
		switch {
		case !requested:
			say("requests no %s, at least %s is required", name, least.String())
		case asked < bound:
			say("requests %s of %s, at least %s is required", request.String(), name, least.String())
		case limited && allowed < bound:
			say("has a limit of %s of %s, at least %s is required", limit.String(), name, least.String())
		}
	}
	for _, name := range sorted(item.Max) {
		most := finite(item.Max[name])
		request, requested := requests[name]
		limit, limited := limits[name]
		asked, allowed, bound := inOneUnit(request, limit, most)
		switch {
		case !limited:
			say("has no limit of %s, at most %s is allowed", name, most.String())
		case allowed > bound:
			say("has a limit of %s of %s, at most %s is allowed", limit.String(), name, most.String())
		case requested && asked > bound:
			say("requests %s of %s, at most %s is allowed", request.String(), name, most.String())
		}
	}
	for _, name := range sorted(item.MaxLimitRequestRatio) {
		most := finite(item.MaxLimitRequestRatio[name])
		request, limit := requests[name], limits[name]
		asked, allowed, _ := inOneUnit(request, limit, most)
		ratio, highest := float64(allowed)/float64(asked), most.Value()
		if highest <= resource.MaxMilliValue {
			ratio, highest = float64(ratio*1000), most.MilliValue()
		}
		if asked == 0 || allowed == 0 {
			say("needs a request and a limit of %s, with a ratio of at most %s", name, most.String())
		} else if ratio > float64(highest) {
			say("has a limit of %s and a request of %s of %s, a ratio of at most %s is allowed", limit.String(), request.String(), name,
				most.String())
		}
	}
	return why
}

// inOneUnit returns a request, a limit and what a LimitRange says as admission compares them: in thousandths, or in whole units if any of
// the three is above resource.MaxMilliValue, and rounded up. An amount beyond an int64 wraps or becomes 0, as it does there.
func inOneUnit(request, limit, said resource.Quantity) (r, l, s int64) {
	r, l, s = request.Value(), limit.Value(), said.Value()
	if max(r, l, s) <= resource.MaxMilliValue {
		r, l, s = request.MilliValue(), limit.MilliValue(), said.MilliValue()
	}
	return r, l, s
}

// anyEndless reports whether a pod has a quantity that would take minutes to add up or to print.
func anyEndless(pod *v1.Pod) bool {
	for _, r := range allResources(pod) {
		for _, list := range []v1.ResourceList{r.Requests, r.Limits} {
			for _, q := range list {
				if quantity.Endless(q) {
					return true
				}
			}
		}
	}
	return false
}

// withoutEndless returns a pod with quantities that can be added up and printed.
func withoutEndless(pod *v1.Pod) *v1.Pod {
	if !anyEndless(pod) {
		return pod
	}
	pod = pod.DeepCopy()
	for _, r := range allResources(pod) {
		r.Requests, r.Limits = saturated(r.Requests), saturated(r.Limits)
	}
	return pod
}

// finite returns the quantity, or the nearest that has not too many digits.
func finite(q resource.Quantity) resource.Quantity {
	if quantity.Endless(q) {
		return *resource.NewQuantity(quantity.Whole(q), resource.DecimalSI)
	}
	return q
}

// allResources are those of the containers and of the pod itself.
func allResources(pod *v1.Pod) (all []*v1.ResourceRequirements) {
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			all = append(all, &list[i].Resources)
		}
	}
	if pod.Spec.Resources != nil {
		all = append(all, pod.Spec.Resources)
	}
	return all
}

func sorted(list v1.ResourceList) []v1.ResourceName {
	names := make([]v1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b v1.ResourceName) int { return strings.Compare(string(a), string(b)) })
	return names
}
