package dumps

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Drawer draws objects by structure: every field that a scheduler reads gets a value of its type, now
// and then one that is rare, at a limit, or wrong.
type Drawer struct {
	r *rand.Rand
	// Odd is how often a value is odd, of 100.
	Odd int
}

// NewDrawer returns a drawer; equal seeds draw equal objects.
func NewDrawer(seed uint64, odd int) *Drawer {
	return &Drawer{r: rand.New(rand.NewPCG(seed, 43)), Odd: odd}
}

func (d *Drawer) chance(percent int) bool { return d.r.IntN(100) < percent }

func one[T any](d *Drawer, values ...T) T { return values[d.r.IntN(len(values))] }

// word returns an ordinary text, or an odd one.
func (d *Drawer) word(ordinary []string, odd ...string) string {
	if len(odd) > 0 && d.chance(d.Odd) {
		return one(d, odd...)
	}
	return one(d, ordinary...)
}

func (d *Drawer) key() string {
	return d.word([]string{"zone", "ver", v1.LabelHostname, "example.com/rack"}, "bad key", "", "example.com/", "A.b_c", "kubernetes.io/metadata.name")
}

func (d *Drawer) value() string {
	return d.word([]string{"a", "b", "1", "500", "n-0", "n-1"}, "", "150.1", "-5", "x y", "-", "9223372036854775808", "007", "1e3", "ü", "0x10")
}

func (d *Drawer) labels() map[string]string {
	out := map[string]string{}
	for range d.r.IntN(4) {
		out[d.key()] = d.value()
	}
	return out
}

func (d *Drawer) quantity() resource.Quantity {
	return resource.MustParse(d.word([]string{"1", "2", "500m", "4", "1Gi", "100Mi"},
		"0", "1n", "1.5", "8E", "8Ei", "50E", "1e18", "9e18", "1e50", "1e101", "0.1m", "-1", "-1m",
		"4611686018427387904", "4611686018427387905", "9223372036854775806", "9223372036854775807", "9223372036854775808", "9223372036854775807m"))
}

func (d *Drawer) amounts(names ...v1.ResourceName) v1.ResourceList {
	out := v1.ResourceList{}
	for _, name := range names {
		if d.chance(60) {
			out[name] = d.quantity()
		}
	}
	if d.chance(d.Odd) {
		out[one(d, v1.ResourceName("hugepages-2Mi"), "example.com/tokens", "plain", "bad name/x", "kubernetes.io/odd", "attachable-volumes-x")] = d.quantity()
	}
	return out
}

func (d *Drawer) requirement() v1.NodeSelectorRequirement {
	r := v1.NodeSelectorRequirement{Key: d.key(), Operator: one(d, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists,
		v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt)}
	if d.chance(d.Odd / 2) {
		r.Operator = "Near"
	}
	n := d.r.IntN(3) + 1
	switch r.Operator {
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		n = 1
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		n = 0
	}
	if d.chance(d.Odd / 2) {
		n = d.r.IntN(3)
	}
	for range n {
		r.Values = append(r.Values, d.value())
	}
	return r
}

func (d *Drawer) term() (t v1.NodeSelectorTerm) {
	for range d.r.IntN(3) {
		t.MatchExpressions = append(t.MatchExpressions, d.requirement())
	}
	if d.chance(20) {
		t.MatchFields = []v1.NodeSelectorRequirement{{Key: d.word([]string{"metadata.name"}, "metadata.namespace"), Operator: one(d, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{d.value()}}}
	}
	return t
}

func (d *Drawer) selector() *v1.NodeSelector {
	s := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{d.term()}}
	for d.chance(40) {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, d.term())
	}
	return s
}

func (d *Drawer) labelSelector() *metav1.LabelSelector {
	if d.chance(10) {
		return nil
	}
	s := &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.word([]string{"a", "b"}, "x y", "")}}
	if d.chance(30) {
		s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: d.word([]string{"app"}, "bad key"), Operator: metav1.LabelSelectorOpNotIn, Values: []string{d.word([]string{"c"}, "x y")}}}
	}
	return s
}

func (d *Drawer) podTerm() v1.PodAffinityTerm {
	return v1.PodAffinityTerm{TopologyKey: d.word([]string{"zone", v1.LabelHostname}, "", "bad key"), LabelSelector: d.labelSelector(),
		Namespaces: one(d, nil, nil, []string{"default", "other"})}
}

func meta(kind, version, namespace, name string) (metav1.TypeMeta, metav1.ObjectMeta) {
	return metav1.TypeMeta{Kind: kind, APIVersion: version}, metav1.ObjectMeta{Name: name, Namespace: namespace}
}

// Object draws an object of a kind.
func (d *Drawer) Object(kind string, i int) runtime.Object {
	name := fmt.Sprintf("%s-%d", map[string]string{"Node": "n", "Pod": "p", "StorageClass": "s", "DeviceClass": "c"}[kind]+"x", i)
	switch kind {
	case "Node":
		return d.node(fmt.Sprintf("n-%d", i))
	case "Pod":
		return d.pod(fmt.Sprintf("p-%d", i))
	case "PersistentVolume":
		v := &v1.PersistentVolume{}
		v.TypeMeta, v.ObjectMeta = meta(kind, "v1", "", name)
		v.Spec = v1.PersistentVolumeSpec{Capacity: v1.ResourceList{v1.ResourceStorage: d.quantity()}, AccessModes: []v1.PersistentVolumeAccessMode{v1.PersistentVolumeAccessMode(d.word([]string{"ReadWriteOnce", "ReadWriteMany"}, "Sometimes"))},
			StorageClassName: "s-0", PersistentVolumeSource: v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "x", Path: "/"}}}
		if d.chance(60) {
			v.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: d.selector()}
		}
		return v
	case "PersistentVolumeClaim":
		c := &v1.PersistentVolumeClaim{}
		c.TypeMeta, c.ObjectMeta = meta(kind, "v1", "default", fmt.Sprintf("data-%d", i))
		class := d.word([]string{"s-0", "s-1", ""}, "bad name")
		c.Spec = v1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Selector: one(d, nil, nil, d.labelSelector()),
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: d.quantity()}}}
		return c
	case "StorageClass":
		return d.class(fmt.Sprintf("s-%d", i))
	case "CSIStorageCapacity":
		c := &storagev1.CSIStorageCapacity{StorageClassName: d.word([]string{"s-0", "s-1"}, ""), NodeTopology: d.labelSelector()}
		c.TypeMeta, c.ObjectMeta = meta(kind, "storage.k8s.io/v1", "default", name)
		q, most := d.quantity(), d.quantity()
		c.Capacity, c.MaximumVolumeSize = one(d, nil, &q, &q), one(d, nil, &most)
		return c
	case "DeviceClass":
		c := &resourcev1.DeviceClass{}
		c.TypeMeta, c.ObjectMeta = meta(kind, "resource.k8s.io/v1", "", fmt.Sprintf("c-%d", i))
		return c
	case "ResourceSlice":
		return d.slice(name)
	case "ResourceClaim":
		return d.claim(fmt.Sprintf("r-%d", i))
	}
	return d.ofPolicy(kind, i)
}

func (d *Drawer) claim(name string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{}
	c.TypeMeta, c.ObjectMeta = meta("ResourceClaim", "resource.k8s.io/v1", "default", name)
	request := resourcev1.ExactDeviceRequest{DeviceClassName: d.word([]string{"c-0", "c-1"}, ""), AllocationMode: one(d, "", resourcev1.DeviceAllocationModeExactCount, resourcev1.DeviceAllocationModeAll)}
	if request.AllocationMode != resourcev1.DeviceAllocationModeAll || d.chance(d.Odd) {
		request.Count = one(d, int64(0), 1, 1, 2)
	}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: d.word([]string{"a"}, "", "A b"), Exactly: &request}}
	return c
}

func (d *Drawer) node(name string) *v1.Node {
	n := &v1.Node{}
	n.TypeMeta, n.ObjectMeta = meta("Node", "v1", "", name)
	if n.Labels = d.labels(); d.chance(70) {
		n.Labels[v1.LabelHostname] = name
	}
	n.Status.Capacity = d.amounts(v1.ResourceCPU, v1.ResourceMemory, "example.com/gpu", v1.ResourceEphemeralStorage)
	n.Status.Capacity[v1.ResourcePods] = resource.MustParse(d.word([]string{"10", "110"}, "0", "1e18"))
	if !d.chance(3 * d.Odd) {
		n.Status.Capacity[v1.ResourceCPU], n.Status.Capacity[v1.ResourceMemory] = resource.MustParse("16"), resource.MustParse("64Gi")
	}
	if d.chance(70) {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	for d.chance(25) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: d.key(), Value: d.value(), Effect: v1.TaintEffect(d.word([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, "Never"))})
	}
	n.Spec.Unschedulable = d.chance(5)
	return n
}

func (d *Drawer) class(name string) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingMode(d.word([]string{"WaitForFirstConsumer", "Immediate"}, "Late"))
	c := &storagev1.StorageClass{Provisioner: d.word([]string{"d.example.com", "kubernetes.io/no-provisioner"}, ""), VolumeBindingMode: one(d, nil, &mode, &mode)}
	c.TypeMeta, c.ObjectMeta = meta("StorageClass", "storage.k8s.io/v1", "", name)
	for d.chance(40) {
		c.AllowedTopologies = append(c.AllowedTopologies, v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: d.key(), Values: []string{d.value()}}}})
	}
	return c
}

func (d *Drawer) slice(name string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: d.word([]string{"d.example.com"}, "", "Bad Driver"),
		Pool: resourcev1.ResourcePool{Name: d.word([]string{"n-0", name}, ""), Generation: 1, ResourceSliceCount: int64(one(d, 1, 1, 1, 0))}}}
	s.TypeMeta, s.ObjectMeta = meta("ResourceSlice", "resource.k8s.io/v1", "", name)
	node, all := one(d, "n-0", "n-1"), true
	switch d.r.IntN(3) {
	case 0:
		s.Spec.NodeName = &node
	case 1:
		s.Spec.NodeSelector = d.selector()
	default:
		s.Spec.AllNodes = &all
	}
	for i := range d.r.IntN(3) {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: d.word([]string{fmt.Sprintf("d-%d", i)}, "", "D D"),
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: d.quantity()}}})
	}
	return s
}
