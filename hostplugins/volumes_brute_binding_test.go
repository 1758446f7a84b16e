package hostplugins_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/abi"
)

// bindings is a pod's claims, and what is found for them on one node.
type bindings struct {
	bound, waiting []*v1.PersistentVolumeClaim

	// A claim that the pod has twice appears twice.
	static    []bruteVolume
	provision []bruteCapacity
}

type bruteVolume struct {
	claim *v1.PersistentVolumeClaim
	pv    *v1.PersistentVolume
}

type bruteCapacity struct {
	claim    *v1.PersistentVolumeClaim
	capacity *storagev1.CSIStorageCapacity // may be nil
}

// bruteClaims sorts the claims of a pod, or returns why it cannot be scheduled.
func (w *volumeWorld) bruteClaims(pod *v1.Pod) (b bindings, pre string) {
	immediate := false
	var failure error
	names := claimNames(pod, true)
	if len(names) == 0 {
		return b, inWords(abi.Skip, nil)
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		own := claimNames(&v1.Pod{ObjectMeta: pod.ObjectMeta, Spec: v1.PodSpec{Volumes: []v1.Volume{*v}}}, true)
		if len(own) == 0 {
			continue
		}
		claim := named(w.claims, pod.Namespace, own[0])
		switch {
		case claim == nil && v.Ephemeral != nil:
			return b, unresolvable(fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", own[0]))
		case claim == nil:
			return b, unresolvable(fmt.Sprintf("persistentvolumeclaim %q not found", own[0]))
		case claim.Status.Phase == v1.ClaimLost:
			return b, unresolvable(fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.Spec.VolumeName))
		case claim.DeletionTimestamp != nil:
			return b, unresolvable(fmt.Sprintf("persistentvolumeclaim %q is being deleted", claim.Name))
		case v.Ephemeral != nil && !metav1.IsControlledBy(claim, pod):
			return b, unresolvable(fmt.Sprintf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name))
		}
		_, completed := claim.Annotations["pv.kubernetes.io/bind-completed"]
		class := named(w.classes, "", classOf(claim))
		switch {
		case failure != nil:
		case claim.Spec.VolumeName != "" && completed:
			b.bound = append(b.bound, claim)
		case class != nil && class.VolumeBindingMode == nil:
			failure = fmt.Errorf("VolumeBindingMode not set for StorageClass %q", class.Name)
		case class != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer && claim.Spec.VolumeName == "":
			b.waiting = append(b.waiting, claim)
		default:
			immediate = true
		}
	}
	switch {
	case failure != nil:
		return b, inWords(abi.Error, []string{failure.Error()})
	case immediate:
		return b, unresolvable("pod has unbound immediate PersistentVolumeClaims")
	}
	return b, ""
}

// viewOf returns a volume as its driver on the node sees it.
func viewOf(pv *v1.PersistentVolume, csiNode *storagev1.CSINode) (*v1.PersistentVolume, error) {
	name, err := csitranslation.New().GetInTreePluginNameFromSpec(pv, nil)
	if err != nil || !servedInTree(name) || csiNode == nil {
		return pv, nil
	}
	if !slices.Contains(strings.Split(csiNode.Annotations["storage.alpha.kubernetes.io/migrated-plugins"], ","), name) {
		return pv, nil
	}
	csi, err := csitranslation.New().TranslateInTreePVToCSI(klog.Logger{}, pv)
	if err != nil {
		return nil, fmt.Errorf("could not translate pv: %w", err)
	}
	return csi, nil
}

// bruteNode finds volumes for the claims on one node.
func (w *volumeWorld) bruteNode(b *bindings, n *v1.Node) (reasons []string, err error) {
	var node, match, space, missing bool
	for _, claim := range b.bound {
		pv := named(w.volumes, "", claim.Spec.VolumeName)
		if pv == nil {
			missing = true
			break
		}
		if pv, err = viewOf(pv, named(w.csiNodes, "", n.Name)); err != nil {
			return nil, err
		}
		if volume.CheckNodeAffinity(pv, n.Labels) != nil {
			node = true
			break
		}
	}
	match, space, err = w.bruteWaiting(b, n)
	if err != nil {
		return nil, err
	}
	for _, r := range []struct {
		holds bool
		text  string
	}{
		{node, "node(s) didn't match PersistentVolume's node affinity"},
		{match, "node(s) didn't find available persistent volumes to bind"},
		{space, "node(s) did not have enough free storage"},
		{missing, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"},
	} {
		if r.holds {
			reasons = append(reasons, r.text)
		}
	}
	return reasons, nil
}

// bruteWaiting reports whether a claim finds no volume (match), or no space (space).
func (w *volumeWorld) bruteWaiting(b *bindings, n *v1.Node) (match, space bool, err error) {
	b.static, b.provision = nil, nil
	var open, provide []*v1.PersistentVolumeClaim
	for _, claim := range b.waiting {
		switch node, ok := claim.Annotations["volume.kubernetes.io/selected-node"]; {
		case ok && node != n.Name:
			return true, false, nil
		case ok:
			provide = append(provide, claim)
		default:
			open = append(open, claim)
		}
	}
	slices.SortStableFunc(open, func(x, y *v1.PersistentVolumeClaim) int {
		return x.Spec.Resources.Requests.Storage().Cmp(*y.Spec.Resources.Requests.Storage())
	})
	taken := map[string]*v1.PersistentVolume{}
	for _, claim := range open {
		var ofClass []*v1.PersistentVolume
		for _, pv := range w.volumes {
			if volume.GetPersistentVolumeClass(pv) == classOf(claim) {
				ofClass = append(ofClass, pv)
			}
		}
		slices.SortFunc(ofClass, func(x, y *v1.PersistentVolume) int { return strings.Compare(x.Name, y.Name) })
		pv, err := volume.FindMatchingVolume(claim, ofClass, n, taken, true, true)
		if err != nil {
			return false, false, err
		}
		if pv == nil {
			provide = append(provide, claim)
			continue
		}
		taken[pv.Name] = pv
		b.static = append(b.static, bruteVolume{claim, pv})
	}
	for _, claim := range provide {
		class := named(w.classes, "", classOf(claim))
		if class == nil {
			return false, false, errors.New("BUG: a claim waits and has no class")
		}
		if class.Provisioner == "" || class.Provisioner == "kubernetes.io/no-provisioner" || !allowedOn(class, n) {
			return true, false, nil
		}
		capacity, ok := w.room(claim, class, n)
		if !ok {
			return false, true, nil
		}
		b.provision = append(b.provision, bruteCapacity{claim, capacity})
	}
	return false, false, nil
}

// allowedOn reports whether a class provisions for a node: one of its terms must match, if it
// has any.
func allowedOn(class *storagev1.StorageClass, n *v1.Node) bool {
	for _, term := range class.AllowedTopologies {
		holds := len(term.MatchLabelExpressions) > 0
		for _, e := range term.MatchLabelExpressions {
			value, ok := n.Labels[e.Key]
			holds = holds && ok && slices.Contains(e.Values, value)
		}
		if holds {
			return true
		}
	}
	return len(class.AllowedTopologies) == 0
}

// room returns the first capacity by name from which a claim can be provisioned on a node; nil
// and true if capacities do not count.
func (w *volumeWorld) room(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, n *v1.Node) (*storagev1.CSIStorageCapacity, bool) {
	driver := named(w.drivers, "", class.Provisioner)
	size, sized := claim.Spec.Resources.Requests[v1.ResourceStorage]
	if driver == nil || driver.Spec.StorageCapacity == nil || !*driver.Spec.StorageCapacity || !sized {
		return nil, true
	}
	var first *storagev1.CSIStorageCapacity
	for _, c := range w.capacities {
		most := c.MaximumVolumeSize
		if most == nil {
			most = c.Capacity
		}
		if c.StorageClassName != class.Name || c.NodeTopology == nil || most == nil || most.Value() < size.Value() {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.NodeTopology)
		if err != nil || !selector.Matches(labels.Set(n.Labels)) {
			continue
		}
		if first == nil || c.Namespace+"/"+c.Name < first.Namespace+"/"+first.Name {
			first = c
		}
	}
	return first, first != nil
}

func (w *volumeWorld) bruteBinding(pod *v1.Pod) said {
	b, pre := w.bruteClaims(pod)
	if pre != "" {
		return said{pre: pre}
	}
	return w.perNode(func(n *v1.Node) (abi.Code, []string) {
		reasons, err := w.bruteNode(&b, n)
		switch {
		case err != nil:
			return abi.Error, []string{err.Error()}
		case len(reasons) > 0:
			return abi.UnschedulableAndUnresolvable, reasons
		}
		return abi.Success, nil
	})
}

// bruteScore scores a node that fits by the utilization of storage, with the shape of a
// straight line from 100 for unused to 0 for full.
func (w *volumeWorld) bruteScore(pod *v1.Pod, n *v1.Node) int64 {
	b, pre := w.bruteClaims(pod)
	if pre != "" {
		return 0
	}
	if _, err := w.bruteNode(&b, n); err != nil {
		return 0
	}
	requested, capacity := map[string]int64{}, map[string]int64{}
	for _, s := range b.static {
		class := s.pv.Spec.StorageClassName
		requested[class] += s.claim.Spec.Resources.Requests.Storage().Value()
		capacity[class] += s.pv.Spec.Capacity.Storage().Value()
	}
	if len(b.static) == 0 {
		for _, p := range b.provision {
			if p.capacity != nil {
				class := classOf(p.claim)
				requested[class] += p.claim.Spec.Resources.Requests.Storage().Value()
				capacity[class] = 0
				if p.capacity.Capacity != nil {
					capacity[class] = p.capacity.Capacity.Value()
				}
			}
		}
	}
	if len(requested) == 0 {
		return 0
	}
	sum := 0.0
	for class := range requested {
		if c := capacity[class]; c > 0 && requested[class] <= c {
			sum += float64(100 - requested[class]*100/c)
		}
	}
	return int64(math.Round(sum / float64(len(requested))))
}
