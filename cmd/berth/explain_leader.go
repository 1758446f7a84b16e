package main

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

// viewer is the service account whose token the leader is shown if the user names none
// (deploy/viewer.yaml). Those of the user's kubeconfig are for the API server alone.
const viewer = "berth-viewer"

// leaderFinder is the flags about the replica that leads, which a Lease names.
type leaderFinder struct {
	user  kube.User
	lease string
	port  int
}

func (o *leaderFinder) flags(f *pflag.FlagSet) {
	f.StringVar(&o.user.Kubeconfig, "kubeconfig", "", "ask the leader of the cluster of this kubeconfig `FILE`; without it kubectl's is used if no scheduler answers here")
	f.StringVar(&o.user.Context, "context", "", "ask the leader of the cluster of this `CONTEXT` of the kubeconfig; its current one if not given")
	f.StringVar(&o.lease, "lease", "kube-system/berth", "`NAMESPACE/NAME` of the Lease that the leader holds; its pod is in the same namespace")
	f.IntVar(&o.port, "leader-port", defaultPort, "`PORT` of the leader (--secure-port)")
}

// wanted tells whether the leader of a cluster is to be asked, whoever answers here.
func (o *leaderFinder) wanted() bool { return o.user != (kube.User{}) }

// reach connects to the leader, and returns what to ask it with, and a token that it accepts
// if wantToken.
//
// The API server vouches for the pod, so that its certificate, which it mostly has made
// itself, is not verified.
func (o *leaderFinder) reach(ctx context.Context, wantToken bool) (client *http.Client, token string, err error) {
	namespace, name, ok := strings.Cut(o.lease, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, "", fmt.Errorf("--lease: %q is not NAMESPACE/NAME", o.lease)
	}
	visitor, err := o.user.Connect()
	if err != nil {
		return nil, "", err
	}
	holder, err := visitor.LeaseHolder(ctx, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil, "", err
	}
	if holder == "" {
		return nil, "", fmt.Errorf("nobody holds the lease %s: no replica leads", o.lease)
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
	return &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if conn, ok := <-once; ok {
				return conn, nil
			}
			return nil, fmt.Errorf("the leader %s has ended the connection", holder)
		},
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, //nolint:gosec // as said
	}}, token, nil
}

// dial connects to the pod that a lease's holder names: by its host's name, which in a pod is
// the pod's, and a UUID. A static pod in the network of its machine has the machine's name.
func (o *leaderFinder) dial(ctx context.Context, visitor *kube.Visitor, namespace, holder string) (net.Conn, error) {
	host, _, _ := strings.Cut(holder, "_")
	if len(validation.IsDNS1123Subdomain(host)) > 0 { // it goes into URLs and command lines
		return nil, fmt.Errorf("the lease %s is held by %q, which names no pod", o.lease, holder)
	}
	for _, pod := range []string{host, "berth-" + host} {
		conn, err := visitor.DialPod(ctx, types.NamespacedName{Namespace: namespace, Name: pod}, o.port)
		switch {
		case err == nil:
			return conn, nil
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("the lease %s is held by %s, which cannot be reached: %w\nWho may exec there can ask it by\n  kubectl exec -n %s %s -- /berth …", o.lease, holder, err, namespace, pod)
		}
	}
	return nil, fmt.Errorf("the lease %s is held by %s, and in namespace %s there is neither a pod %s nor berth-%[4]s: ask on that machine, or name it with --server", o.lease, holder, namespace, host)
}
