package state

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Buckets is how many buckets pods are divided into.
const Buckets = 10_000

// Share is the part of the pods that a version of a plugin decides for: those of the buckets From
// to To-1. Shares with the same key divide the pods in the same way. The zero value is all pods.
type Share struct {
	Key      string
	From, To int
}

// All reports whether the share is all pods.
func (s *Share) All() bool { return *s == Share{} }

// Has reports whether a pod is in the share.
func (s *Share) Has(pod *Pod) bool {
	if s.All() {
		return true
	}
	b := Bucket(s.Key, pod)
	return s.From <= b && b < s.To
}

// Bucket returns the bucket of a pod, from 0 to Buckets-1. All pods of a controller are in the same
// one, also if it is a Deployment that has gone from one ReplicaSet to the next. Pods without a
// controller are divided by their UIDs.
func Bucket(key string, pod *Pod) int {
	h := hash(14695981039346656037)
	h.add(key)
	if owner := metav1.GetControllerOfNoCopy(pod.Object); owner != nil {
		name := owner.Name
		if template := pod.Object.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; owner.Kind == "ReplicaSet" && template != "" {
			name = strings.TrimSuffix(name, "-"+template)
		}
		h.add(pod.Namespace)
		h.add(owner.APIVersion)
		h.add(owner.Kind)
		h.add(name)
	} else {
		h.add(string(pod.UID))
	}
	return int(h.mixed() % Buckets)
}

// hash is FNV-1a of 64 bits.
type hash uint64

// add adds a string and its end.
func (h *hash) add(s string) {
	for i := range len(s) {
		*h = (*h ^ hash(s[i])) * 1099511628211
	}
	*h = (*h ^ 0xff) * 1099511628211 // no byte of UTF-8
}

// mixed spreads the hash over all bits, as splitmix64 ends.
func (h *hash) mixed() uint64 {
	x := uint64(*h)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
