package assembly

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/runtime/state"
)

// draw draws objects from short lists, so that many of them have to do with each other.
type draw struct{ *rand.Rand }

func (d draw) pick(from ...string) string { return from[d.IntN(len(from))] }

func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

// label sets a label to one of some values, "" for none.
func (d draw) label(labels map[string]string, key string, values ...string) {
	if v := d.pick(values...); v != "" {
		labels[key] = v
	}
}

func quantity(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// node draws the labels, taints and resources of a node.
func (d draw) node(name string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
	d.label(n.Labels, v1.LabelTopologyZone, "a", "a", "b", "")
	d.label(n.Labels, "rack", "1", "2", "")
	d.label(n.Labels, "disk", "ssd", "")
	if d.chance(10) {
		n.Labels[v1.LabelHostname] = "same"
	}
	if d.chance(30) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: d.pick("k", "l"), Effect: v1.TaintEffect(d.pick("NoSchedule", "NoExecute", "PreferNoSchedule"))})
	}
	n.Spec.Unschedulable = d.chance(30)
	n.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: quantity(1 + d.IntN(3)), v1.ResourceMemory: quantity(1 + d.IntN(3)), v1.ResourcePods: quantity(d.IntN(6)),
	}
	if d.chance(40) {
		n.Status.Allocatable["example.com/gpu"] = quantity(d.IntN(3))
	}
	for _, f := range []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"} {
		if d.chance(50) {
			n.Status.DeclaredFeatures = append(n.Status.DeclaredFeatures, f)
		}
	}
	return n
}

func (d draw) namespace() string { return d.pick("ns", "ns", "ns", "red", "blue") }

func (d draw) podLabels() map[string]string {
	out := map[string]string{}
	d.label(out, "app", "a", "a", "b", "")
	d.label(out, "ver", "1", "2", "")
	return out
}

func (d draw) selector() *metav1.LabelSelector {
	switch d.IntN(6) {
	case 0:
		return &metav1.LabelSelector{}
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: d.pick("app", "ver"), Operator: metav1.LabelSelectorOperator(d.pick("Exists", "DoesNotExist"))}}}
	case 2:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"ver": d.pick("1", "2")}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.pick("a", "a", "b")}}
}

func (d draw) topologyKey() string {
	return d.pick(v1.LabelTopologyZone, v1.LabelTopologyZone, v1.LabelHostname, "rack")
}

func (d draw) podTerms() (out []v1.PodAffinityTerm) {
	for range 1 + d.IntN(2) {
		t := v1.PodAffinityTerm{TopologyKey: d.topologyKey(), LabelSelector: d.selector()}
		switch d.IntN(5) {
		case 0:
			t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": d.pick("x", "y")}}
		case 1:
			t.Namespaces = []string{d.namespace()}
		}
		out = append(out, t)
	}
	return out
}

// pod draws what both placed and pending pods have.
func (d draw) pod(name string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace(), Name: name, UID: types.UID(name), Labels: d.podLabels()}}
	c := v1.Container{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}}}
	for _, r := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, "example.com/gpu"} {
		if d.chance(40) {
			c.Resources.Requests[r] = quantity(1 + d.IntN(2))
		}
	}
	if d.chance(40) {
		c.Ports = []v1.ContainerPort{{HostPort: int32(80 + d.IntN(2)), HostIP: d.pick("", "", "10.0.0.1", "10.0.0.2"), Protocol: v1.ProtocolTCP}}
	}
	p.Spec.Containers = []v1.Container{c}
	a := &v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	if d.chance(30) {
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = d.podTerms()
	}
	if d.chance(30) {
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = d.podTerms()
	}
	p.Spec.Affinity = a
	if d.chance(60) {
		d.volumes(p)
	}
	return p
}

// pendingPod draws a pod with what keeps pods off nodes.
func (d draw) pendingPod(name string) *v1.Pod {
	p := d.pod(name)
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: int32(80 + d.IntN(2)), HostIP: d.pick("", "10.0.0.1"), Protocol: v1.ProtocolTCP}}
	if d.chance(50) {
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	if d.chance(40) {
		p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOperator(d.pick("Exists", "DoesNotExist"))}},
		}}}}
		if d.chance(30) {
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields = []v1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("n%d", d.IntN(5))}},
			}
		}
	}
	for range 1 + d.IntN(2) {
		c := v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: d.topologyKey(), LabelSelector: d.selector(), WhenUnsatisfiable: v1.UnsatisfiableConstraintAction(d.pick("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
		}
		if d.chance(30) {
			c.MinDomains = ptr.To(int32(1 + d.IntN(3)))
		}
		for _, policy := range []**v1.NodeInclusionPolicy{&c.NodeAffinityPolicy, &c.NodeTaintsPolicy} {
			if v := v1.NodeInclusionPolicy(d.pick("", "Honor", "Ignore")); v != "" {
				*policy = &v
			}
		}
		if d.chance(20) && c.LabelSelector.MatchLabels["ver"] == "" {
			c.MatchLabelKeys = []string{"ver"}
		}
		if c.WhenUnsatisfiable == v1.ScheduleAnyway {
			c.MinDomains = nil
		}
		if d.chance(80) {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
		}
	}
	if d.chance(30) {
		p.Spec.Tolerations = []v1.Toleration{d.toleration()}
	}
	if d.chance(50) {
		p.Spec.HostNetwork, p.Spec.HostUsers = true, ptr.To(false)
	}
	if d.chance(50) {
		p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	}
	return p
}

func (d draw) toleration() v1.Toleration {
	return v1.Toleration{Key: d.pick("k", "l", v1.TaintNodeUnschedulable), Operator: v1.TolerationOpExists}
}

// arrive adds a pending pod of a profile.
func (w *hintWorld) arrive(profile string) {
	p := w.pendingPod(fmt.Sprintf("p%d", len(w.pending)))
	p.Spec.SchedulerName = profile
	if strings.Contains(profile, "Volume") {
		p.Namespace, p.Spec.Volumes = "ns", nil
		w.volumes(p)
	}
	if profile == "SchedulingGates" {
		p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}}
	}
	if profile == "PodTopologySpreadlist" {
		p.Spec.TopologySpreadConstraints = nil
	}
	if profile == "DynamicResources" {
		p.Namespace = "ns"
		w.claims(p)
	}
	w.pending[p.UID] = &hinted{pod: p, plugin: profile}
	w.loop.Scheduler.SetPods(state.NewPod(p))
}

// told notes a change.
func (w *hintWorld) told(what string, was, now any) {
	text := func(o any) string {
		out, _ := yaml.Marshal(o)
		return string(out)
	}
	w.story = append(w.story, fmt.Sprintf("%s\nwas: %s\nnow: %s", what, text(was), text(now)))
}

// happen makes one change of the cluster, which the API allows.
func (w *hintWorld) happen() {
	switch w.IntN(12) {
	case 0, 1, 2:
		w.nodeHappens()
	case 3, 4, 5:
		w.podHappens()
	case 6:
		w.namespaceHappens()
	case 7:
		w.pendingHappens()
	default:
		for range 3 {
			if w.objectHappens() {
				return
			}
		}
	}
}

func (w *hintWorld) nodeHappens() {
	name := fmt.Sprintf("n%d", w.IntN(5))
	was := w.nodes[name]
	if was != nil && w.chance(20) && len(w.nodes) > 1 {
		w.told("node deleted", was, nil)
		delete(w.nodes, name)
		w.loop.Scheduler.DeleteNode(name)
		return
	}
	now := w.node(name)
	if was != nil { // some of it changes
		drawn := now
		now = was.DeepCopy()
		switch w.IntN(6) {
		case 0, 1:
			now.Labels = drawn.Labels
		case 2:
			now.Spec.Taints = drawn.Spec.Taints
		case 3:
			now.Spec.Unschedulable = drawn.Spec.Unschedulable
		case 4:
			now.Status.Allocatable = drawn.Status.Allocatable
		case 5:
			now.Status.DeclaredFeatures = drawn.Status.DeclaredFeatures
		}
	}
	if was == nil {
		w.told("node added", nil, now)
	} else {
		w.told("node changed", was, now)
	}
	w.nodes[name] = now
	w.loop.Scheduler.SetNode(state.NewNode(now))
}

func (w *hintWorld) podHappens() {
	name := fmt.Sprintf("x%d", w.IntN(6))
	was := w.placed[name]
	switch {
	case was == nil && len(w.nodes) > 0:
		now := w.pod(name)
		now.Spec.NodeName = w.pick(slices.Sorted(maps.Keys(w.nodes))...)
		if w.chance(15) {
			w.claims(now)
		}
		w.told("pod placed", nil, now)
		w.placed[name] = now
		w.loop.Scheduler.SetPods(state.NewPod(now))
	case was != nil && w.chance(50):
		w.told("pod deleted", was, nil)
		delete(w.placed, name)
		w.loop.Scheduler.DeletePod(was.UID)
	case was != nil:
		now := was.DeepCopy()
		switch w.IntN(4) {
		case 0, 1:
			now.Labels = w.podLabels()
		case 2:
			now.DeletionTimestamp = &metav1.Time{}
		case 3: // resized
			for r := range now.Spec.Containers[0].Resources.Requests {
				now.Spec.Containers[0].Resources.Requests[r] = quantity(1)
			}
		}
		w.told("pod changed", was, now)
		w.placed[name] = now
		w.loop.Scheduler.SetPods(state.NewPod(now))
	}
}

func (w *hintWorld) namespaceHappens() {
	name := w.pick("ns", "red", "blue")
	was := w.spaces[name]
	if was != nil && w.chance(20) {
		w.told("namespace deleted", was, nil)
		delete(w.spaces, name)
		w.loop.Scheduler.DeleteNamespace(name)
		return
	}
	now := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if team := w.pick("x", "y", ""); team != "" {
		now.Labels = map[string]string{"team": team}
	}
	w.told("namespace", was, now)
	w.spaces[name] = now
	w.loop.Scheduler.SetNamespace(state.NewNamespace(now))
}

// pendingHappens changes a pending pod, or replaces it by another one.
func (w *hintWorld) pendingHappens() {
	if len(w.pending) == 0 {
		return
	}
	h := w.pending[types.UID(w.pick(sortedUIDs(w.pending)...))]
	now := h.pod.DeepCopy()
	switch w.IntN(4) {
	case 0, 1:
		now.Labels = w.podLabels()
	case 2:
		now.Spec.Tolerations = append(now.Spec.Tolerations, w.toleration())
	case 3:
		now.Spec.SchedulingGates = nil
		now.Status.ResourceClaimStatuses = generated(now)
	}
	w.told("pending pod changed", h.pod, now)
	h.pod = now
	w.loop.Scheduler.SetPods(state.NewPod(now))
}

func sortedUIDs(pods map[types.UID]*hinted) (out []string) {
	for uid := range pods {
		out = append(out, string(uid))
	}
	slices.Sort(out)
	return out
}
