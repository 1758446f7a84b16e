package kube_test

import (
	"errors"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// TestOptional: of the objects that a scheduler need not read, it reads those that a review says it may, and lists nothing else. A
// kind is among the kinds only if all of its lists were read.
func TestOptional(t *testing.T) {
	named := metav1.ObjectMeta{Name: "x"}
	const reviews = "selfsubjectaccessreviews"
	all := []string{
		"scheduling.k8s.io/priorityclasses", "node.k8s.io/runtimeclasses", "/limitranges", "/resourcequotas", "apps/daemonsets",
		"admissionregistration.k8s.io/mutatingwebhookconfigurations", "admissionregistration.k8s.io/validatingwebhookconfigurations",
	}
	for _, c := range []struct {
		name             string
		may, fail, kinds []string
		objects          int
	}{
		{"everything", all, nil, []string{"PriorityClass", "RuntimeClass", "LimitRange", "ResourceQuota", "DaemonSet",
			"MutatingWebhookConfiguration"}, 7},
		{"nothing", nil, nil, nil, 0},
		{"some", all[1:5], nil, []string{"RuntimeClass", "LimitRange", "ResourceQuota", "DaemonSet"}, 4},
		{"webhooks of one kind", all[5:6], nil, nil, 1},
		{"a list that fails", all, all[:1], []string{"RuntimeClass", "LimitRange", "ResourceQuota", "DaemonSet", "MutatingWebhookConfiguration"},
			6},
		{"reviews that fail", nil, []string{reviews}, nil, 0},
		{"a review that fails", all[1:], []string{reviews + " of priorityclasses"}, []string{"RuntimeClass", "LimitRange", "ResourceQuota", "DaemonSet",
			"MutatingWebhookConfiguration"}, 6},
	} {
		client := fake.NewClientset(
			&schedulingv1.PriorityClass{ObjectMeta: named}, &nodev1.RuntimeClass{ObjectMeta: named}, &v1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}},
			&v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}},
			&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "x"}},
			&admissionv1.MutatingWebhookConfiguration{ObjectMeta: named}, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: named},
		)
		client.PrependReactor("create", reviews, func(a clienttesting.Action) (bool, runtime.Object, error) {
			review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
			of := review.Spec.ResourceAttributes
			if slices.Contains(c.fail, reviews) || slices.Contains(c.fail, reviews+" of "+of.Resource) {
				return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
			}
			review.Status.Allowed = of.Verb == "list" && of.Namespace == "" && slices.Contains(c.may, of.Group+"/"+of.Resource)
			return true, review, nil
		})
		var listed []string
		client.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			resource := a.GetResource()
			name := resource.Group + "/" + resource.Resource
			listed = append(listed, name)
			if slices.Contains(c.fail, name) {
				return true, nil, errors.New("the server has no such resource")
			}
			return false, nil, nil
		})
		objects, kinds := kube.Optional(t.Context(), client)
		if len(objects) != c.objects || !slices.Equal(kinds, c.kinds) || !slices.Equal(listed, c.may) {
			t.Errorf("%s: %d of %v after lists of %v, want %d of %v", c.name, len(objects), kinds, listed, c.objects, c.kinds)
		}
	}
}
