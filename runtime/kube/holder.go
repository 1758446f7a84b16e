package kube

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNoCluster says that no kubeconfig names an API server.
var ErrNoCluster = errors.New("no kubeconfig names a cluster")

// User is how somebody who is no scheduler reaches the API server: as kubectl does.
type User struct {
	Kubeconfig string // file; empty for $KUBECONFIG or ~/.kube/config
	Context    string // of the kubeconfig; empty for its current one
}

// LeaseHolder returns the identity of the replica that holds a Lease; empty if none does.
//
// # Errors
//
// ErrNoCluster; the kubeconfig cannot be read, there is no such Lease, or the user may not
// read it, with the right that is missing.
func (u User) LeaseHolder(ctx context.Context, lease types.NamespacedName) (string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = u.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: u.Context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return "", ErrNoCluster
	}
	if err != nil {
		return "", fmt.Errorf("kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("kubeconfig: %w", err)
	}
	found, err := client.CoordinationV1().Leases(lease.Namespace).Get(ctx, lease.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("lease %s: %w (your user needs get on leases.coordination.k8s.io %q in namespace %s)", lease, err, lease.Name, lease.Namespace)
	case err != nil:
		return "", fmt.Errorf("lease %s: %w (name the scheduler's Lease with --lease NAMESPACE/NAME)", lease, err)
	case found.Spec.HolderIdentity == nil:
		return "", nil
	}
	return *found.Spec.HolderIdentity, nil
}
