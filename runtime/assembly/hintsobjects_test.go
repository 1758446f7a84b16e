package assembly

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	csiDriver = "csi.example.com"
	gpuDriver = "gpu.example.com"
)

// volumes draws a pod's volumes.
func (d draw) volumes(p *v1.Pod) {
	for i := range 1 + d.IntN(2) {
		v := v1.Volume{Name: fmt.Sprintf("v%d", i)}
		switch d.IntN(6) {
		case 0:
			v.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: d.pick("d1", "d2"), ReadOnly: d.chance(30)}
		case 1:
			v.Ephemeral = &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}
		default:
			v.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("c%d", d.IntN(3))}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
}

// claims draws a pod's resource claims.
func (d draw) claims(p *v1.Pod) {
	c := v1.PodResourceClaim{Name: "gpu", ResourceClaimName: ptr.To(fmt.Sprintf("r%d", d.IntN(3)))}
	if d.chance(20) {
		c.ResourceClaimName, c.ResourceClaimTemplateName = nil, ptr.To("template")
	}
	p.Spec.ResourceClaims = []v1.PodResourceClaim{c}
}

// generated is what a controller writes into the status of a pod with a claim from a template.
func generated(p *v1.Pod) (out []v1.PodResourceClaimStatus) {
	for i := range p.Spec.ResourceClaims {
		if p.Spec.ResourceClaims[i].ResourceClaimTemplateName != nil {
			out = append(out, v1.PodResourceClaimStatus{Name: p.Spec.ResourceClaims[i].Name, ResourceClaimName: ptr.To("r0")})
		}
	}
	return out
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)}
}

// objectHappens adds, changes or deletes an object that is neither a node nor a pod nor a namespace. It reports false if
// it did nothing.
func (w *hintWorld) objectHappens() bool {
	kinds := []func(was metav1.Object, key string) metav1.Object{
		w.volume, w.claim, w.claim, w.class, w.csiNode, w.csiNode, w.csiDriver, w.capacity, w.attachment, w.resourceClaim, w.resourceClaim, w.slice, w.deviceClass,
	}
	kind := w.IntN(len(kinds))
	key := fmt.Sprintf("%d/%d", kind, w.IntN(5))
	was := w.others[key]
	if was != nil && w.chance(25) {
		w.told(fmt.Sprintf("%T deleted", was), was, nil)
		delete(w.others, key)
		w.loop.Scheduler.DeleteObject(was)
		return true
	}
	now := kinds[kind](was, key[len(key)-1:])
	if now == nil {
		return false
	}
	now.SetResourceVersion(fmt.Sprint(len(w.story) + 1))
	w.told(fmt.Sprintf("%T %s", now, addedOr(was)), was, now)
	w.others[key] = now
	w.loop.Scheduler.SetObject(now)
	return true
}

func (w *hintWorld) volume(was metav1.Object, key string) metav1.Object {
	now := &v1.PersistentVolume{ObjectMeta: named("", "v"+key)}
	if old, ok := was.(*v1.PersistentVolume); ok {
		now = old.DeepCopy()
	} else {
		now.Spec = v1.PersistentVolumeSpec{
			Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOncePod},
			StorageClassName: w.pick("local", "csi"), PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: "h" + key}},
		}
		if w.chance(50) {
			now.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{w.pick("a", "b")}}},
			}}}}
		}
	}
	now.Labels = map[string]string{}
	w.label(now.Labels, v1.LabelTopologyZone, "a", "b", "a__b", "", "")
	now.Spec.ClaimRef = nil
	now.Status.Phase = v1.VolumeAvailable
	if w.chance(50) {
		claim := fmt.Sprintf("c%d", w.IntN(3))
		now.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "ns", Name: claim, UID: named("ns", claim).UID}
		now.Status.Phase = v1.VolumeBound
	}
	return now
}

func (w *hintWorld) claim(was metav1.Object, key string) metav1.Object {
	name := fmt.Sprintf("c%d", key[0]%3)
	now := &v1.PersistentVolumeClaim{ObjectMeta: named("ns", name)}
	if w.chance(25) && was == nil { // of an ephemeral volume
		pod := fmt.Sprintf("p%d", w.IntN(len(w.pending)+1))
		now.ObjectMeta = named("ns", pod+"-v0")
		now.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(pod), Controller: ptr.To(true)}}
	}
	if old, ok := was.(*v1.PersistentVolumeClaim); ok {
		now = old.DeepCopy()
	} else {
		for _, o := range w.others { // two keys share a name
			if c, ok := o.(*v1.PersistentVolumeClaim); ok && c.Name == now.Name {
				return nil
			}
		}
		now.Spec = v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.PersistentVolumeAccessMode(w.pick("ReadWriteOnce", "ReadWriteOncePod"))}, StorageClassName: ptr.To(w.pick("local", "csi", "imm", "topo")),
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		}
	}
	if volume := fmt.Sprintf("v%d", w.IntN(5)); now.Spec.VolumeName == "" && w.chance(60) && !w.claimed(volume) {
		now.Spec.VolumeName = volume
	}
	now.Annotations = nil
	if now.Spec.VolumeName != "" && w.chance(80) {
		now.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		now.Status.Phase = v1.ClaimBound
	}
	return now
}

// claimed reports whether a claim is bound to a volume.
func (w *hintWorld) claimed(volume string) bool {
	for _, o := range w.others {
		if c, ok := o.(*v1.PersistentVolumeClaim); ok && c.Spec.VolumeName == volume {
			return true
		}
	}
	return false
}

func (w *hintWorld) class(was metav1.Object, key string) metav1.Object {
	name := []string{"local", "csi", "imm", "topo", "csi"}[key[0]%5]
	now := &storagev1.StorageClass{ObjectMeta: named("", name), Provisioner: csiDriver, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)}
	switch name {
	case "local":
		now.Provisioner = "kubernetes.io/no-provisioner"
	case "imm":
		now.VolumeBindingMode = ptr.To(storagev1.VolumeBindingImmediate)
	case "topo":
		if w.chance(80) {
			now.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelTopologyZone, Values: []string{w.pick("a", "b")}}}}}
		}
	}
	if was == nil && key[0]%5 == 4 {
		return nil
	}
	return now
}

func (w *hintWorld) csiNode(was metav1.Object, key string) metav1.Object {
	now := &storagev1.CSINode{ObjectMeta: named("", "n"+key)}
	if w.chance(60) {
		now.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/gce-pd"}
	}
	for _, driver := range []string{csiDriver, "pd.csi.storage.gke.io"} {
		if w.chance(70) {
			d := storagev1.CSINodeDriver{Name: driver, NodeID: now.Name}
			if w.chance(80) {
				d.Allocatable = &storagev1.VolumeNodeResources{Count: ptr.To(int32(w.IntN(3)))}
			}
			now.Spec.Drivers = append(now.Spec.Drivers, d)
		}
	}
	for _, o := range w.others {
		if c, ok := o.(*storagev1.CSINode); ok && o != was && c.Name == now.Name {
			return nil
		}
	}
	return now
}

func (w *hintWorld) csiDriver(_ metav1.Object, key string) metav1.Object {
	if key != "0" {
		return nil
	}
	return &storagev1.CSIDriver{ObjectMeta: named("", csiDriver), Spec: storagev1.CSIDriverSpec{StorageCapacity: ptr.To(w.chance(70))}}
}

func (w *hintWorld) capacity(was metav1.Object, key string) metav1.Object {
	now := &storagev1.CSIStorageCapacity{ObjectMeta: named("kube-system", "s"+key)}
	if old, ok := was.(*storagev1.CSIStorageCapacity); ok {
		now = old.DeepCopy()
	} else {
		now.StorageClassName = w.pick("csi", "topo")
		now.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: w.pick("a", "b")}}
	}
	now.Capacity = ptr.To(resource.MustParse(w.pick("512Mi", "2Gi", "3Gi")))
	now.MaximumVolumeSize = nil
	if w.chance(30) {
		now.MaximumVolumeSize = ptr.To(resource.MustParse(w.pick("512Mi", "2Gi")))
	}
	return now
}

func (w *hintWorld) attachment(was metav1.Object, key string) metav1.Object {
	if was != nil {
		return nil // its spec does not change
	}
	return &storagev1.VolumeAttachment{ObjectMeta: named("", "a"+key), Spec: storagev1.VolumeAttachmentSpec{
		Attacher: csiDriver, NodeName: fmt.Sprintf("n%d", w.IntN(5)), Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(fmt.Sprintf("v%d", w.IntN(5)))},
	}}
}

func (w *hintWorld) deviceClass(_ metav1.Object, key string) metav1.Object {
	if key > "1" {
		return nil
	}
	now := &resourcev1.DeviceClass{ObjectMeta: named("", "gpu"+key)}
	now.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", gpuDriver)}}}
	if w.chance(40) {
		now.Spec.ExtendedResourceName = ptr.To("example.com/gpu")
	}
	return now
}

func (w *hintWorld) slice(was metav1.Object, key string) metav1.Object {
	node := fmt.Sprintf("n%d", w.IntN(3))
	now := &resourcev1.ResourceSlice{ObjectMeta: named("", "slice"+key)}
	now.Spec = resourcev1.ResourceSliceSpec{Driver: gpuDriver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}
	if old, ok := was.(*resourcev1.ResourceSlice); ok {
		now = old.DeepCopy()
		now.Spec.Devices = nil
	}
	now.Spec.Pool.Generation = int64(1 + w.IntN(2))
	now.Spec.Pool.ResourceSliceCount = int64(1 + w.IntN(10)/8)
	for i := range w.IntN(3) {
		d := resourcev1.Device{Name: fmt.Sprintf("d%d", i)}
		if w.chance(20) {
			d.Taints = []resourcev1.DeviceTaint{{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
		}
		now.Spec.Devices = append(now.Spec.Devices, d)
	}
	return now
}

func (w *hintWorld) resourceClaim(was metav1.Object, key string) metav1.Object {
	name := fmt.Sprintf("r%d", key[0]%3)
	now := &resourcev1.ResourceClaim{ObjectMeta: named("ns", name)}
	if old, ok := was.(*resourcev1.ResourceClaim); ok {
		now = old.DeepCopy()
	} else {
		for _, o := range w.others {
			if c, ok := o.(*resourcev1.ResourceClaim); ok && c.Name == name {
				return nil
			}
		}
		now.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: "gpu" + w.pick("0", "1"), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + w.IntN(2)),
		}}}
	}
	now.Status = resourcev1.ResourceClaimStatus{}
	if w.chance(50) {
		node := fmt.Sprintf("n%d", w.IntN(3))
		now.Status.Allocation = &resourcev1.AllocationResult{
			NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}},
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{
				Request: "gpu", Driver: gpuDriver, Pool: node, Device: fmt.Sprintf("d%d", w.IntN(2)),
			}}},
			AllocationTimestamp: &metav1.Time{},
		}
		for i := range w.IntN(2) {
			now.Status.ReservedFor = append(now.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: fmt.Sprint("o", i), UID: types.UID(fmt.Sprint("o", i))})
		}
	}
	return now
}

func addedOr(was metav1.Object) string {
	if was == nil {
		return "added"
	}
	return "changed"
}
