package generate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

const driver, otherDriver = "csi.example.com", "other.csi.example.com"

// storage is the existing volume objects while a scenario is drawn.
type storage struct {
	volumes []*v1.PersistentVolume
	claims  []*v1.PersistentVolumeClaim
	drawn   bool
}

func (s *storage) begin(g *Generator, nodes []string, o *scenario.Objects) {
	if !g.has(Volumes) && !g.has(Disks) {
		return
	}
	s.drawn = true
	o.StorageClasses = classes(g)
	for _, name := range some(g, 2, driver, otherDriver) {
		d := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if g.chance(0.6) {
			yes := g.chance(0.8)
			d.Spec.StorageCapacity = &yes
		}
		if name == driver && g.chance(0.3) { // of several drivers that a node lacks, kube-scheduler names any
			d.Spec.PreventPodSchedulingIfMissing = new(true)
		}
		o.CSIDrivers = append(o.CSIDrivers, d)
	}
	for i := range g.upTo(4) {
		c := capacity(g, i)
		// Which of several capacities kube-scheduler uses is random, and affects the score.
		same := func(o *storagev1.CSIStorageCapacity) bool {
			return o.StorageClassName == c.StorageClassName && reflect.DeepEqual(o.NodeTopology, c.NodeTopology)
		}
		if !slices.ContainsFunc(o.CSIStorageCapacities, same) {
			o.CSIStorageCapacities = append(o.CSIStorageCapacities, c)
		}
	}
	for i := range 2 + g.upTo(6) {
		s.volumes = append(s.volumes, persistentVolume(g, i, nodes))
	}
	for ns := range numNamespaces {
		for i := range numClaims {
			if g.chance(0.8) {
				s.claims = append(s.claims, s.claim(g, namespace(ns), g.claimName(namespace(ns), i)))
			}
		}
	}
	o.PersistentVolumes, o.PersistentVolumeClaims = s.volumes, s.claims
	for _, node := range nodes {
		if g.chance(0.85) {
			o.CSINodes = append(o.CSINodes, csiNode(g, node))
		}
		if g.chance(0.2) {
			o.VolumeAttachments = append(o.VolumeAttachments, s.attachment(g, node))
		}
	}
}

const numClaims = 4

func classes(g *Generator) []*storagev1.StorageClass {
	class := func(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	}
	zoned := class("wait-zoned", driver, storagev1.VolumeBindingWaitForFirstConsumer)
	zoned.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{
		{Key: v1.LabelTopologyZone, Values: append([]string{"z0"}, some(g, 2, "z1", "z2")...)},
	}}}
	all := []*storagev1.StorageClass{
		class("wait", driver, storagev1.VolumeBindingWaitForFirstConsumer), zoned,
		class("static", volume.NotSupportedProvisioner, storagev1.VolumeBindingWaitForFirstConsumer),
		class("now", driver, storagev1.VolumeBindingImmediate),
		class("ebs", "kubernetes.io/aws-ebs", storagev1.VolumeBindingWaitForFirstConsumer),
	}
	if g.chance(0.2) {
		all = all[:len(all)-1]
	}
	return all
}

func className(g *Generator) string {
	if g.plugin == "VolumeBinding" && g.chance(0.4) { // its volumes can be provisioned, from capacities that score
		return "wait"
	}
	return pick(g, "wait", "wait-zoned", "static", "static", "now", "ebs", "nobody")
}

func capacity(g *Generator, i int) *storagev1.CSIStorageCapacity {
	c := &storagev1.CSIStorageCapacity{ObjectMeta: meta("kube-system", fmt.Sprintf("capacity-%d", i)), StorageClassName: pick(g, "wait", "wait-zoned")}
	c.Capacity = bytes(int64(g.upTo(20)) << 30)
	if g.chance(0.3) {
		c.MaximumVolumeSize = bytes(int64(g.upTo(10)) << 30)
	}
	if g.chance(0.9) {
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: fmt.Sprintf("z%d", g.IntN(4))}}
	}
	return c
}

func persistentVolume(g *Generator, i int, nodes []string) *v1.PersistentVolume {
	v := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pv-%d", i), Labels: map[string]string{}}}
	v.UID = types.UID("uid-" + v.Name)
	v.Spec.StorageClassName = className(g)
	v.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: *bytes(int64(1+g.upTo(9)) << 30)}
	v.Spec.AccessModes = []v1.PersistentVolumeAccessMode{pick(g, v1.ReadWriteOnce, v1.ReadWriteOnce, v1.ReadWriteMany, v1.ReadWriteOncePod)}
	switch g.IntN(4) {
	case 0, 1:
		v.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: pick(g, driver, otherDriver), VolumeHandle: fmt.Sprintf("handle-%d", g.IntN(6))}
	case 2:
		v.Spec.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: fmt.Sprintf("vol-%d", g.IntN(6))}
	case 3:
		v.Spec.Local = &v1.LocalVolumeSource{Path: "/disk"}
	}
	if g.chance(0.5) {
		v.Labels[v1.LabelTopologyZone] = pick(g, "z0", "z1", "z0__z1", "z2")
		if g.chance(0.5) {
			v.Labels[v1.LabelTopologyRegion] = pick(g, "r0", "r1")
		}
	}
	if g.chance(0.1) {
		v.Labels[v1.LabelFailureDomainBetaZone] = pick(g, "z0", "z1")
	}
	if g.chance(0.5) || v.Spec.Local != nil {
		key, values := v1.LabelTopologyZone, []string{"z0", pick(g, "z1", "z2")}
		if v.Spec.Local != nil || g.chance(0.3) {
			key, values = v1.LabelHostname, []string{pick(g, nodes...)}
		}
		v.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}},
		}}}}
	}
	v.Status.Phase = v1.VolumeAvailable
	if g.chance(0.05) {
		v.DeletionTimestamp = &metav1.Time{Time: v.CreationTimestamp.Add(1)}
	}
	return v
}

// claim draws a claim, bound to a volume without a claim, to a volume that does not exist, or
// unbound.
func (s *storage) claim(g *Generator, ns, name string) *v1.PersistentVolumeClaim {
	class := className(g)
	c := &v1.PersistentVolumeClaim{ObjectMeta: meta(ns, name)}
	c.UID = types.UID("uid-" + ns + "-" + name)
	c.Spec.StorageClassName = &class
	if g.chance(0.04) {
		c.Spec.StorageClassName = nil
	}
	c.Spec.AccessModes = g.accessModes(name)
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: *bytes(int64(1+g.upTo(9)) << 30)}
	c.Status.Phase = v1.ClaimPending
	if g.chance(0.1) {
		c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: "z0"}}
	}
	if g.chance(0.05) {
		c.Annotations = map[string]string{volume.AnnSelectedNode: "n1"}
	}
	if !g.chance(0.55) {
		return c
	}
	var free []*v1.PersistentVolume
	for _, v := range s.volumes {
		if v.Spec.ClaimRef == nil {
			free = append(free, v)
		}
	}
	if len(free) == 0 || g.chance(0.08) {
		c.Spec.VolumeName = "pv-gone"
	} else {
		v := pick(g, free...)
		v.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: ns, Name: name, UID: c.UID}
		v.Status.Phase = v1.VolumeBound
		c.Spec.VolumeName = v.Name
		class = v.Spec.StorageClassName
	}
	if g.chance(0.9) {
		c.Annotations = map[string]string{volume.AnnBindCompleted: "yes"}
		c.Status.Phase = v1.ClaimBound
	}
	if g.chance(0.04) {
		c.Status.Phase = v1.ClaimLost
	}
	if g.chance(0.04) {
		c.DeletionTimestamp = &metav1.Time{Time: c.CreationTimestamp.Add(1)}
	}
	return c
}

func csiNode(g *Generator, node string) *storagev1.CSINode {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
	if g.chance(0.4) {
		n.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: pick(g, "kubernetes.io/aws-ebs", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd")}
	}
	for _, name := range some(g, 3, driver, otherDriver, "ebs.csi.aws.com") {
		d := storagev1.CSINodeDriver{Name: name, NodeID: node, TopologyKeys: []string{v1.LabelTopologyZone}}
		if g.chance(0.8) {
			count := int32(g.upTo(3))
			d.Allocatable = &storagev1.VolumeNodeResources{Count: &count}
		}
		n.Spec.Drivers = append(n.Spec.Drivers, d)
	}
	return n
}

func (s *storage) attachment(g *Generator, node string) *storagev1.VolumeAttachment {
	v := pick(g, s.volumes...)
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "attached-" + v.Name + "-" + node},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: pick(g, driver, otherDriver), NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &v.Name}},
		Status:     storagev1.VolumeAttachmentStatus{Attached: g.chance(0.8)},
	}
}

// volumes draws the volumes of a pod.
func (g *Generator) volumes(p *v1.Pod) {
	add := func(source v1.VolumeSource) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: fmt.Sprintf("v%d", len(p.Spec.Volumes)), VolumeSource: source})
	}
	if g.has(Volumes) {
		for _, i := range some(g, 3, 0, 1, 2, 3) {
			add(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: g.claimName(p.Namespace, i)}})
		}
		if g.chance(0.1) {
			add(v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}})
		}
		if g.chance(0.1) {
			add(v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: driver}})
		}
	}
	if g.has(Disks) {
		g.disk(add)
	}
	if g.has(Images) && g.chance(0.2) { // KEP-4639
		add(v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: imageName(g.IntN(6))}})
	}
}

func (g *Generator) disk(add func(v1.VolumeSource)) {
	readOnly := g.chance(0.4)
	switch g.IntN(5) {
	case 0:
		add(v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: pick(g, "a", "b"), ReadOnly: readOnly}})
	case 1:
		add(v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(g, "vol-0", "vol-1"), ReadOnly: readOnly}})
	case 2:
		add(v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{IQN: pick(g, "iqn-a", "iqn-b"), TargetPortal: "10.0.0.1", Lun: int32(g.IntN(2)), ReadOnly: readOnly}})
	case 3:
		add(v1.VolumeSource{RBD: &v1.RBDVolumeSource{
			CephMonitors: some(g, 2, "m1", "m2", "m3"), RBDPool: pick(g, "rbd", "other"), RBDImage: pick(g, "a", "b"), ReadOnly: readOnly,
		}})
	case 4:
		add(v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "config"}}})
	}
}

// forOne reports whether a claim may have the access mode ReadWriteOncePod.
func forOne(claim string) bool {
	return strings.HasPrefix(claim, "claim-2") || strings.HasPrefix(claim, "claim-3")
}

func (g *Generator) accessModes(claim string) []v1.PersistentVolumeAccessMode {
	if forOne(claim) && g.chance(0.6) {
		return []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	}
	return []v1.PersistentVolumeAccessMode{pick(g, v1.ReadWriteOnce, v1.ReadWriteOnce, v1.ReadWriteMany)}
}

// claimName draws the name of a claim. kube-scheduler's VolumeRestrictions sometimes confuses
// claims of one name in different namespaces; this is listed, but would affect whole decisions.
func (g *Generator) claimName(namespace string, i int) string {
	if g.plugin == "" {
		return fmt.Sprintf("claim-%d-%s", i, namespace)
	}
	return fmt.Sprintf("claim-%d", i)
}
