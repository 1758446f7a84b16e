package state

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	declared "k8s.io/component-helpers/nodedeclaredfeatures"
)

// Feature is a set of requirements that a pod's spec can have and that a plugin must enforce. A
// pod with a requirement that no enabled plugin enforces stays pending, so that nothing is
// silently unenforced.
type Feature uint32

// The features.
const (
	// FeatureRequests is a resource request.
	FeatureRequests Feature = 1 << iota
	// FeatureNodeAffinity is spec.nodeSelector or required or preferred node
	// affinity.
	FeatureNodeAffinity
	// FeatureHostPorts is a host port.
	FeatureHostPorts
	// FeatureSchedulingGates is spec.schedulingGates.
	FeatureSchedulingGates
	// FeatureTopologySpread is spec.topologySpreadConstraints.
	FeatureTopologySpread
	// FeatureInterPodAffinity is pod affinity or anti-affinity, required or
	// preferred.
	FeatureInterPodAffinity
	// FeatureVolumeClaims is a persistent volume claim, or an ephemeral volume, for which one is
	// created.
	FeatureVolumeClaims
	// FeatureExclusiveVolumes is an in-tree volume that only one node may
	// mount: GCE PD, AWS EBS, iSCSI or RBD.
	FeatureExclusiveVolumes
	// FeatureResourceClaims is spec.resourceClaims (KEP-4381).
	FeatureResourceClaims
	// FeatureSchedulingGroup is spec.schedulingGroup (KEP-4671).
	FeatureSchedulingGroup
	// FeatureDeclaredFeatures is anything that a node must declare support for (KEP-5328).
	FeatureDeclaredFeatures

	numFeatures = iota
)

// featureNames returns the names for flags and messages, in bit order.
func featureNames() [numFeatures]string {
	return [numFeatures]string{
		"requests", "node-affinity", "host-ports", "scheduling-gates", "topology-spread",
		"inter-pod-affinity", "volume-claims", "exclusive-volumes", "resource-claims", "scheduling-group",
		"declared-features",
	}
}

// FeatureNames returns the names of all features in a fixed order.
func FeatureNames() []string {
	names := featureNames()
	return names[:]
}

// ParseFeature returns the feature with a name.
func ParseFeature(name string) (Feature, bool) {
	for i, n := range featureNames() {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// Names returns the names of the features in the set.
func (f Feature) Names() []string {
	var out []string
	for i, n := range featureNames() {
		if f&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// String returns the names of the features in the set, separated by commas.
func (f Feature) String() string { return strings.Join(f.Names(), ", ") }

// FeaturesOf returns the features in a pod's spec.
func FeaturesOf(pod *v1.Pod) Feature {
	var f Feature
	spec := &pod.Spec
	if len(spec.NodeSelector) > 0 {
		f |= FeatureNodeAffinity
	}
	if a := spec.Affinity; a != nil {
		if a.NodeAffinity != nil {
			f |= FeatureNodeAffinity
		}
		if a.PodAffinity != nil || a.PodAntiAffinity != nil {
			f |= FeatureInterPodAffinity
		}
	}
	if len(spec.SchedulingGates) > 0 {
		f |= FeatureSchedulingGates
	}
	if len(spec.TopologySpreadConstraints) > 0 {
		f |= FeatureTopologySpread
	}
	if len(spec.ResourceClaims) > 0 {
		f |= FeatureResourceClaims
	}
	if spec.SchedulingGroup != nil {
		f |= FeatureSchedulingGroup
	}
	if needsDeclared(pod) {
		f |= FeatureDeclaredFeatures
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil, v.Ephemeral != nil:
			f |= FeatureVolumeClaims
		case v.GCEPersistentDisk != nil, v.AWSElasticBlockStore != nil, v.ISCSI != nil, v.RBD != nil:
			f |= FeatureExclusiveVolumes
		}
	}
	return f
}

// needsDeclared reports whether a node must declare features to run the pod, as kube-scheduler
// v1.37 infers it.
func needsDeclared(pod *v1.Pod) bool {
	info := &declared.PodInfo{Spec: &pod.Spec, Status: &pod.Status}
	needed, err := needs(info)
	return err == nil && !needed.IsEmpty()
}

// needs omits features that every node of v1.37 has.
func needs(pod *declared.PodInfo) (declared.FeatureSet, error) {
	return declared.DefaultFramework.InferForPodScheduling(pod, version.MajorMinor(1, 37))
}
