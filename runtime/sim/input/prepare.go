package input

import (
	"strings"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// prepare defaults and checks one object by itself. n is its tree if it exists already.
// assemble does what needs the other objects.
//
// Defaults follow k8s.io/kubernetes v1.37 (pkg/apis/*/defaults.go, the pod strategy, the
// Priority and DefaultStorageClass admission plugins), as far as a scheduler can see them:
// namespace, schedulerName, restartPolicy, grace period, requests from limits, host ports under
// hostNetwork, matchLabelKeys merged into selectors, priority and preemptionPolicy,
// volumeBindingMode, reclaim policies, replicas, how many devices a request is for, the namespace's name label, allocatable.
// It adds no labels to nodes, and not the tolerations for not-ready and unreachable nodes that
// admission adds: a file shows all of a pod's tolerations.
func prepare(o object, n *yaml.Node) []*Error {
	if p, ok := o.Object.(*v1.Pod); ok && (ended(p) || deleting(p)) {
		return nil
	}
	c := &checker{place: o.place, node: n}
	kind := kindOf(o)
	defaultMeta(o.meta, kind, namespaced(kind))
	c.meta(o.meta, kind)
	switch x := o.Object.(type) {
	case *v1.Node:
		defaultNode(x)
		c.nodeObject(x)
	case *v1.Pod:
		defaultPod(x)
		c.pod(x)
	case *v1.Namespace:
		if x.Labels == nil {
			x.Labels = map[string]string{}
		}
		x.Labels[v1.LabelMetadataName] = x.Name
	case *schedulingv1.PriorityClass:
		if x.PreemptionPolicy == nil {
			policy := v1.PreemptLowerPriority
			x.PreemptionPolicy = &policy
		}
		c.priorityClass(x)
	case *policyv1.PodDisruptionBudget:
		c.selector("spec.selector", x.Spec.Selector)
	case *appsv1.ReplicaSet:
		x.Spec.Replicas = orOne(x.Spec.Replicas)
		c.selector("spec.selector", x.Spec.Selector)
	case *appsv1.StatefulSet:
		x.Spec.Replicas = orOne(x.Spec.Replicas)
		c.selector("spec.selector", x.Spec.Selector)
	case *v1.ReplicationController:
		x.Spec.Replicas = orOne(x.Spec.Replicas)
	case *storagev1.StorageClass:
		defaultStorage(x)
		c.storageClass(x)
	case *v1.PersistentVolume:
		c.volume(x)
	case *v1.PersistentVolumeClaim:
		c.claim(x)
	case *storagev1.CSIStorageCapacity:
		c.storageCapacity(x)
	case *storagev1.CSINode:
		c.csiNode(x)
	case *storagev1.VolumeAttachment:
		c.attachment(x)
	case *resourcev1.ResourceClaim:
		c.resourceClaim("spec", &x.Spec)
	case *resourcev1.ResourceClaimTemplate:
		c.resourceClaim("spec.spec", &x.Spec.Spec)
	case *resourcev1.ResourceSlice:
		c.resourceSlice(x)
	case *resourcev1.DeviceTaintRule:
		c.deviceTaintRule(x)
	}
	return c.errs
}

// namespaced reports whether objects of a supported kind have a namespace.
func namespaced(kind string) bool {
	switch kind {
	case "Node", "Namespace", KindPriorityClass, KindRuntimeClass, KindWebhooks, "ValidatingWebhookConfiguration", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment",
		"ResourceSlice", "DeviceClass", "DeviceTaintRule", v1alpha1.KindSchedulerPlugin, v1alpha1.KindPluginGrant:
		return false
	}
	return true
}

// madeUID begins UIDs that no API server has set.
const madeUID = "sim-"

// defaultMeta sets the namespace and a UID that is the same in every run.
func defaultMeta(m *metav1.ObjectMeta, kind string, inNamespace bool) {
	if inNamespace && m.Namespace == "" {
		m.Namespace = metav1.NamespaceDefault
	}
	if m.UID == "" {
		parts := []string{strings.ToLower(kind)}
		if m.Namespace != "" {
			parts = append(parts, m.Namespace)
		}
		m.UID = types.UID(madeUID + strings.Join(append(parts, m.Name), "-"))
	}
}

func orOne(n *int32) *int32 {
	if n != nil {
		return n
	}
	one := int32(1)
	return &one
}

func defaultNode(n *v1.Node) {
	if n.Status.Allocatable == nil && n.Status.Capacity != nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
}

func defaultStorage(s *storagev1.StorageClass) {
	if s.VolumeBindingMode == nil {
		mode := storagev1.VolumeBindingImmediate
		s.VolumeBindingMode = &mode
	}
	if s.ReclaimPolicy == nil {
		policy := v1.PersistentVolumeReclaimDelete
		s.ReclaimPolicy = &policy
	}
}

// DefaultStorageClass returns the class of claims that name none: the newest of the classes
// marked as default, then the first by name; "" if there is none. A class without a time of creation
// would be created now.
func DefaultStorageClass(classes []*storagev1.StorageClass) string {
	var best *storagev1.StorageClass
	for _, s := range classes {
		if s.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" &&
			s.Annotations["storageclass.beta.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		if best == nil || newer(s, best) {
			best = s
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

func newer(a, b *storagev1.StorageClass) bool {
	switch t, u := a.CreationTimestamp, b.CreationTimestamp; {
	case t.Equal(&u):
		return a.Name < b.Name
	case t.IsZero() || u.IsZero():
		return t.IsZero()
	default:
		return u.Before(&t)
	}
}
