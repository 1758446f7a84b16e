package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// ErrNoCluster says that no kubeconfig names an API server.
var ErrNoCluster = errors.New("no kubeconfig names a cluster")

// errNamesNone is for a variable that was set to something else than ErrNoCluster is for: its absence.
var errNamesNone = errors.New("no such kubeconfig, or it names no cluster")

// User says how a person connects to the API server, as with kubectl.
type User struct {
	Kubeconfig string // file; empty for $KUBECONFIG or ~/.kube/config
	Context    string // of the kubeconfig; empty for its current one
}

// Visitor is a User who can send requests to the API server.
type Visitor struct {
	config *rest.Config
	client kubernetes.Interface
}

// Connect reads the kubeconfig. It sends no request.
//
// # Errors
//
// ErrNoCluster; the kubeconfig cannot be read, with the flag or variable that names it.
func (u User) Connect(ctx context.Context) (*Visitor, error) {
	overrides := &clientcmd.ConfigOverrides{CurrentContext: u.Context}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.WarnIfAllMissing = false // the error says so
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	if u.Kubeconfig != "" {
		file, err := kubeconfig(ctx, u.Kubeconfig)
		if errors.As(err, new(*fs.PathError)) {
			return nil, fmt.Errorf("kubeconfig: %w%s", err, unreadable)
		}
		if err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
		loaded = clientcmd.NewNonInteractiveClientConfig(*file, cmp.Or(u.Context, file.CurrentContext), overrides, nil)
	}
	config, err := bounded.Until(ctx, loaded.ClientConfig)
	if files := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); clientcmd.IsEmptyConfig(err) && u.Kubeconfig == "" && files != "" {
		return nil, fmt.Errorf("KUBECONFIG=%s: %w (name a file that can be read in KUBECONFIG or with --kubeconfig)", files, errNamesNone)
	}
	if clientcmd.IsEmptyConfig(err) {
		return nil, ErrNoCluster
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &Visitor{config: config, client: client}, nil
}

// LeaseHolder returns the identity of the replica that holds a Lease; empty if none does.
//
// # Errors
//
// The API server does not answer; the Lease does not exist, or the user may not read it. The error names the missing
// permission.
func (v *Visitor) LeaseHolder(ctx context.Context, lease types.NamespacedName) (string, error) {
	found, err := v.client.CoordinationV1().Leases(lease.Namespace).Get(ctx, lease.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("lease %s: %w (your user needs get on leases.coordination.k8s.io %q in namespace %s)", lease, err, lease.Name, lease.Namespace)
	case apierrors.IsUnauthorized(err):
		return "", fmt.Errorf("the API server %s does not accept the credentials of the kubeconfig: %w", v.config.Host, err)
	case err != nil && !errors.As(err, new(apierrors.APIStatus)):
		return "", fmt.Errorf("the API server %s does not answer, so the leader is not known: %w (ask the scheduler itself: with --server, or with its debug socket in its pod)",
			v.config.Host, err)
	case err != nil:
		return "", fmt.Errorf("lease %s: %w (name the scheduler's Lease with --lease NAMESPACE/NAME)", lease, err)
	case found.Spec.HolderIdentity == nil:
		return "", nil
	}
	return *found.Spec.HolderIdentity, nil
}

// tokenLifetime is the shortest lifetime that the API server allows, in seconds.
const tokenLifetime = 600

// Token returns a token of a service account, for ten minutes.
//
// # Errors
//
// The account does not exist, or the user may not create its tokens. The error names the
// missing permission.
func (v *Visitor) Token(ctx context.Context, account types.NamespacedName) (string, error) {
	lifetime := int64(tokenLifetime)
	answer, err := v.client.CoreV1().ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime}}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("token of service account %s: %w (your user needs create on serviceaccounts/token %q in namespace %s; or pass your own token with --token-file)",
			account, err, account.Name, account.Namespace)
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("token of service account %s: %w (kubectl apply -f deploy/viewer.yaml creates it; or pass your own token with --token-file)", account, err)
	case err != nil:
		return "", fmt.Errorf("token of service account %s: %w", account, err)
	}
	return answer.Status.Token, nil
}
