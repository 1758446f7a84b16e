package input

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Known are objects of a cluster that decide what pods the API server and the DaemonSet controller
// make of manifests. A scheduler may have no right to read them.
type Known struct {
	// Kinds are the kinds of which all objects are here, such as PriorityClass. Of others, some may
	// be missing.
	Kinds           []string                      `json:"kinds,omitempty"`
	PriorityClasses []*schedulingv1.PriorityClass `json:"priorityClasses,omitempty"`
	RuntimeClasses  []*nodev1.RuntimeClass        `json:"runtimeClasses,omitempty"`
	LimitRanges     []*v1.LimitRange              `json:"limitRanges,omitempty"`
	ResourceQuotas  []*v1.ResourceQuota           `json:"resourceQuotas,omitempty"`
	DaemonSets      []*appsv1.DaemonSet           `json:"daemonSets,omitempty"`
	// Webhooks are the names of admission webhooks that may change or refuse pods.
	Webhooks []string `json:"webhooks,omitempty"`
}

// The kinds of Known.
const (
	KindPriorityClass = "PriorityClass"
	KindRuntimeClass  = "RuntimeClass"
	KindLimitRange    = "LimitRange"
	KindResourceQuota = "ResourceQuota"
	KindDaemonSet     = "DaemonSet"
	KindWebhooks      = "MutatingWebhookConfiguration"
)

// KnownKinds are all kinds of Known.
func KnownKinds() []string {
	return []string{KindPriorityClass, KindRuntimeClass, KindLimitRange, KindResourceQuota, KindDaemonSet, KindWebhooks}
}

// Lists returns the objects, kind by kind.
func (k *Known) Lists() []List {
	return []List{
		ListOf("known.priorityClasses", schedulingv1.SchemeGroupVersion, KindPriorityClass, k.PriorityClasses),
		ListOf("known.runtimeClasses", nodev1.SchemeGroupVersion, KindRuntimeClass, k.RuntimeClasses),
		ListOf("known.limitRanges", v1.SchemeGroupVersion, KindLimitRange, k.LimitRanges),
		ListOf("known.resourceQuotas", v1.SchemeGroupVersion, KindResourceQuota, k.ResourceQuotas),
		ListOf("known.daemonSets", appsv1.SchemeGroupVersion, KindDaemonSet, k.DaemonSets),
	}
}

// Unknown returns the kinds of which objects may be missing.
func (k *Known) Unknown() (kinds []string) {
	for _, kind := range KnownKinds() {
		if !k.knows(kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (k *Known) knows(kind string) bool { return slices.Contains(k.Kinds, kind) }

// With returns the objects of both. Those of over replace others of the same name.
func (k *Known) With(over *Known) *Known {
	return &Known{
		Kinds:           slices.Concat(k.Kinds, over.Kinds),
		PriorityClasses: replace(k.PriorityClasses, over.PriorityClasses),
		RuntimeClasses:  replace(k.RuntimeClasses, over.RuntimeClasses),
		LimitRanges:     replace(k.LimitRanges, over.LimitRanges),
		ResourceQuotas:  replace(k.ResourceQuotas, over.ResourceQuotas),
		DaemonSets:      replace(k.DaemonSets, over.DaemonSets),
		Webhooks:        slices.Compact(slices.Sorted(slices.Values(slices.Concat(k.Webhooks, over.Webhooks)))),
	}
}

// replace returns the objects of both lists, of two with one name that of the second.
func replace[T interface {
	GetNamespace() string
	GetName() string
}](list, over []T) []T {
	out := slices.DeleteFunc(slices.Clone(list), func(o T) bool {
		return slices.ContainsFunc(over, func(x T) bool { return x.GetNamespace() == o.GetNamespace() && x.GetName() == o.GetName() })
	})
	return append(out, over...)
}

// Admit changes a pod that is to be created as the API server's admission would: by Priority, RuntimeClass, LimitRanger and
// DefaultTolerationSeconds (plugin/pkg/admission in k8s.io/kubernetes), and complete its resources at pod level. unknown says
// what could not be looked up.
func (k *Known) Admit(pod *v1.Pod) (unknown []string, bad *Error) {
	for _, step := range []func(*v1.Pod) (string, *Error){k.prioritize, k.runtime} {
		said, bad := step(pod)
		if bad != nil {
			return nil, bad
		}
		if said != "" {
			unknown = append(unknown, said)
		}
	}
	k.limit(pod)
	defaultPodLevel(pod)
	tolerateForAWhile(&pod.Spec)
	return unknown, nil
}

// prioritize sets priority, class and preemption policy. A given priority counts.
func (k *Known) prioritize(pod *v1.Pod) (unknown string, bad *Error) {
	s := &pod.Spec
	if s.PriorityClassName == "" && s.Priority == nil {
		if class := k.defaultClass(); class != nil {
			s.PriorityClassName = class.Name
		}
	}
	value, policy := int32(0), v1.PreemptLowerPriority
	at := slices.IndexFunc(k.PriorityClasses, func(c *schedulingv1.PriorityClass) bool { return c.Name == s.PriorityClassName })
	builtIn, isBuiltIn := builtin(s.PriorityClassName)
	switch {
	case s.PriorityClassName == "":
	case at >= 0:
		value = k.PriorityClasses[at].Value
		if p := k.PriorityClasses[at].PreemptionPolicy; p != nil {
			policy = *p
		}
	case isBuiltIn:
		value = builtIn
	case s.Priority != nil:
	case k.knows(KindPriorityClass):
		return "", &Error{
			Path: "spec.priorityClassName", Detail: fmt.Sprintf("there is no priorityclass %q", s.PriorityClassName),
			Fix: "add it to the files, write spec.priority, or write one of " + strings.Join(k.priorityNames(), ", "),
		}
	default:
		unknown = fmt.Sprintf("PriorityClass %s (priority 0 was assumed)", s.PriorityClassName)
	}
	setPriority(pod, value, policy)
	return unknown, nil
}

// defaultClass returns the class of pods that name none: of several default classes that of the lowest value.
func (k *Known) defaultClass() (least *schedulingv1.PriorityClass) {
	for _, class := range k.PriorityClasses {
		if class.GlobalDefault && (least == nil || class.Value < least.Value) {
			least = class
		}
	}
	return least
}

func (k *Known) priorityNames() []string {
	out := []string{nodeCritical, clusterCritical}
	for _, class := range k.PriorityClasses {
		out = append(out, class.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// runtime adds what the pod's RuntimeClass adds.
func (k *Known) runtime(pod *v1.Pod) (unknown string, bad *Error) {
	s := &pod.Spec
	if s.RuntimeClassName == nil || *s.RuntimeClassName == "" {
		return "", nil
	}
	at := slices.IndexFunc(k.RuntimeClasses, func(c *nodev1.RuntimeClass) bool { return c.Name == *s.RuntimeClassName })
	if at < 0 {
		if k.knows(KindRuntimeClass) {
			return "", &Error{
				Path: "spec.runtimeClassName", Detail: fmt.Sprintf("there is no runtimeclass %q", *s.RuntimeClassName),
				Fix: "add it to the files: kubectl get runtimeclasses -o yaml writes those of a cluster",
			}
		}
		return fmt.Sprintf("RuntimeClass %s (no overhead, node selector and tolerations were assumed)", *s.RuntimeClassName), nil
	}
	class := k.RuntimeClasses[at]
	if class.Overhead != nil {
		if len(s.Overhead) > 0 && !equality.Semantic.DeepEqual(s.Overhead, class.Overhead.PodFixed) {
			return "", &Error{Path: "spec.overhead", Detail: "it is not the overhead of runtimeclass " + class.Name, Fix: "remove it"}
		}
		s.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return "", nil
	}
	for key, value := range class.Scheduling.NodeSelector {
		if own, ok := s.NodeSelector[key]; ok && own != value {
			return "", &Error{
				Path: "spec.nodeSelector[" + key + "]", Detail: fmt.Sprintf("%q contradicts runtimeclass %s, which has %q", own, class.Name, value), Fix: "remove it",
			}
		}
		if s.NodeSelector == nil {
			s.NodeSelector = make(map[string]string)
		}
		s.NodeSelector[key] = value
	}
	for _, t := range class.Scheduling.Tolerations {
		if !slices.ContainsFunc(s.Tolerations, func(own v1.Toleration) bool { return equality.Semantic.DeepEqual(own, t) }) {
			s.Tolerations = append(s.Tolerations, t)
		}
	}
	return "", nil
}

// limit sets the requests and limits that the LimitRanges of the pod's namespace have for containers without.
func (k *Known) limit(pod *v1.Pod) {
	for _, r := range k.LimitRanges {
		if r.Namespace != pod.Namespace {
			continue
		}
		requests, limits := v1.ResourceList{}, v1.ResourceList{}
		for i := range r.Spec.Limits {
			if item := &r.Spec.Limits[i]; item.Type == v1.LimitTypeContainer {
				own := v1.ResourceList{} // the API server's own defaults: from max, from the limit, from min
				fillList(own, item.Default, item.Max)
				fillList(limits, own)
				fillList(requests, item.DefaultRequest, own, item.Min)
			}
		}
		for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				own := &list[i].Resources
				if own.Limits == nil {
					own.Limits = v1.ResourceList{}
				}
				if own.Requests == nil {
					own.Requests = v1.ResourceList{}
				}
				fillList(own.Limits, limits)
				fillList(own.Requests, requests)
			}
		}
	}
}

// fillList adds what is missing, from the first list that has it.
func fillList(to v1.ResourceList, from ...v1.ResourceList) {
	for _, list := range from {
		for name, q := range list {
			if _, ok := to[name]; !ok {
				to[name] = q.DeepCopy()
			}
		}
	}
}

// tolerateForAWhile has a pod stay for five minutes on a node that is not ready or unreachable.
func tolerateForAWhile(s *v1.PodSpec) {
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		if slices.ContainsFunc(s.Tolerations, func(t v1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == v1.TaintEffectNoExecute || t.Effect == "")
		}) {
			continue
		}
		seconds := int64(300)
		s.Tolerations = append(s.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
}
