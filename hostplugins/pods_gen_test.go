package hostplugins_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
)

// fair draws with given probabilities: rapid's own numbers are mostly small, so that what
// should be rare would happen all the time.
type fair struct{ *rapid.T }

// number draws uniformly from 0 … most.
func (g fair) number(label string, most int) int {
	bits := rapid.SliceOfN(rapid.Bool(), 12, 12).Draw(g.T, label)
	n := 0
	for _, bit := range bits {
		n *= 2
		if bit {
			n++
		}
	}
	return n * (most + 1) >> len(bits)
}

func (g fair) pick(label string, from ...string) string { return from[g.number(label, len(from)-1)] }

func (g fair) chance(label string, percent int) bool { return g.number(label, 99) >= 100-percent }

// The following draws pods with affinity and spread constraints, and clusters of them.

const zone, hostname = v1.LabelTopologyZone, v1.LabelHostname

func (g fair) namespace() string { return g.pick("namespace", "ns", "ns", "ns", "red", "blue", "lost") }

func (g fair) podLabels() map[string]string {
	out := map[string]string{}
	for _, key := range []string{"app", "tier", "ver"} {
		if v := g.pick(key, "a", "a", "b", "c", "absent"); v != "absent" {
			out[key] = v
		}
	}
	return out
}

func (g fair) selector(label string) *metav1.LabelSelector {
	if g.chance(label+" nil", 4) {
		return nil
	}
	s := &metav1.LabelSelector{}
	if g.chance(label+" by app", 70) {
		s.MatchLabels = map[string]string{"app": g.pick(label, "a", "a", "b", "c")}
	}
	if g.chance(label+" by more", 30) {
		r := metav1.LabelSelectorRequirement{
			Key: g.pick("key", "app", "tier", "ver"), Operator: metav1.LabelSelectorOperator(g.pick("operator", "In", "NotIn", "Exists", "DoesNotExist")),
		}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			for range 1 + g.number("values", 1) {
				r.Values = append(r.Values, g.pick("value", "a", "b", "c"))
			}
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	if g.chance("broken", 1) {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: "app", Operator: "Like"})
	}
	return s
}

func (g fair) topologyKey() string {
	return g.pick("topology", zone, zone, hostname, hostname, "rack", "nokey")
}

func (g fair) constraint() v1.TopologySpreadConstraint {
	c := v1.TopologySpreadConstraint{
		MaxSkew:           int32(g.number("skew", 3)), // 0 is invalid, and means what it says TopologyKey: g.topologyKey(), LabelSelector: g.selector("counted"),
		WhenUnsatisfiable: v1.UnsatisfiableConstraintAction(g.pick("when", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
	}
	if g.chance("min domains", 30) {
		n := int32(1 + g.number("domains", 3))
		c.MinDomains = &n
	}
	for _, policy := range []**v1.NodeInclusionPolicy{&c.NodeAffinityPolicy, &c.NodeTaintsPolicy} {
		if p := v1.NodeInclusionPolicy(g.pick("policy", "", "Honor", "Ignore")); p != "" {
			*policy = &p
		}
	}
	if g.chance("match label keys", 20) {
		c.MatchLabelKeys = []string{g.pick("label key", "ver", "tier", "none")}
	}
	return c
}

func (g fair) podTerm() v1.PodAffinityTerm {
	t := v1.PodAffinityTerm{TopologyKey: g.topologyKey(), LabelSelector: g.selector("meant")}
	for range g.number("namespaces", 3) / 2 {
		t.Namespaces = append(t.Namespaces, g.namespace())
	}
	switch g.pick("namespace selector", "none", "none", "none", "team", "all", "not") {
	case "team":
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": g.pick("team", "x", "y")}}
	case "all":
		t.NamespaceSelector = &metav1.LabelSelector{}
	case "not":
		t.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{g.pick("team", "x", "y")},
		}}}
	}
	return t
}

func (g fair) podTerms(label string, most int) (required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	for range g.number(label+" required", most) {
		required = append(required, g.podTerm())
	}
	for range g.number(label+" preferred", most) {
		preferred = append(preferred, v1.WeightedPodAffinityTerm{Weight: int32(g.number("weight", 100)), PodAffinityTerm: g.podTerm()})
	}
	return required, preferred
}

// minding is a pod with small requests and with affinity or spread constraints.
func (g fair) minding(i int) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace(), Name: fmt.Sprintf("m%d", i), Labels: g.podLabels()}}
	p.UID = types.UID(p.Name)
	p.Spec.Containers = []v1.Container{{Name: "c"}}
	if g.chance("owned", 25) {
		p.OwnerReferences = owner(g.pick("kind", "ReplicaSet", "StatefulSet", "ReplicationController", "Job") + "/" + g.pick("owner", "a", "b"))
	}
	if g.chance("spread", 50) {
		for range 1 + g.number("constraints", 2) {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, g.constraint())
		}
	}
	if g.chance("affinity", 50) {
		a := &v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = g.podTerms("affinity", 2)
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = g.podTerms("anti-affinity", 2)
		p.Spec.Affinity = a
	}
	if g.chance("node selector", 20) {
		p.Spec.NodeSelector = map[string]string{"disk": g.pick("disk", "ssd", "hdd", "new")}
	}
	if g.chance("node affinity", 15) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &v1.Affinity{}
		}
		p.Spec.Affinity.NodeAffinity = gen(g).nodeAffinity(false)
		p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	}
	if g.chance("tolerates", 25) {
		p.Spec.Tolerations = []v1.Toleration{{Key: g.pick("toleration", "", "k"), Operator: v1.TolerationOpExists}}
	}
	return p
}

// minded is a node with topology labels.
func (g fair) minded(i int) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{}}}
	for _, key := range []string{zone, "rack", "disk", hostname} {
		from := map[string][]string{
			zone: {"a", "a", "b", "c", "", "absent"}, "rack": {"1", "2", "absent"}, "disk": {"ssd", "hdd", "absent"},
			hostname: {n.Name, n.Name, n.Name, n.Name, n.Name, n.Name, "same", "absent"},
		}[key]
		if n.Labels[key] = g.pick(key, from...); n.Labels[key] == "absent" {
			delete(n.Labels, key)
		}
	}
	if g.chance("tainted", 20) {
		n.Spec.Taints = []v1.Taint{{Key: g.pick("taint", "k", "l"), Effect: v1.TaintEffect(g.pick("effect", "NoSchedule", "PreferNoSchedule"))}}
	}
	n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("100")}
	return n
}

// mindingProfile has args for the two plugins, and the objects that own pods.
func (g fair) mindingProfile() *profile {
	p := &profile{}
	p.withDefaults()
	if g.chance("list", 50) {
		p.Spread.DefaultingType = configv1.ListDefaulting
		for range g.number("defaults", 2) {
			c := g.constraint()
			c.LabelSelector, c.MatchLabelKeys = nil, nil
			p.Spread.DefaultConstraints = append(p.Spread.DefaultConstraints, c)
		}
	}
	weight := int32(g.number("hard weight", 2) * 7)
	p.Pods = configv1.InterPodAffinityArgs{HardPodAffinityWeight: &weight, IgnorePreferredTermsOfExistingPods: g.chance("ignore", 20)}
	for i := range g.number("services", 2) {
		s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("s", i)}, Spec: v1.ServiceSpec{Selector: g.podLabels()}}
		p.world.ServiceList = append(p.world.ServiceList, s)
	}
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "a"}
	p.world.ReplicaSets = []*appsv1.ReplicaSet{{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: g.selector("of ReplicaSet")}}}
	p.world.StatefulSets = []*appsv1.StatefulSet{{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: g.selector("of StatefulSet")}}}
	p.world.Replication = []*v1.ReplicationController{{ObjectMeta: meta, Spec: v1.ReplicationControllerSpec{Selector: g.podLabels()}}}
	return p
}

// mind gives objects of other tests labels, affinity and spread constraints.
func (g fair) mind(nodes []*v1.Node, pods ...*v1.Pod) {
	for i, n := range nodes {
		for key, value := range g.minded(i).Labels {
			n.Labels[key] = value
		}
	}
	for i, p := range pods {
		from := g.minding(i)
		p.Namespace, p.Labels, p.OwnerReferences = from.Namespace, from.Labels, from.OwnerReferences
		p.Spec.TopologySpreadConstraints = from.Spec.TopologySpreadConstraints
		if from.Spec.Affinity != nil {
			if p.Spec.Affinity == nil {
				p.Spec.Affinity = &v1.Affinity{}
			}
			p.Spec.Affinity.PodAffinity, p.Spec.Affinity.PodAntiAffinity = from.Spec.Affinity.PodAffinity, from.Spec.Affinity.PodAntiAffinity
		}
	}
}

// step makes one change to a cluster. It returns the number of the next pod.
func (g fair) step(w *plugintest.LiveCluster, next int) int {
	nodes := w.Objects()
	switch g.number("step", 12) {
	case 0:
		w.SetNode(g.minded(g.number("node", 8)))
	case 1:
		n := nodes[g.number("tainted", len(nodes)-1)].Object.DeepCopy()
		n.Spec.Taints = g.minded(0).Spec.Taints
		w.SetNode(n)
	case 2:
		if len(nodes) > 1 {
			w.RemoveNode(nodes[g.number("gone", len(nodes)-1)].Object.Name)
		}
	case 3, 4:
		w.RemovePod(types.UID(fmt.Sprintf("m%d", g.number("gone", next))))
	case 5, 6:
		name := g.pick("namespace", "ns", "red", "blue")
		if g.chance("removed", 30) {
			w.RemoveNamespace(name)
		} else {
			w.SetNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": g.pick("team", "x", "y")}}})
		}
	default:
		i := next
		if g.chance("update", 20) {
			i = g.number("updated", next)
		}
		p := g.minding(i)
		if g.chance("deleting", 8) {
			p.DeletionTimestamp = &metav1.Time{}
		}
		p.Spec.NodeName = nodes[g.number("on", len(nodes)-1)].Object.Name
		w.SetPod(p)
		return next + 1
	}
	return next
}
