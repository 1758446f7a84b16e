package kube

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// Optional returns the objects that say what the API server and the DaemonSet controller make of new pods, as far as the client's user may
// list them, and the kinds of which they are all: PriorityClass, RuntimeClass, LimitRange, ResourceQuota, DaemonSet and
// MutatingWebhookConfiguration (with ValidatingWebhookConfiguration). kube-scheduler needs none of them, so a scheduler may lack the
// right to read them. A kind that cannot be listed, for whatever reason, is not among the kinds.
func Optional(ctx context.Context, client kubernetes.Interface) (objects []runtime.Object, kinds []string) {
	webhooks := client.AdmissionregistrationV1()
	all := metav1.NamespaceAll
	for _, k := range []struct {
		kind  string
		lists []optional
	}{
		{"PriorityClass", []optional{{"scheduling.k8s.io", "priorityclasses", as(client.SchedulingV1().PriorityClasses().List)}}},
		{"RuntimeClass", []optional{{"node.k8s.io", "runtimeclasses", as(client.NodeV1().RuntimeClasses().List)}}},
		{"LimitRange", []optional{{"", "limitranges", as(client.CoreV1().LimitRanges(all).List)}}},
		{"ResourceQuota", []optional{{"", "resourcequotas", as(client.CoreV1().ResourceQuotas(all).List)}}},
		{"DaemonSet", []optional{{"apps", "daemonsets", as(client.AppsV1().DaemonSets(all).List)}}},
		{"MutatingWebhookConfiguration", []optional{
			{"admissionregistration.k8s.io", "mutatingwebhookconfigurations", as(webhooks.MutatingWebhookConfigurations().List)},
			{"admissionregistration.k8s.io", "validatingwebhookconfigurations", as(webhooks.ValidatingWebhookConfigurations().List)},
		}},
	} {
		complete := true
		for _, o := range k.lists {
			found, ok := o.read(ctx, client)
			objects = append(objects, found...)
			complete = complete && ok
		}
		if complete {
			kinds = append(kinds, k.kind)
		}
	}
	return objects, kinds
}

// optional is a resource that is read if it may be.
type optional struct {
	group, resource string
	list            func(context.Context, metav1.ListOptions) (runtime.Object, error)
}

// as makes lists of one type those of any.
func as[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) }
}

// read asks for the right to list the resource first, so that the API server's audit has no refusals.
func (o *optional) read(ctx context.Context, client kubernetes.Interface) (found []runtime.Object, ok bool) {
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: o.group, Resource: o.resource}},
	}, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		return nil, false
	}
	list, err := o.list(ctx, metav1.ListOptions{ResourceVersion: "0"}) // from the API server's cache
	if err != nil {
		return nil, false
	}
	found, err = meta.ExtractList(list)
	return found, err == nil
}

// Optional returns what the user may read of the objects that decide what becomes of new pods.
func (v *Visitor) Optional(ctx context.Context) (objects []runtime.Object, kinds []string) {
	return Optional(ctx, v.client)
}
