package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// viewer is the service account (deploy/viewer.yaml) whose token berth shows to the
// leader if the user names no token. Credentials of the user's kubeconfig go only to the
// API server.
const viewer = "berth-viewer"

// leaderFinder holds the flags for finding the leader, which the Lease names.
type leaderFinder struct {
	user  kube.User
	lease string
	port  int
}

func (o *leaderFinder) flags(f *pflag.FlagSet) {
	f.StringVar(&o.user.Kubeconfig, "kubeconfig", "", "ask the leader in the cluster of this kubeconfig `FILE`; if not given and no local scheduler answers, kubectl's kubeconfig is used")
	f.StringVar(&o.user.Context, "context", "", "kubeconfig `CONTEXT`; the current one if not given")
	f.StringVar(&o.lease, "lease", "kube-system/berth", "`NAMESPACE/NAME` of the Lease that the leader holds; its pod is in the same namespace")
	f.IntVar(&o.port, "leader-port", defaultPort, "`PORT` of the leader (--secure-port)")
}

// wanted reports whether a flag names a cluster. Then berth asks the leader there, even
// if a local scheduler answers.
func (o *leaderFinder) wanted() bool { return o.user != (kube.User{}) }

// check refuses a lease or a port that cannot be.
func (o *leaderFinder) check() error {
	namespace, name, ok := strings.Cut(o.lease, "/")
	switch {
	case !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0:
		return fmt.Errorf("--lease: %q is not NAMESPACE/NAME", o.lease)
	case len(validation.IsValidPortNum(o.port)) > 0:
		return fmt.Errorf("--leader-port: %d is not between 1 and 65535", o.port)
	}
	return nil
}

// reach connects to the leader. It returns a client and, if wantToken, a token that the
// leader accepts.
//
// The API server vouches for the pod, so reach does not verify the pod's certificate,
// which is usually self-signed.
func (o *leaderFinder) reach(ctx context.Context, visitor *kube.Visitor, wantToken bool) (client *http.Client, token string, err error) {
	namespace, name, _ := strings.Cut(o.lease, "/")
	holder, err := visitor.LeaseHolder(ctx, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil, "", err
	}
	if holder == "" {
		return nil, "", fmt.Errorf("nobody holds the lease %s, so there is no leader", o.lease)
	}
	if wantToken {
		if token, err = visitor.Token(ctx, types.NamespacedName{Namespace: namespace, Name: viewer}); err != nil {
			return nil, "", err
		}
	}
	conn, err := o.dial(ctx, visitor, namespace, holder)
	if err != nil {
		return nil, "", err
	}
	once := make(chan net.Conn, 1)
	once <- conn
	close(once)
	return direct(&http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if conn, ok := <-once; ok {
				return conn, nil
			}
			return nil, fmt.Errorf("the leader %s closed the connection", holder)
		},
		MaxConnsPerHost: 1,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, //nolint:gosec // as said
	}), token, nil
}

// dial connects to the pod of a lease's holder. A holder is a host name and a UUID. The host
// name of a pod is the pod's name, or the machine's for a static pod in the host network.
func (o *leaderFinder) dial(ctx context.Context, visitor *kube.Visitor, namespace, holder string) (net.Conn, error) {
	host, _, _ := strings.Cut(holder, "_")
	if len(validation.IsDNS1123Subdomain(host)) > 0 { // it goes into URLs and command lines
		return nil, fmt.Errorf("the holder %[2]q of the lease %[1]s is not the name of a pod", o.lease, holder)
	}
	for _, pod := range []string{host, "berth-" + host} {
		conn, err := visitor.DialPod(ctx, types.NamespacedName{Namespace: namespace, Name: pod}, o.port)
		switch {
		case err == nil:
			return conn, nil
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("the leader %[2]s (lease %[1]s) cannot be reached: %[3]w\nIf you may exec into its pod, run\n  kubectl exec -n %[4]s %[5]s -- /berth …", o.lease, holder, err, namespace, pod)
		}
	}
	return nil, fmt.Errorf("the lease %s is held by %s, but namespace %s has neither a pod %s nor a pod berth-%[4]s: run the command on that machine, or name the scheduler with --server", o.lease, holder, namespace, host)
}
