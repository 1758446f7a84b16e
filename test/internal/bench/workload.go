// Package bench compares the speed of Berth's plugins with that of kube-scheduler's in one
// process: what a plugin does for one pod, from PreFilter to NormalizeScore, over all nodes of
// a cluster, each on its own scheduler's snapshot, on one goroutine.
package bench

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// PodsPerNode is the number of pods on each node.
const PodsPerNode = 10

// Incoming is the number of distinct pods that are scheduled in turn.
const Incoming = 64

const (
	zones  = 3
	apps   = 100
	driver = "csi.example.com"
)

// Cluster is a cluster of nodes in three zones, each with ten pods of a hundred applications.
// One in ten of the pods has anti-affinity to others of its application on the node, one in
// five has a host port, half have a volume. One in four nodes has taints, all have images and
// 20 labels. Unbound claims have a class without volumes: kube-scheduler visits all volumes of
// the class for each node, which would be most of what is measured.
func Cluster(nodes int) scenario.Objects {
	var o scenario.Objects
	o.Namespaces = []*v1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	for _, name := range []string{"used", "fresh"} {
		o.StorageClasses = append(o.StorageClasses, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver, VolumeBindingMode: &wait})
	}
	for i := range nodes {
		o.Nodes = append(o.Nodes, node(i))
		limit := int32(20)
		o.CSINodes = append(o.CSINodes, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
				Name: driver, NodeID: nodeName(i), Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
			}}},
		})
		for j := range PodsPerNode {
			o.Pods = append(o.Pods, placed(i, j))
			if j%2 == 0 {
				bound(&o, fmt.Sprintf("data-%d-%d", i, j), i%zones)
			}
		}
	}
	for i := range Incoming {
		bound(&o, fmt.Sprintf("bound-%d", i), i%zones)
		o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, claim(fmt.Sprintf("free-%d", i), "fresh"))
	}
	return o
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

func node(i int) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: types.UID(nodeName(i)), Labels: map[string]string{
		v1.LabelHostname: nodeName(i), v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%zones), v1.LabelTopologyRegion: "region",
	}}}
	for j := range 17 {
		n.Labels[fmt.Sprintf("example.com/label-%02d", j)] = fmt.Sprintf("value-%d", (i+j)%8)
	}
	if i%4 == 0 {
		n.Spec.Taints = []v1.Taint{{Key: "example.com/pool", Value: "batch", Effect: v1.TaintEffectNoSchedule}}
	}
	if i%4 == 1 {
		n.Spec.Taints = []v1.Taint{{Key: "example.com/busy", Effect: v1.TaintEffectPreferNoSchedule}}
	}
	n.Spec.Unschedulable = i%50 == 0
	n.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("16"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
		v1.ResourceEphemeralStorage: resource.MustParse("100Gi"), "example.com/gpu": resource.MustParse("4"),
	}
	for j := range 20 {
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{image((i + j*j) % 40)}, SizeBytes: int64(50+(i+j*j)%40*10) << 20})
	}
	n.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
	if i%2 == 0 {
		n.Status.DeclaredFeatures = append(n.Status.DeclaredFeatures, "UserNamespacesHostNetworkSupport")
	}
	return n
}

func image(i int) string { return fmt.Sprintf("example.com/image-%02d:v1", i) }

func pod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{}},
		Spec:       v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "c", Image: image(0)}}},
	}
}

func request(p *v1.Pod, milliCPU, mebibytes int64) {
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
	}
}

func placed(i, j int) *v1.Pod {
	p := pod(fmt.Sprintf("placed-%d-%d", i, j))
	p.Spec.NodeName = nodeName(i)
	app := (i*7 + j*13) % apps
	p.Labels["app"], p.Labels["tier"] = fmt.Sprintf("app-%d", app), fmt.Sprintf("tier-%d", app%4)
	request(p, int64(500+(i*31+j*17)%1200), int64(1024+(i*11+j*29)%6000))
	if j == 0 {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term(p, v1.LabelHostname)}}}
	}
	if j == 1 {
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: 10, PodAffinityTerm: term(p, v1.LabelTopologyZone)},
		}}}
	}
	if j%5 == 2 {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: int32(8000 + (i+j)%10), ContainerPort: 80, Protocol: v1.ProtocolTCP}}
	}
	if j%2 == 0 {
		mount(p, fmt.Sprintf("data-%d-%d", i, j))
	}
	if j == 9 {
		disk(p, i%200)
	}
	return p
}

func term(p *v1.Pod, key string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}, TopologyKey: key}
}

func mount(p *v1.Pod, claim string) {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{
		Name: claim, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}},
	})
}

func disk(p *v1.Pod, i int) {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{
		Name: "disk", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: fmt.Sprintf("disk-%d", i)}},
	})
}

func claim(name, class string) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	c.Spec.StorageClassName, c.Spec.AccessModes = &class, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	return c
}

// bound adds a claim that is bound to a volume of a zone.
func bound(o *scenario.Objects, name string, zone int) {
	c := claim(name, "used")
	c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	c.Spec.VolumeName, c.Status.Phase = "pv-"+name, v1.ClaimBound
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{
		Name: c.Spec.VolumeName, UID: types.UID(c.Spec.VolumeName), Labels: map[string]string{v1.LabelTopologyZone: fmt.Sprintf("zone-%d", zone)},
	}}
	pv.Spec.StorageClassName, pv.Spec.AccessModes = "used", c.Spec.AccessModes
	pv.Spec.Capacity = c.Spec.Resources.Requests
	pv.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: name, UID: c.UID}
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("zone-%d", zone)}}},
	}}}}
	pv.Status.Phase = v1.VolumeBound
	o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, c)
	o.PersistentVolumes = append(o.PersistentVolumes, pv)
}
