package sim

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
	csitranslation "k8s.io/csi-translation-lib"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

const annSelectedNode = volume.AnnSelectedNode

// settle does for a claim what the controllers would do.
func (v *volumes) settle(name types.NamespacedName) {
	claim := v.store.Claim(name.Namespace, name.Name)
	if claim == nil || claim.Spec.VolumeName != "" && metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted) {
		return
	}
	if claim.Spec.VolumeName != "" {
		pv := v.store.Volume(claim.Spec.VolumeName)
		if pv != nil && (pv.Spec.ClaimRef == nil || volume.IsVolumeBoundToClaim(pv, claim)) {
			v.bind(claim, pv)
		}
		return
	}
	className := volume.GetPersistentVolumeClaimClass(claim)
	class := v.store.StorageClass(className)
	waits := class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	var of []*v1.PersistentVolume
	for _, pv := range v.store.VolumesOf(className) {
		if volume.CheckAccessModes(claim, pv) || volume.IsVolumeBoundToClaim(pv, claim) {
			of = append(of, pv)
		}
	}
	// Without a node, the search finds volumes that name the claim and, if the claim does not
	// wait for a pod, any suitable volume.
	pv, err := volume.FindMatchingVolume(claim, of, nil, nil, waits, true)
	node := v.nodes[claim.Annotations[annSelectedNode]]
	switch {
	case err != nil: // a claim that the controllers would not understand
	case pv != nil:
		v.bind(claim, pv)
	case class == nil || class.Provisioner == "" || class.Provisioner == volume.NotSupportedProvisioner:
	case !waits:
		v.provision(claim, class, nil)
	case node != nil:
		v.provision(claim, class, node)
	}
}

// bind binds a volume and a claim to each other.
func (v *volumes) bind(claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) {
	pv, claim = pv.DeepCopy(), claim.DeepCopy()
	pv.Spec.ClaimRef = &v1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	pv.Status.Phase = v1.VolumeBound
	v.write(pv)
	claim.Spec.VolumeName, claim.Status.Phase = pv.Name, v1.ClaimBound
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
	v.write(claim)
}

// provision creates a volume for a claim and binds it. node is the selected node if the claim
// waited for a pod.
func (v *volumes) provision(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, node *v1.Node) {
	driver := driverOf(class)
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID), UID: "pv-of-" + claim.UID}}
	pv.Spec = v1.PersistentVolumeSpec{
		StorageClassName: class.Name, AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode,
		VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
		Capacity:                  v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
	}
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: pv.Name}
	if node != nil {
		pv.Spec.NodeAffinity = v.near(node, driver)
		v.takeOff(claim, class, node)
	}
	v.bind(claim, pv)
}

// driverOf returns the CSI driver of a class's provisioner.
func driverOf(class *storagev1.StorageClass) string {
	if driver, err := csitranslation.New().GetCSINameFromInTreeName(class.Provisioner); err == nil {
		return driver
	}
	return class.Provisioner
}

// near returns an affinity for the nodes that can reach a volume that the driver makes for one
// of them.
func (v *volumes) near(node *v1.Node, driver string) *v1.VolumeNodeAffinity {
	csi := v.store.CSINode(node.Name)
	if csi == nil {
		return nil
	}
	var term v1.NodeSelectorTerm
	for i := range csi.Spec.Drivers {
		if csi.Spec.Drivers[i].Name != driver {
			continue
		}
		for _, key := range csi.Spec.Drivers[i].TopologyKeys {
			if value, ok := node.Labels[key]; ok {
				term.MatchExpressions = append(term.MatchExpressions,
					v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}})
			}
		}
	}
	if len(term.MatchExpressions) == 0 {
		return nil
	}
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}
}

// takeOff subtracts a claim's size from the first storage capacity for the node that has room
// for it.
func (v *volumes) takeOff(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, node *v1.Node) {
	size := claim.Spec.Resources.Requests[v1.ResourceStorage]
	for _, c := range v.store.CapacitiesOf(class.Name) {
		most := c.MaximumVolumeSize
		if most == nil {
			most = c.Capacity
		}
		if c.NodeTopology == nil || most == nil || quantity.Compare(*most, size) < 0 {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.NodeTopology)
		if err != nil || !selector.Matches(labels.Set(node.Labels)) {
			continue
		}
		if c.Capacity == nil {
			return // the total size is unknown
		}
		c = c.DeepCopy()
		c.Capacity.Sub(size)
		if c.MaximumVolumeSize != nil && c.MaximumVolumeSize.Cmp(*c.Capacity) > 0 {
			left := c.Capacity.DeepCopy()
			c.MaximumVolumeSize = &left
		}
		v.write(c)
		return
	}
}
