package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/kube"
)

// guardOptions holds kube-scheduler's flags about authentication and authorization.
type guardOptions struct {
	config                        kube.GuardConfig
	clientCA                      string
	authentication, authorization string
	skipLookup, tolerateFailure   bool
}

func (o *guardOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.authentication, "authentication-kubeconfig", "", "kubeconfig `FILE` for authenticating clients with the API server; that of --kubeconfig if not given")
	f.StringVar(&o.authorization, "authorization-kubeconfig", "", "kubeconfig `FILE` for authorizing clients with the API server; that of --kubeconfig if not given")
	f.StringVar(&o.clientCA, "client-ca-file", "", "`FILE` with the certificate authorities of clients; those of the API server if not given")
	f.BoolVar(&o.skipLookup, "authentication-skip-lookup", false, "do not read the certificate authorities of clients from the API server")
	f.BoolVar(&o.tolerateFailure, "authentication-tolerate-lookup-failure", true, "start without client certificates if that lookup fails")
	f.DurationVar(&o.config.TokenTTL, "authentication-token-webhook-cache-ttl", 10*time.Second, "how long to cache an authenticated token")
	f.StringSliceVar(&o.config.Open, "authorization-always-allow-paths", debughttp.OpenPaths(), "`PATHS` that need no authorization")
	f.DurationVar(&o.config.AllowTTL, "authorization-webhook-cache-authorized-ttl", 10*time.Second, "how long to cache an allowed request")
	f.DurationVar(&o.config.DenyTTL, "authorization-webhook-cache-unauthorized-ttl", 10*time.Second, "how long to cache a denied request")
}

// guard wraps the handler with authentication and authorization. It reports whether the
// server must request client certificates.
func (o *guardOptions) guard(ctx context.Context, handler http.Handler, clients *kube.Clients) (guarded http.Handler, certificates bool, err error) {
	var d kube.GuardDeps
	if d.Authentication, err = clients.ReviewsWith(ctx, o.authentication); err != nil {
		return nil, false, fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	if d.Authorization, err = clients.ReviewsWith(ctx, o.authorization); err != nil {
		return nil, false, fmt.Errorf("--authorization-kubeconfig: %w", err)
	}
	switch {
	case o.clientCA != "":
		if d.ClientCA, err = kube.ClientCAOfFile(ctx, o.clientCA); err != nil {
			return nil, false, fmt.Errorf("--client-ca-file: %w", err)
		}
	case !o.skipLookup:
		if d.ClientCA, err = kube.ClientCAOfCluster(ctx, d.Authentication, !o.tolerateFailure); err != nil {
			return nil, false, fmt.Errorf("%w (may this user read it? --authentication-tolerate-lookup-failure starts without it)", err)
		}
	}
	config := o.config
	config.OfPod = debughttp.OfPod
	guarded, err = kube.Guard(handler, config, d)
	return guarded, d.ClientCA != nil, err
}
