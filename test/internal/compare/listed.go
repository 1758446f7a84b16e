package compare

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kube-scheduler/framework"
)

// Listed is a difference that docs/differences.md lists. The page must contain its reference:
// upstream's issue, pull request or enhancement.
type Listed struct {
	Name, Reference string
	is              func(d *Difference) bool
}

// AllListed returns the listed differences.
func AllListed() []Listed {
	return []Listed{
		{
			Name: "scores of pods with pod-level resources", Reference: "kubernetes/kubernetes/pull/141387",
			is: func(d *Difference) bool {
				fit := d.Plugin == "NodeResourcesFit" && (d.What == "Score" || d.What == "NormalizeScore") || d.What == "score of NodeResourcesFit"
				return fit && d.Pod.Spec.Resources != nil && !d.Hosted
			},
		},
		{
			// Its cache counts the nodes that have an image when it copies a node into its
			// snapshot, which happens when that node changes.
			Name: "number of nodes that have an image", Reference: "kubernetes/kubernetes/issues/116673",
			is: func(d *Difference) bool { return d.What == "score of ImageLocality" && d.Step > 0 },
		},
		{
			Name: "preemptors that are held back", Reference: "kubernetes/enhancements/issues/4832",
			is: func(d *Difference) bool {
				return d.Plugin == "DefaultPreemption" && d.What == "extension points" && d.Theirs == "PreEnqueue "+d.Ours
			},
		},
		{
			// Unlike its own PreFilter, AddPod and RemovePod match a claim of that name in any
			// namespace.
			Name: "claims of one name in two namespaces", Reference: "kubernetes/kubernetes/pull/114051",
			is: func(d *Difference) bool {
				return d.Plugin == "VolumeRestrictions" && d.What == "Filter of a changed node code" && d.otherNamespaces()
			},
		},
		{
			// Its counts take such a selector for one that selects nothing, except in what-ifs and for the pod itself.
			Name: "spread constraints that select all pods", Reference: "kubernetes/kubernetes/pull/141340",
			is: func(d *Difference) bool {
				return (d.Plugin == "PodTopologySpread" || d.Plugin == "Decisions") && d.Pod != nil && !d.Hosted && spreadsAll(d.Pod)
			},
		},
		{
			// Its NodeInfo stores ports as a set: when the first of two pods with the same port is
			// removed, the port is removed for both.
			Name: "a host port that two pods of a node hold", Reference: "kubernetes/kubernetes/issues/42523",
			is: func(d *Difference) bool { return d.SharedPort && hasHostPort(d.Pod) },
		},
		{
			Name: "disks that a pod of another namespace used", Reference: "kubernetes/kubernetes/pull/125279",
			is: func(d *Difference) bool {
				return d.Plugin == "VolumeRestrictions" && d.What == "hint for AssignedPod/Delete" && d.wakes() &&
					d.Event.Old.Pods[0].Namespace != d.Pod.Namespace
			},
		},
		{
			Name: "a limit of a CSI driver that is lifted", Reference: "kubernetes/enhancements/issues/4876",
			is: func(d *Difference) bool {
				return d.Plugin == "NodeVolumeLimits" && d.What == "hint for storage.k8s.io/CSINode/Update" && d.wakes()
			},
		},
		{
			Name: "claims of ephemeral volumes when one is detached", Reference: "kubernetes/kubernetes/pull/129557",
			is: func(d *Difference) bool {
				return d.Plugin == "NodeVolumeLimits" && d.What == "hint for storage.k8s.io/VolumeAttachment/Delete" && d.wakes() &&
					slices.ContainsFunc(d.Pod.Spec.Volumes, func(v v1.Volume) bool { return v.Ephemeral != nil })
			},
		},
		{
			Name: "PreScore of pods without claims", Reference: "kep.k8s.io/4049",
			is: func(d *Difference) bool {
				return d.Plugin == "VolumeBinding" && d.What == "PreScore code" && d.Ours == "Skip []" && d.Theirs == "Success []"
			},
		},
		{
			Name: "capacities of a CSI driver that cease to count", Reference: "kubernetes/kubernetes/pull/125171",
			is: func(d *Difference) bool {
				return d.Plugin == "VolumeBinding" && d.What == "hint for storage.k8s.io/CSIDriver/Update" && d.wakes()
			},
		},
		{
			Name: "volumes that were assumed for a pod that is gone", Reference: "kubernetes/kubernetes/pull/122534",
			is: func(d *Difference) bool {
				return d.Plugin == "VolumeBinding" && (d.What == "registers AssignedPod/Delete" || d.What == "hint for AssignedPod/Delete" && d.wakes())
			},
		},
		{
			Name: "peers and nodes that no longer keep a pod away", Reference: "kubernetes/kubernetes/issues/141953",
			is: func(d *Difference) bool {
				adds := d.What == "hint for AssignedPod/Add" && !selectsNamespaces(d.Pod)
				wakes := strings.HasPrefix(d.What, "hint for ") && d.wakes() && !adds
				return d.Plugin == "InterPodAffinity" && (d.What == "registers Node/Delete" || wakes)
			},
		},
		{
			Name: "changes that make a node fit and wake nobody", Reference: "kubernetes/enhancements/issues/4247",
			is: func(d *Difference) bool {
				registers, registered := strings.CutPrefix(d.What, "registers ")
				if registered {
					return slices.Contains(registeredToo(d.Plugin), registers)
				}
				event, hint := strings.CutPrefix(d.What, "hint for ")
				return hint && d.wakes() && slices.Contains(wakingToo(d.Plugin), event)
			},
		},
	}
}

// registeredToo returns the events that only our plugin registers.
func registeredToo(plugin string) []string {
	return map[string][]string{
		"PodTopologySpread": {"AssignedPod/UpdateOther"},
		"NodeVolumeLimits": {
			"Node/Add", "AssignedPod/Add", "storage.k8s.io/CSINode/Delete", "storage.k8s.io/StorageClass/Delete", "PersistentVolume/Delete",
			"PersistentVolumeClaim/Delete", "PersistentVolumeClaim/UpdateOther", "PersistentVolumeClaim/Update",
			"storage.k8s.io/CSIDriver/UpdateOther", "storage.k8s.io/CSIDriver/Update", "storage.k8s.io/CSIDriver/Delete",
		},
		"VolumeBinding":      {"storage.k8s.io/CSIDriver/Delete", "PersistentVolume/Delete"},
		"VolumeRestrictions": {"Node/Delete"},
	}[plugin]
}

// wakingToo returns the events after which our plugin may wake a pod that kube-scheduler's leaves parked.
func wakingToo(plugin string) []string {
	return append(map[string][]string{
		"PodTopologySpread": {"Node/UpdateNodeLabel", "TargetPod/UpdatePodLabel"},
		"NodeAffinity":      {"Node/UpdateNodeLabel"},
		"NodeResourcesFit":  {"Node/Add", "Node/UpdateNodeAllocatable"},
	}[plugin], registeredToo(plugin)...)
}

// wakes reports whether ours wakes a pod that kube-scheduler leaves parked.
func (d *Difference) wakes() bool {
	return d.Ours == framework.Queue.String() && d.Theirs == framework.QueueSkip.String()
}

// selectsNamespaces reports whether a required term of a pod selects namespaces by labels, which hints do not see.
func selectsNamespaces(pod *v1.Pod) bool {
	var terms []v1.PodAffinityTerm
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		terms = append(terms, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		terms = append(terms, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	return slices.ContainsFunc(terms, func(t v1.PodAffinityTerm) bool { return t.NamespaceSelector != nil })
}

// spreadsAll reports whether a spread constraint of a pod selects all pods.
func spreadsAll(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c v1.TopologySpreadConstraint) bool {
		return c.LabelSelector != nil && len(c.LabelSelector.MatchLabels)+len(c.LabelSelector.MatchExpressions) == 0
	})
}

func hasHostPort(pod *v1.Pod) bool {
	return pod != nil && slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c v1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return p.HostPort > 0 })
	})
}

// otherNamespaces reports whether pods of other namespaces were added to or removed from a
// hypothetical node.
func (d *Difference) otherNamespaces() bool {
	for _, ref := range d.WhatIf.Remove {
		if _, namespace, _ := ref.Split(); namespace != d.Pod.Namespace {
			return true
		}
	}
	return slices.ContainsFunc(d.WhatIf.Add, func(p *v1.Pod) bool { return p.Namespace != d.Pod.Namespace })
}

// CheckListed returns the references that the page of differences lacks.
func CheckListed(page string) error {
	for _, l := range AllListed() {
		if !strings.Contains(page, l.Reference) {
			return fmt.Errorf("docs/differences.md does not list %q: it has no link to %s", l.Name, l.Reference)
		}
	}
	return nil
}

// Note counts a difference, and finds the listed one that it is an instance of.
func (n *Counts) Note(d *Difference) {
	n.Different++
	for _, l := range AllListed() {
		if l.is(d) {
			d.Listed = &l
			n.Listed++
			return
		}
	}
}
