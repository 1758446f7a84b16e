package hostplugins_test

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/abi"
)

// The following evaluates pods node by node, by going through all API objects, as the API's
// documentation describes the fields.

// claimNames returns the claims of a pod, optionally with those of ephemeral volumes.
func claimNames(pod *v1.Pod, withEphemeral bool) []string {
	var out []string
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		}
		if v.Ephemeral != nil && withEphemeral {
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// on returns the pods of a node.
func (w *volumeWorld) on(node string) []*v1.Pod {
	var out []*v1.Pod
	for _, p := range w.placed {
		if p.Spec.NodeName == node {
			out = append(out, p)
		}
	}
	return out
}

func unresolvable(reasons ...string) string {
	return inWords(abi.UnschedulableAndUnresolvable, reasons)
}

// perNode evaluates each node.
func (w *volumeWorld) perNode(judge func(n *v1.Node) (abi.Code, []string)) said {
	out := said{pre: "Success"}
	for _, n := range w.nodes {
		code, reasons := judge(n)
		out.nodes = append(out.nodes, inWords(code, reasons))
	}
	return out
}

// sameDisk reports whether two volumes are one disk that two pods must not share.
func sameDisk(a, b *v1.Volume) bool {
	switch {
	case a.GCEPersistentDisk != nil && b.GCEPersistentDisk != nil:
		x, y := a.GCEPersistentDisk, b.GCEPersistentDisk
		return x.PDName == y.PDName && (!x.ReadOnly || !y.ReadOnly)
	case a.AWSElasticBlockStore != nil && b.AWSElasticBlockStore != nil:
		return a.AWSElasticBlockStore.VolumeID == b.AWSElasticBlockStore.VolumeID
	case a.ISCSI != nil && b.ISCSI != nil:
		return a.ISCSI.IQN == b.ISCSI.IQN && (!a.ISCSI.ReadOnly || !b.ISCSI.ReadOnly)
	case a.RBD != nil && b.RBD != nil:
		shared := false
		for _, m := range a.RBD.CephMonitors {
			shared = shared || slices.Contains(b.RBD.CephMonitors, m)
		}
		return shared && a.RBD.RBDPool == b.RBD.RBDPool && a.RBD.RBDImage == b.RBD.RBDImage && (!a.RBD.ReadOnly || !b.RBD.ReadOnly)
	}
	return false
}

func (w *volumeWorld) bruteRestrictions(pod *v1.Pod) said {
	exclusive, inUse := false, false
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		exclusive = exclusive || v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.ISCSI != nil || v.RBD != nil
	}
	for _, name := range claimNames(pod, false) {
		claim := named(w.claims, pod.Namespace, name)
		if claim == nil {
			return said{pre: unresolvable(fmt.Sprintf("persistentvolumeclaim %q not found", name))}
		}
		if !slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod) {
			continue
		}
		for _, n := range w.nodes {
			for _, other := range w.on(n.Name) {
				inUse = inUse || other.Namespace == pod.Namespace && slices.Contains(claimNames(other, false), name)
			}
		}
	}
	if !exclusive && !inUse {
		return said{pre: inWords(abi.Skip, nil)}
	}
	return w.perNode(func(n *v1.Node) (abi.Code, []string) {
		for _, other := range w.on(n.Name) {
			for i := range pod.Spec.Volumes {
				for j := range other.Spec.Volumes {
					if sameDisk(&pod.Spec.Volumes[i], &other.Spec.Volumes[j]) {
						return abi.Unschedulable, []string{"node(s) had no available disk"}
					}
				}
			}
		}
		if inUse {
			return abi.Unschedulable, []string{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"}
		}
		return abi.Success, nil
	})
}

func classOf(claim *v1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations["volume.beta.kubernetes.io/storage-class"]; ok {
		return name
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}

func (w *volumeWorld) bruteZone(pod *v1.Pod) said {
	var volumes []*v1.PersistentVolume
	for _, name := range claimNames(pod, false) {
		if name == "" {
			return said{pre: unresolvable("PersistentVolumeClaim had no name")}
		}
		claim := named(w.claims, pod.Namespace, name)
		if claim == nil {
			return said{pre: unresolvable(fmt.Sprintf("persistentvolumeclaim %q not found", name))}
		}
		if claim.Spec.VolumeName == "" {
			class := named(w.classes, "", classOf(claim))
			switch {
			case classOf(claim) == "":
				return said{pre: unresolvable("PersistentVolumeClaim had no pv name and storageClass name")}
			case class == nil:
				return said{pre: unresolvable(fmt.Sprintf("storageclass.storage.k8s.io %q not found", classOf(claim)))}
			case class.VolumeBindingMode == nil:
				return said{pre: unresolvable(fmt.Sprintf("VolumeBindingMode not set for StorageClass %q", class.Name))}
			case *class.VolumeBindingMode == storagev1.VolumeBindingImmediate:
				return said{pre: unresolvable("PersistentVolume had no name")}
			}
			continue
		}
		pv := named(w.volumes, "", claim.Spec.VolumeName)
		if pv == nil {
			return said{pre: unresolvable(fmt.Sprintf("persistentvolume %q not found", claim.Spec.VolumeName))}
		}
		volumes = append(volumes, pv)
	}
	keys := []string{
		"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
	}
	any := false
	allowed := func(pv *v1.PersistentVolume, key string) []string {
		value, ok := pv.Labels[key]
		if !ok {
			return nil
		}
		list := strings.Split(value, "__")
		for i := range list {
			if list[i] = strings.TrimSpace(list[i]); list[i] == "" {
				return nil
			}
		}
		return list
	}
	for _, pv := range volumes {
		for _, key := range keys {
			any = any || allowed(pv, key) != nil
		}
	}
	if !any {
		return said{pre: inWords(abi.Skip, nil)}
	}
	return w.perNode(func(n *v1.Node) (abi.Code, []string) {
		zoned := false
		for _, key := range keys {
			_, ok := n.Labels[key]
			zoned = zoned || ok
		}
		for _, pv := range volumes {
			for _, key := range keys {
				list := allowed(pv, key)
				if list == nil || !zoned {
					continue
				}
				value, ok := n.Labels[key]
				if !ok {
					value, ok = n.Labels[strings.Replace(key, "failure-domain.beta.kubernetes.io", "topology.kubernetes.io", 1)]
				}
				if !ok || !slices.Contains(list, value) {
					return abi.UnschedulableAndUnresolvable, []string{"node(s) had no available volume zone"}
				}
			}
		}
		return abi.Success, nil
	})
}

// onDriver is a volume as "driver/handle", and its driver.
type onDriver map[string]string

func servedInTree(name string) bool {
	return slices.Contains([]string{
		"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk", "kubernetes.io/cinder", "kubernetes.io/portworx-volume",
	}, name)
}

// attachments adds the volumes of a pod that are attached to a node.
func (w *volumeWorld) attachments(pod *v1.Pod, csiNode *storagev1.CSINode, incoming bool, out onDriver) (missing bool, err error) {
	translator := csitranslation.New()
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim == nil && v.Ephemeral == nil {
			if !translator.IsInlineMigratable(v) || csiNode == nil {
				continue
			}
			if name, _ := translator.GetInTreePluginNameFromSpec(nil, v); !servedInTree(name) {
				continue
			}
			pv, err := translator.TranslateInTreeInlineVolumeToCSI(klog.Logger{}, v, pod.Namespace)
			if err != nil {
				return false, fmt.Errorf("converting volume(%s) from inline to csi: %w", v.Name, err)
			}
			out[pv.Spec.CSI.Driver+"/"+pv.Spec.CSI.VolumeHandle] = pv.Spec.CSI.Driver
			continue
		}
		name := pod.Name + "-" + v.Name
		if v.PersistentVolumeClaim != nil {
			name = v.PersistentVolumeClaim.ClaimName
		}
		claim := named(w.claims, pod.Namespace, name)
		switch {
		case name == "":
			return false, fmt.Errorf("PersistentVolumeClaim had no name")
		case claim == nil && incoming:
			return true, fmt.Errorf("looking up PVC %s/%s: persistentvolumeclaim %q not found", pod.Namespace, name, name)
		case claim == nil:
			continue
		case v.Ephemeral != nil && !metav1.IsControlledBy(claim, pod):
			return false, fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name)
		}
		if driver, handle := w.driverOf(claim, csiNode); driver != "" && handle != "" {
			out[driver+"/"+handle] = driver
		}
	}
	return false, nil
}

// driverOf returns the driver that serves the volume of a claim, or will, and its handle.
func (w *volumeWorld) driverOf(claim *v1.PersistentVolumeClaim, csiNode *storagev1.CSINode) (driver, handle string) {
	translator := csitranslation.New()
	if pv := named(w.volumes, "", claim.Spec.VolumeName); claim.Spec.VolumeName != "" && pv != nil {
		if pv.Spec.CSI != nil {
			return pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle
		}
		name, err := translator.GetInTreePluginNameFromSpec(pv, nil)
		if err != nil || !servedInTree(name) || csiNode == nil {
			return "", ""
		}
		csi, err := translator.TranslateInTreePVToCSI(klog.Logger{}, pv)
		if err != nil {
			return "", ""
		}
		return csi.Spec.CSI.Driver, csi.Spec.CSI.VolumeHandle
	}
	class := named(w.classes, "", classOf(claim))
	if classOf(claim) == "" || class == nil {
		return "", ""
	}
	driver, handle = class.Provisioner, "unbound "+claim.Namespace+"/"+claim.Name
	if translator.IsMigratableIntreePluginByName(driver) {
		if !servedInTree(driver) || csiNode == nil {
			return "", ""
		}
		driver, _ = translator.GetCSINameFromInTreeName(driver)
	}
	return driver, handle
}

func (w *volumeWorld) bruteLimits(pod *v1.Pod) said {
	might := len(claimNames(pod, true)) > 0
	for i := range pod.Spec.Volumes {
		might = might || csitranslation.New().IsInlineMigratable(&pod.Spec.Volumes[i])
	}
	if !might {
		return said{pre: inWords(abi.Skip, nil)}
	}
	return w.perNode(func(n *v1.Node) (abi.Code, []string) {
		csiNode := named(w.csiNodes, "", n.Name)
		fresh, used, counted := onDriver{}, onDriver{}, onDriver{}
		if missing, err := w.attachments(pod, csiNode, true, fresh); err != nil {
			if missing {
				return abi.UnschedulableAndUnresolvable, []string{err.Error()}
			}
			return abi.Error, []string{err.Error()}
		}
		limits := map[string]int{}
		if csiNode != nil {
			for _, d := range csiNode.Spec.Drivers {
				if d.Allocatable != nil && d.Allocatable.Count != nil {
					limits[d.Name] = int(*d.Allocatable.Count)
				}
			}
		}
		if len(fresh) == 0 || len(limits) == 0 {
			return abi.Success, nil
		}
		for _, other := range w.on(n.Name) {
			if _, err := w.attachments(other, csiNode, false, used); err != nil {
				return abi.Error, []string{err.Error()}
			}
		}
		for id, driver := range used {
			counted[id] = driver
			delete(fresh, id)
		}
		for _, va := range w.attached {
			if va.Spec.NodeName != n.Name || va.Spec.Attacher == "" || va.Spec.Source.PersistentVolumeName == nil {
				continue
			}
			if pv := named(w.volumes, "", *va.Spec.Source.PersistentVolumeName); pv != nil && pv.Spec.CSI != nil {
				counted[va.Spec.Attacher+"/"+pv.Spec.CSI.VolumeHandle] = va.Spec.Attacher
			}
		}
		for driver, limit := range limits {
			there, more := 0, 0
			for _, d := range counted {
				if d == driver {
					there++
				}
			}
			for _, d := range fresh {
				if d == driver {
					more++
				}
			}
			if more > 0 && there+more > limit {
				return abi.Unschedulable, []string{"node(s) exceed max volume count"}
			}
		}
		return abi.Success, nil
	})
}
