package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// numbered returns a copy of a node with a number in its name. Labels that have the name, or the host name, as their value follow.
// The new node has no images and volumes yet.
func numbered(node *v1.Node, n int) *v1.Node {
	out := node.DeepCopy()
	suffix := fmt.Sprintf("-%d", n)
	out.Name += suffix
	out.UID += types.UID(suffix)
	host := node.Labels[v1.LabelHostname]
	for key, value := range out.Labels {
		if value != "" && (key == v1.LabelHostname || value == node.Name || value == host) {
			out.Labels[key] = value + suffix
		}
	}
	out.Status.Images, out.Status.VolumesInUse, out.Status.VolumesAttached = nil, nil, nil
	return out
}

// registered returns an added node with the label that its kubelet will give it, if it has none.
func registered(node *v1.Node) *v1.Node {
	if _, ok := node.Labels[v1.LabelHostname]; ok || len(validation.IsValidLabelValue(node.Name)) > 0 {
		return node
	}
	out := node.DeepCopy()
	if out.Labels == nil {
		out.Labels = make(map[string]string)
	}
	out.Labels[v1.LabelHostname] = node.Name
	return out
}

// startupTaint reports whether a taint is on nodes that just came, and is removed from them when they are ready: by a cloud controller,
// the node lifecycle controller, or by what the cluster autoscaler knows as such.
func startupTaint(t v1.Taint) bool {
	switch t.Key {
	case "node.cloudprovider.kubernetes.io/uninitialized", v1.TaintNodeNotReady, v1.TaintNodeUnreachable, v1.TaintNodeNetworkUnavailable:
		return true
	}
	return strings.HasPrefix(t.Key, "startup-taint.cluster-autoscaler.kubernetes.io/") || strings.HasSuffix(t.Key, "/agent-not-ready")
}

// initialized returns the node as it is once it is ready.
func initialized(node *v1.Node) *v1.Node {
	if !slices.ContainsFunc(node.Spec.Taints, startupTaint) {
		return node
	}
	out := node.DeepCopy()
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, startupTaint)
	return out
}

// daemonSetOf returns the set that a pod belongs to; nil for none of them.
func daemonSetOf(pod *v1.Pod, sets []*appsv1.DaemonSet) *appsv1.DaemonSet {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != input.KindDaemonSet {
		return nil
	}
	for _, set := range sets {
		if set.Namespace == pod.Namespace && set.Name == owner.Name {
			return set
		}
	}
	return nil
}

// daemonsOfAdded places the pods of the cluster's DaemonSets on added nodes, before those of the question. A set that is not known is
// represented by one of its pods, which has all that its template has but required node affinity.
func (q *question) daemonsOfAdded(c *Cluster, r *Request) {
	if len(q.added) == 0 {
		return
	}
	sets := slices.DeleteFunc(slices.Clone(q.known.DaemonSets), func(s *appsv1.DaemonSet) bool {
		return slices.ContainsFunc(r.DaemonSets, func(asked *appsv1.DaemonSet) bool { return asked.Namespace == s.Namespace && asked.Name == s.Name })
	})
	samples := sampleDaemons(c.Bound, slices.Concat(sets, r.DaemonSets))
	for _, node := range q.config.Nodes {
		if !q.added[node.Name] {
			continue
		}
		for i, set := range sets {
			if pod := input.DaemonPod(set, node, i); pod != nil {
				if err := q.admit("DaemonSet "+set.Namespace+"/"+set.Name, pod); err != nil {
					q.doubt(err.Error())
				} else if why := q.refusal(pod); why != "" {
					q.doubt(fmt.Sprintf("DaemonSet %s/%s has no pods on added nodes, since %s%s", set.Namespace, set.Name, input.WouldRefuse, why))
				} else {
					q.daemon(pod, node)
				}
			}
		}
		for _, sample := range samples {
			if pod := onto(sample, node); pod != nil {
				q.daemon(pod, node)
			}
		}
	}
}

// sampleDaemons returns a pod of each DaemonSet of the cluster but those that are known.
func sampleDaemons(bound []*state.Pod, known []*appsv1.DaemonSet) (out []*v1.Pod) {
	seen := make(map[types.NamespacedName]bool)
	for _, pod := range bound {
		owner := metav1.GetControllerOfNoCopy(pod.Object)
		if owner == nil || owner.Kind != input.KindDaemonSet || daemonSetOf(pod.Object, known) != nil {
			continue
		}
		if name := (types.NamespacedName{Namespace: pod.Object.Namespace, Name: owner.Name}); !seen[name] {
			seen[name] = true
			out = append(out, pod.Object)
		}
	}
	return out
}

// onto returns a pod like one of another node; nil if the DaemonSet has none there.
func onto(sample *v1.Pod, node *v1.Node) *v1.Pod {
	pod := sample.DeepCopy()
	pod.Name = metav1.GetControllerOfNoCopy(pod).Name
	pod.ResourceVersion, pod.Status, pod.DeletionTimestamp, pod.Spec.NodeName = "", v1.PodStatus{}, nil, ""
	input.PinTo(pod, node.Name)
	if !input.RunsDaemon(pod, node) {
		return nil
	}
	return pod
}

// daemon adds a pod of a DaemonSet to an added node: the scheduler places it, unless it is another scheduler's or names the node.
func (q *question) daemon(pod *v1.Pod, node *v1.Node) {
	pod.Name = fmt.Sprintf("%s-%d", cmp.Or(pod.Name, pod.GenerateName), q.daemons)
	pod.UID = types.UID(fmt.Sprintf("whatif-daemon-%d", q.daemons))
	q.daemons++
	if q.profiles[pod.Spec.SchedulerName] && pod.Spec.NodeName == "" {
		q.config.Arrivals = append(q.config.Arrivals, input.Arrival{Pod: pod})
		return
	}
	q.config.Bound = append(q.config.Bound, state.NewPod(pod).On(node.Name, state.Patch{}))
}

// daemonSets asks about the pods of DaemonSets, one for each node that the set is for.
func (q *question) daemonSets(r *Request) error {
	for i, set := range r.DaemonSets {
		for n, node := range q.config.Nodes {
			pod := input.DaemonPod(set, node, n)
			if pod == nil {
				continue
			}
			if err := q.admit(fmt.Sprintf("daemonSets[%d]", i), pod); err != nil {
				return err
			}
			pod.UID = types.UID(fmt.Sprintf("whatif-daemonset-%d-%d", i, n))
			q.create(pod, Pod{DaemonSet: &i}, false)
		}
		if len(q.pods) > MaxPods {
			return fmt.Errorf("daemonSets[%d]: with its pods there are %d to place, more than %d: ask several questions", i, len(q.pods), MaxPods)
		}
	}
	return nil
}
