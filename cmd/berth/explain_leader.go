package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// leaderFinder is the flags about the Lease that names the replica to ask.
type leaderFinder struct {
	user  kube.User
	lease string
}

func (o *leaderFinder) flags(f *pflag.FlagSet) {
	f.StringVar(&o.user.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` to find the leader with if no scheduler answers here; kubectl's if not given")
	f.StringVar(&o.user.Context, "context", "", "`CONTEXT` of the kubeconfig; its current one if not given")
	f.StringVar(&o.lease, "lease", "kube-system/berth", "`NAMESPACE/NAME` of the Lease that the leader holds")
}

// hint tells how to ask the leader; empty if no kubeconfig names a cluster. The Lease names
// the leader by its host's name, which in a pod is the pod's, and a UUID.
func (o *leaderFinder) hint(ctx context.Context) string {
	namespace, name, ok := strings.Cut(o.lease, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Sprintf("--lease: %q is not NAMESPACE/NAME", o.lease)
	}
	holder, err := o.user.LeaseHolder(ctx, types.NamespacedName{Namespace: namespace, Name: name})
	host, _, _ := strings.Cut(holder, "_")
	switch {
	case errors.Is(err, kube.ErrNoCluster):
		return ""
	case err != nil:
		return err.Error()
	case holder == "":
		return fmt.Sprintf("nobody holds the lease %s: no replica leads", o.lease)
	case len(validation.IsDNS1123Subdomain(host)) > 0: // it goes into a command line
		return fmt.Sprintf("the lease %s is held by %q, which names no pod", o.lease, holder)
	}
	return fmt.Sprintf("the lease %s is held by %s. Ask that replica:\n"+
		"  kubectl exec -n %s %s -- /berth …\n"+
		"or, without the right to exec:\n"+
		"  kubectl port-forward -n %[3]s %[4]s 10259\n"+
		"and there --server https://localhost:10259 --token-file FILE --insecure-skip-tls-verify.\n"+
		"The pod of a machine %[4]s is named berth-%[4]s.", o.lease, holder, namespace, host)
}
