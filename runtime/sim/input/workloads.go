package input

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// expansion makes the pods that controllers would make of objects that no cluster has seen. It stands for the controllers,
// which run neither here nor in a simulation.
type expansion struct {
	known *Known
	nodes []*v1.Node
	pods  map[string][]*v1.Pod // by namespace
	// paths are those of the templates of the pods that were made.
	paths  map[*v1.Pod]string
	quotas *Quotas
	// named has the claims of the files, NAMESPACE/NAME.
	named map[string]bool
}

// expand returns the objects with the missing pods of controllers, each after its controller. Objects that come from a cluster have the
// pods that the cluster gave them.
func expand(objs []object, g *gatherer) ([]object, *expansion) {
	e := &expansion{known: &Known{Kinds: KnownKinds()}, pods: make(map[string][]*v1.Pod), paths: make(map[*v1.Pod]string), named: make(map[string]bool)}
	for _, o := range objs {
		e.known.Add(o.Object)
		switch x := o.Object.(type) {
		case *v1.Node:
			e.nodes = append(e.nodes, x)
		case *v1.Pod:
			e.pods[x.Namespace] = append(e.pods[x.Namespace], x)
		case *v1.PersistentVolumeClaim:
			e.named[x.Namespace+"/"+x.Name] = true
		}
	}
	var existing []*v1.Pod
	if len(e.known.ResourceQuotas) > 0 {
		existing = slices.DeleteFunc(slices.Concat(slices.Collect(maps.Values(e.pods))...), isNew)
	}
	e.quotas = e.known.Quotas(existing)
	out := make([]object, 0, len(objs))
	for _, o := range objs {
		out = append(out, o)
		if o.meta.ResourceVersion != "" || !o.meta.CreationTimestamp.IsZero() || metav1.GetControllerOf(o.meta) != nil {
			continue
		}
		if set, ok := o.Object.(*appsv1.DaemonSet); ok {
			out = append(out, e.daemons(o, set, g)...)
		} else if m, ok := makes(o); ok {
			out = append(out, e.missing(o, &m, g)...)
		}
	}
	return out, e
}

// missing returns the pods of a controller that the files do not have.
func (e *expansion) missing(o object, m *made, g *gatherer) (out []object) {
	if m.Pod == nil || len(m.Pod.Spec.Containers) == 0 {
		return nil // it only says whose pods are whose
	}
	if errs := m.prepare(o); len(errs) > 0 {
		g.refuse(o, errs...)
		return nil
	}
	have := make(map[string]bool)
	selector, err := metav1.LabelSelectorAsSelector(m.selector)
	if m.selector == nil || err != nil {
		selector = labels.Nothing()
	}
	for _, pod := range e.pods[o.meta.Namespace] {
		owner := metav1.GetControllerOf(pod)
		if owner == nil && selector.Matches(labels.Set(pod.Labels)) || owner != nil && owns(o, owner) {
			have[pod.Name] = true
		}
	}
	if set, ok := m.owner.(*appsv1.ReplicaSet); ok && o.Object != runtime.Object(set) {
		out = append(out, object{Object: set, meta: &set.ObjectMeta, place: o.place})
	}
	pods, claims := m.all(0)
	for _, claim := range claims {
		of := object{Object: claim, meta: &claim.ObjectMeta, place: o.place}
		if name := claim.Namespace + "/" + claim.Name; !e.named[name] {
			e.named[name] = true
			g.add(prepare(of, nil)...)
			out = append(out, of)
		}
	}
	if m.Ordinals != nil {
		pods = slices.DeleteFunc(pods, func(p *v1.Pod) bool { return have[p.Name] })
	} else {
		pods = pods[min(len(have), len(pods)):]
	}
	for _, pod := range pods {
		out = append(out, e.add(o, pod, m.path))
	}
	return out
}

// owns reports whether an object is the controller of a pod with this owner, itself or through another controller.
func owns(o object, owner *metav1.OwnerReference) bool {
	switch kind := kindOf(o); {
	case owner.Kind == kind:
		return owner.Name == o.meta.Name
	case kind == "Deployment" && owner.Kind == "ReplicaSet" || kind == "CronJob" && owner.Kind == "Job":
		at := strings.LastIndexByte(owner.Name, '-')
		return at >= 0 && owner.Name[:at] == o.meta.Name
	}
	return false
}

// daemons returns the pods of a DaemonSet for the nodes that have none.
func (e *expansion) daemons(o object, set *appsv1.DaemonSet, g *gatherer) (out []object) {
	m := of(set, &set.Spec.Template, 1, set.Spec.Selector)
	if errs := m.prepare(o); len(errs) > 0 {
		g.refuse(o, errs...)
		return nil
	}
	have := make(map[string]bool)
	for _, pod := range e.pods[o.meta.Namespace] {
		if owner := metav1.GetControllerOf(pod); owner != nil && owns(o, owner) {
			have[NodeOfDaemon(pod)] = true
		}
	}
	for i, node := range e.nodes {
		if pod := DaemonPod(set, node, i); pod != nil && !have[node.Name] {
			out = append(out, e.add(o, pod, "spec.template"))
		}
	}
	return out
}

// NodeOfDaemon is the node that a pod of a DaemonSet is on, or is for.
func NodeOfDaemon(pod *v1.Pod) string {
	if pod.Spec.NodeName != "" || pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return pod.Spec.NodeName
	}
	if r := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		for _, term := range r.NodeSelectorTerms {
			for _, f := range term.MatchFields {
				if len(f.Values) == 1 {
					return f.Values[0]
				}
			}
		}
	}
	return ""
}

func (e *expansion) add(o object, pod *v1.Pod, path string) object {
	defaultMeta(&pod.ObjectMeta, "Pod", true)
	e.paths[pod] = path
	return object{Object: pod, meta: &pod.ObjectMeta, place: o.place}
}

// isNew reports whether a pod is still to be created: it comes from no cluster.
func isNew(pod *v1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.ResourceVersion == "" && pod.CreationTimestamp.IsZero()
}

// admit does what admission does to a pod that is to be created, but for the priority of one that is in the files itself. It reports
// whether the pod can be used.
func (e *expansion) admit(o object, pod *v1.Pod, g *gatherer) (unknown string, ok bool) {
	path, wasMade := e.paths[pod]
	switch {
	case wasMade:
		if _, bad := e.known.Admit(pod); bad != nil {
			g.refuse(o, o.place.at(nil, path+"."+bad.Path, bad.Detail, bad.Fix))
			return "", false
		}
	case isNew(pod):
		e.known.limit(pod)
		defaultPodLevel(pod)
		if _, bad := e.known.runtime(pod); bad != nil {
			return fmt.Sprintf("%s: %s", bad.Path, bad.Detail), true
		}
	}
	return "", true
}

// allows reports whether LimitRanges and quotas allow a pod that is to be created.
func (e *expansion) allows(o object, pod *v1.Pod, g *gatherer) bool {
	path, wasMade := e.paths[pod]
	if !wasMade && !isNew(pod) {
		return true
	}
	why := e.known.Refusal(pod)
	if why == "" {
		why = e.quotas.Charge(pod)
	}
	if why != "" {
		g.refuse(o, o.place.at(nil, path, WouldRefuse+why, ""))
	}
	return why == ""
}

// webhookOf returns the name of a configuration of webhooks that see pods being created; "" for others.
func webhookOf(o runtime.Object) string {
	switch x := o.(type) {
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range x.Webhooks {
			if SeesPods(x.Webhooks[i].Rules) {
				return x.Name
			}
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range x.Webhooks {
			if SeesPods(x.Webhooks[i].Rules) {
				return x.Name
			}
		}
	}
	return ""
}

// SeesPods reports whether rules of a webhook are about pods that are created.
func SeesPods(rules []admissionv1.RuleWithOperations) bool {
	has := func(list []string, what string) bool {
		return slices.Contains(list, what) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
		creates := slices.Contains(r.Operations, admissionv1.Create) || slices.Contains(r.Operations, admissionv1.OperationAll)
		return creates && has(r.APIGroups, "") && (has(r.Resources, "pods") || slices.Contains(r.Resources, "*/*"))
	})
}
