package state_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// owned returns a pod of a controller; of none if the kind is empty.
func owned(uid, namespace, kind, owner, template string) *state.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: types.UID(uid), Labels: map[string]string{"pod-template-hash": template}}}
	if kind != "" {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: &yes}}
	}
	return state.NewPod(pod)
}

// TestBucket: pods of a controller are in one bucket, also over the ReplicaSets of a Deployment; other
// controllers, namespaces and keys have buckets of their own.
func TestBucket(t *testing.T) {
	web := state.Bucket("key", owned("1", "a", "ReplicaSet", "web-abc", "abc"))
	for name, c := range map[string]struct {
		key  string
		pod  *state.Pod
		same bool
	}{
		"another pod":            {"key", owned("2", "a", "ReplicaSet", "web-abc", "abc"), true},
		"the next ReplicaSet":    {"key", owned("3", "a", "ReplicaSet", "web-def", "def"), true},
		"a ReplicaSet by itself": {"key", owned("4", "a", "ReplicaSet", "web-abc", ""), false},
		"another Deployment":     {"key", owned("5", "a", "ReplicaSet", "api-abc", "abc"), false},
		"another namespace":      {"key", owned("6", "b", "ReplicaSet", "web-abc", "abc"), false},
		"a StatefulSet":          {"key", owned("7", "a", "StatefulSet", "web", ""), false},
		"no controller":          {"key", owned("8", "a", "", "", ""), false},
		"another plugin":         {"other", owned("1", "a", "ReplicaSet", "web-abc", "abc"), false},
	} {
		if got := state.Bucket(c.key, c.pod); (got == web) != c.same {
			t.Errorf("%s: bucket %d, that of the pod is %d", name, got, web)
		}
	}
}

// TestShare: of many controllers, each share has about its part, shares of a key are nested, and two
// that meet at a bucket have each pod once.
func TestShare(t *testing.T) {
	const n = 20_000
	for _, percent := range []int{1, 10, 50, 99} {
		to := percent * state.Buckets / 100
		canary, stable := state.Share{Key: "uid", To: to}, state.Share{Key: "uid", From: to, To: state.Buckets}
		wider := state.Share{Key: "uid", To: min(state.Buckets, 2*to)}
		in := 0
		for i := range n {
			pod := owned(fmt.Sprint("uid-", i), "a", "", "", "")
			if canary.Has(pod) == stable.Has(pod) || canary.Has(pod) && !wider.Has(pod) {
				t.Fatalf("%d%%: pod %d is in %t and %t", percent, i, canary.Has(pod), stable.Has(pod))
			}
			if canary.Has(pod) {
				in++
			}
		}
		if want := n * percent / 100; in < want*9/10-20 || in > want*11/10+20 {
			t.Errorf("%d%%: %d of %d pods", percent, in, n)
		}
	}
	if all := (state.Share{}); !all.Has(owned("1", "a", "", "", "")) {
		t.Error("a pod is not in the share of all pods")
	}
}
