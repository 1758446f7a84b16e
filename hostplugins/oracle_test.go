package hostplugins_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
)

// gen draws API objects from few values, so that many of them collide.
type gen struct{ *rapid.T }

func (g gen) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.T, label)
}

func (g gen) number(label string, most int) int { return rapid.IntRange(0, most).Draw(g.T, label) }

func (g gen) chance(label string, percent int) bool { return g.number(label, 99) < percent }

func (g gen) key() string { return g.pick("key", "zone", "disk", "cores", "rare", "nokey") }

func (g gen) value() string {
	return g.pick("value", "", "a", "b", "c", "1", "8", "-3", "+5", "08", "99999999999999999999")
}

func (g gen) resources(placedShare int64) v1.ResourceList {
	list := v1.ResourceList{}
	add := func(name v1.ResourceName, unit int64, most int, percent int) {
		if g.chance("has "+string(name), percent) {
			list[name] = *resource.NewMilliQuantity(unit*int64(g.number(string(name), most))/placedShare, resource.DecimalSI)
		}
	}
	add(v1.ResourceCPU, 500, 16, 80)
	add(v1.ResourceMemory, 512<<20*1000, 16, 80)
	add(v1.ResourceEphemeralStorage, 1<<30*1000, 8, 30)
	add("example.com/gpu", 1000*placedShare, 4, 30)
	add("other.io/disk", 1000*placedShare, 2, 15)
	add("hugepages-2Mi", 2<<20*1000, 8, 15)
	return list
}

func (g gen) node(i int) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{}}}
	for _, key := range []string{"zone", "disk", "cores"} {
		if g.chance("labelled", 80) {
			n.Labels[key] = g.value()
		}
	}
	if g.chance("rare label", 5) {
		n.Labels["rare"] = g.value()
	}
	n.Status.Allocatable = g.resources(1)
	n.Status.Allocatable[v1.ResourcePods] = *resource.NewQuantity(int64(g.number("pods", 4)), resource.DecimalSI)
	n.Spec.Unschedulable = g.chance("cordoned", 10)
	for range g.number("taints", 3) / 2 {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{
			Key: g.pick("taint", "k", "l"), Value: g.pick("taint value", "", "a", "5"),
			Effect: v1.TaintEffect(g.pick("effect", "NoSchedule", "PreferNoSchedule", "NoExecute")),
		})
	}
	for _, feature := range declarable() {
		if g.chance("declares "+feature, 40) {
			n.Status.DeclaredFeatures = append(n.Status.DeclaredFeatures, feature)
		}
	}
	for j := range g.number("images", 4) {
		name := fmt.Sprintf("repo/image-%d:v1", j)
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{name, name + "@sha256:0"}, SizeBytes: int64(j) * 300 << 20})
	}
	return n
}

// declarable is features that nodes declare: three that pods can need, sorted by name as the API
// requires, and two that pods never need.
func declarable() []string {
	return []string{
		"GuaranteedQoSPodCPUResize", "InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits",
		"UserNamespacesHostNetworkSupport", "VolumeBindMountOptions",
	}
}

func (g gen) requirement(operators ...string) v1.NodeSelectorRequirement {
	r := v1.NodeSelectorRequirement{Key: g.key(), Operator: v1.NodeSelectorOperator(g.pick("operator", operators...))}
	switch r.Operator {
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		r.Values = []string{g.pick("bound", "0", "5", "12", "8", "x", "-4")}
	default:
		for range 1 + g.number("values", 6) {
			r.Values = append(r.Values, g.pick("value", "", "a", "b", "c", "1", "8", "d", "e", "f", "-3"))
		}
	}
	return r
}

func (g gen) term(valid bool) v1.NodeSelectorTerm {
	var t v1.NodeSelectorTerm
	for range g.number("expressions", 2) {
		r := g.requirement("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
		for j, v := range r.Values {
			if valid && (v == "x" && r.Operator != v1.NodeSelectorOpIn || strings.HasPrefix(v, "-")) {
				r.Values[j] = "2"
			}
		}
		t.MatchExpressions = append(t.MatchExpressions, r)
	}
	if g.chance("by name", 20) {
		t.MatchFields = append(t.MatchFields, v1.NodeSelectorRequirement{
			Key: "metadata.name", Operator: v1.NodeSelectorOperator(g.pick("field operator", "In", "In", "NotIn")), Values: []string{g.pick("name", "n0", "n1", "n9")},
		})
	}
	return t
}

func (g gen) nodeAffinity(valid bool) *v1.NodeAffinity {
	a := &v1.NodeAffinity{}
	if g.chance("required", 60) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{}
		for range g.number("terms", 3) {
			a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms =
				append(a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, g.term(valid))
		}
	}
	for range g.number("preferred", 3) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: int32(g.number("weight", 100)), Preference: g.term(valid)})
	}
	return a
}

func (g gen) container(j int, share int64) v1.Container {
	c := v1.Container{Name: fmt.Sprintf("c%d", j), Image: g.pick("image", "repo/image-0:v1", "repo/image-1:v1", "repo/image-3:v1@sha256:0", "repo/none")}
	c.Resources.Requests = g.resources(share)
	if g.chance("port", 20) {
		c.Ports = []v1.ContainerPort{{
			HostPort: int32(80 + g.number("host port", 1)), HostIP: g.pick("ip", "", "0.0.0.0", "10.0.0.1", "10.0.0.2"), Protocol: v1.Protocol(g.pick("protocol", "", "TCP", "UDP")),
		}}
	}
	return c
}

func (g gen) pod(i, nodes int, placed bool) *v1.Pod {
	name := fmt.Sprintf("p%d", i)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	share := int64(1)
	if placed {
		p.Spec.NodeName = fmt.Sprintf("n%d", g.number("on", nodes-1))
		share = 3
	}
	for j := range 1 + g.number("containers", 1) {
		p.Spec.Containers = append(p.Spec.Containers, g.container(j, share))
	}
	if g.chance("init container", 20) {
		c := g.container(9, share)
		if g.chance("sidecar", 50) {
			always := v1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if g.chance("pod-level", 15) {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{}}
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			if g.chance("pod-level "+string(name), 60) {
				p.Spec.Resources.Requests[name] = resource.MustParse(g.pick("amount", "1", "2Gi", "4"))
			}
		}
	}
	if placed {
		return p
	}
	if g.chance("restarts all", 10) {
		c := &p.Spec.Containers[len(p.Spec.Containers)-1]
		c.RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	}
	if g.chance("bind mount options", 10) {
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v", BindMountOptions: []string{"nodev"}}}
	}
	if p.Spec.HostNetwork = g.chance("host network", 20); g.chance("hostUsers is set", 40) {
		host := g.chance("host users", 30)
		p.Spec.HostUsers = &host
	}
	if g.chance("named", 5) {
		p.Spec.NodeName = g.pick("node name", "n0", "n9")
	}
	for range g.number("tolerations", 3) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{
			Key:      g.pick("toleration", "", "k", "l", "m", v1.TaintNodeUnschedulable),
			Operator: v1.TolerationOperator(g.pick("operator", "", "Equal", "Exists", "Exists", "Lt", "Gt")), Value: g.pick("toleration value", "", "a", "5"),
			Effect: v1.TaintEffect(g.pick("toleration effect", "", "NoSchedule", "PreferNoSchedule", "NoExecute")),
		})
	}
	if g.chance("selector", 20) {
		p.Spec.NodeSelector = map[string]string{g.key(): g.value()}
	}
	if g.chance("affinity", 50) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: g.nodeAffinity(false)}
	}
	if g.chance("image volume", 20) {
		p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "repo/image-2:v1"}}}}
	}
	return p
}

func (g gen) profile() *profile {
	specs := func(weight int) (out []configv1.ResourceSpec) {
		for _, name := range []string{"cpu", "memory", "ephemeral-storage", "example.com/gpu", "pods"} {
			if g.chance("scored "+name, 50) {
				out = append(out, configv1.ResourceSpec{Name: name, Weight: int64(1 + g.number("weight", weight))})
			}
		}
		return out
	}
	p := &profile{}
	p.Fit.ScoringStrategy = &configv1.ScoringStrategy{
		Type:      configv1.ScoringStrategyType(g.pick("strategy", "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")),
		Resources: specs(5),
	}
	if p.Fit.ScoringStrategy.Type == configv1.RequestedToCapacityRatio {
		p.Fit.ScoringStrategy.RequestedToCapacityRatio = &configv1.RequestedToCapacityRatioParam{Shape: []configv1.UtilizationShapePoint{
			{Utilization: int32(g.number("x", 40)), Score: int32(g.number("y", 10))}, {Utilization: 60, Score: int32(g.number("y", 10))}, {Utilization: 100, Score: 5},
		}}
	}
	if g.chance("ignored", 30) {
		p.Fit.IgnoredResources, p.Fit.IgnoredResourceGroups = []string{"example.com/gpu", "hugepages-2Mi"}, []string{"other.io"}
	}
	p.Balanced.Resources = specs(0)
	if g.chance("added affinity", 20) {
		p.Affinity.AddedAffinity = g.nodeAffinity(true)
	}
	p.withDefaults()
	return p
}

// TestOracle compares codes, reasons, and raw and normalized scores of the column
// implementation with the per-node one, over generated clusters.
func TestOracle(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		g := gen{rt}
		p := g.profile()
		var nodes []*v1.Node
		for i := range 1 + g.number("nodes", 12) {
			nodes = append(nodes, g.node(i))
		}
		var placed, pods []*v1.Pod
		for i := range g.number("placed", 12) {
			placed = append(placed, g.pod(100+i, len(nodes), true))
		}
		for i := range 4 {
			pods = append(pods, g.pod(i, len(nodes), false))
		}
		if g.chance("mind", 30) {
			fair{rt}.mind(nodes, slices.Concat(placed, pods)...)
		}
		if err := p.difference(t, nodes, placed, pods...); err != nil {
			rt.Fatal(err)
		}
	})
}
