package generate

import (
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (g *Generator) node() *v1.Node {
	g.nodes++
	name := fmt.Sprintf("n%d", g.nodes)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: g.nodeLabels(name)}}
	if g.has(Taints) {
		n.Spec.Taints = g.taints()
	}
	if g.has(Cordons) && g.chance(0.5) {
		n.Spec.Unschedulable = true
		if g.chance(0.7) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
		}
	}
	n.Status.Allocatable = g.allocatable()
	if g.resizes {
		g.resizable(n)
	}
	if g.hasRather(Images) {
		n.Status.Images = g.nodeImages()
	}
	if g.hasRather(Features) {
		n.Status.DeclaredFeatures = some(g, 4, declaredFeatures()...)
	}
	return n
}

func (g *Generator) nodeLabels(name string) map[string]string {
	labels := map[string]string{}
	if g.chance(0.95) {
		labels[v1.LabelHostname] = name
	}
	if g.chance(0.9) {
		zone := g.IntN(4)
		labels[v1.LabelTopologyZone] = fmt.Sprintf("z%d", zone)
		if g.chance(0.9) {
			labels[v1.LabelTopologyRegion] = fmt.Sprintf("r%d", zone/2)
		}
	}
	if g.chance(0.1) {
		labels[v1.LabelFailureDomainBetaZone] = fmt.Sprintf("z%d", g.IntN(2))
	}
	if g.chance(0.6) {
		labels["disk"] = pick(g, "ssd", "hdd", "")
	}
	if g.chance(0.6) {
		labels["cores"] = pick(g, "4", "8", "16", "-3", "08", "many", "99999999999999999999")
	}
	if g.chance(0.05) {
		labels["rare"] = "1"
	}
	return labels
}

func (g *Generator) taints() []v1.Taint {
	var out []v1.Taint
	for range g.upTo(3) {
		out = append(out, v1.Taint{
			Key: pick(g, "k", "l", v1.TaintNodeNotReady), Value: pick(g, "", "a", "b", "5"),
			Effect: pick(g, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute),
		})
	}
	return out
}

// allocatable draws a node's allocatable resources. Without the aspect they are plenty, so that
// other plugins decide.
func (g *Generator) allocatable() v1.ResourceList {
	list := v1.ResourceList{
		v1.ResourceCPU: *milli(32000), v1.ResourceMemory: *bytes(64 << 30), v1.ResourcePods: *count(110), v1.ResourceEphemeralStorage: *bytes(100 << 30),
	}
	if !g.has(Resources) {
		return list
	}
	if g.preempt {
		return g.crowded()
	}
	list[v1.ResourceCPU] = *milli(int64(g.upTo(16)) * 250)
	list[v1.ResourceMemory] = *bytes(int64(g.upTo(16)) * 256 << 20)
	list[v1.ResourcePods] = *count(int64(g.upTo(8)))
	if g.chance(0.3) {
		delete(list, v1.ResourceEphemeralStorage)
	} else {
		list[v1.ResourceEphemeralStorage] = *bytes(int64(g.upTo(8)) << 30)
	}
	for _, name := range scalars() {
		if g.chance(0.4) {
			list[name] = *count(int64(g.upTo(4)))
		}
	}
	switch odd := g.Float64(); {
	case odd < 0.02:
		list[v1.ResourceMemory] = *bytes(math.MaxInt64 / 100) // above, scores of kube-scheduler wrap (docs/differences.md)
	case odd < 0.04:
		delete(list, v1.ResourceCPU)
	case odd < 0.09:
		list[v1.ResourceCPU] = resource.MustParse("1500m")
	}
	return list
}

func scalars() []v1.ResourceName {
	return []v1.ResourceName{"example.com/gpu", "example.com/nic", "other.io/disk", "hugepages-2Mi", "attachable-volumes-aws-ebs", "kubernetes.io/batteries"}
}

func milli(n int64) *resource.Quantity { return resource.NewMilliQuantity(n, resource.DecimalSI) }
func bytes(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
func count(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

// imageSize is that of an image on every node that has it.
func imageSize(i int) int64 {
	return []int64{10 << 20, 23 << 20, 90 << 20, 400 << 20, 1100 << 20, 3 << 30}[i]
}

func imageName(i int) string { return fmt.Sprintf("registry.example.com:5000/team/image-%d", i) }

func (g *Generator) nodeImages() []v1.ContainerImage {
	var out []v1.ContainerImage
	for _, i := range some(g, 6, 0, 1, 2, 3, 4, 5) {
		image := v1.ContainerImage{Names: []string{imageName(i) + ":latest"}, SizeBytes: imageSize(i)}
		if g.chance(0.5) {
			image.Names = append(image.Names, imageName(i)+":v1", imageName(i)+"@sha256:abc")
		}
		out = append(out, image)
	}
	return out
}

// changedNode draws another version of a node.
func (g *Generator) changedNode(old *v1.Node) *v1.Node {
	n := old.DeepCopy()
	switch g.IntN(8) {
	case 0:
		n.Labels = g.nodeLabels(n.Name)
	case 1:
		n.Spec.Taints = g.taints()
	case 2:
		n.Spec.Unschedulable = !n.Spec.Unschedulable
	case 3:
		n.Status.Allocatable = g.allocatable()
	case 4:
		n.Status.Images = g.nodeImages()
	case 5:
		n.Annotations = map[string]string{"example.com/note": pick(g, "a", "b")}
	case 6:
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: pick(g, v1.ConditionTrue, v1.ConditionFalse)}}
	case 7:
		n.Status.DeclaredFeatures = some(g, 4, declaredFeatures()...)
	}
	if g.resizes {
		g.resizable(n)
	}
	return n
}
