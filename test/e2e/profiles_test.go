package e2e

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// grantProfiles lets kube-scheduler's user use the Lease of its profile, as docs/run.md says.
func (b *installed) grantProfiles() {
	b.Helper()
	meta := metav1.ObjectMeta{Name: "berth:profiles-static", Namespace: metav1.NamespaceSystem}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"get", "update"}, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
		ResourceNames: []string{"berth-profile-default-scheduler"},
	}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: string(cluster.KubeScheduler)}},
	}
	roles, bindings := b.client.RbacV1().Roles(meta.Namespace), b.client.RbacV1().RoleBindings(meta.Namespace)
	_, err := roles.Create(b.Context(), role, metav1.CreateOptions{})
	if err == nil {
		_, err = bindings.Create(b.Context(), binding, metav1.CreateOptions{})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = bindings.Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
		_ = roles.Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
	})
	// The authorizer learns of rights by a watch.
	awaitThat(b.T, "kube-scheduler's user may use the Lease of its profile", func() bool {
		review, err := b.client.AuthorizationV1().SubjectAccessReviews().Create(b.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: string(cluster.KubeScheduler),
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: meta.Namespace, Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Name: role.Rules[0].ResourceNames[0],
				},
			},
		}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed
	})
}
