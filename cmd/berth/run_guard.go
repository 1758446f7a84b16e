package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/kube"
)

// guardOptions is kube-scheduler's flags about who may see what is served.
type guardOptions struct {
	config                        kube.GuardConfig
	clientCA                      string
	authentication, authorization string
	skipLookup, tolerateFailure   bool
}

func (o *guardOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.authentication, "authentication-kubeconfig", "", "kubeconfig `FILE` to ask the API server with who a client is; that of --kubeconfig if not given")
	f.StringVar(&o.authorization, "authorization-kubeconfig", "", "kubeconfig `FILE` to ask the API server with what a client may see; that of --kubeconfig if not given")
	f.StringVar(&o.clientCA, "client-ca-file", "", "`FILE` with the authorities of client certificates; those of the API server if not given")
	f.BoolVar(&o.skipLookup, "authentication-skip-lookup", false, "do not ask the API server for the authorities of client certificates")
	f.BoolVar(&o.tolerateFailure, "authentication-tolerate-lookup-failure", true, "start without client certificates if the lookup fails")
	f.DurationVar(&o.config.TokenTTL, "authentication-token-webhook-cache-ttl", 10*time.Second, "how long a token that the API server knows is not asked about again")
	f.StringSliceVar(&o.config.Open, "authorization-always-allow-paths", debughttp.OpenPaths(), "`PATHS` that are served to everyone")
	f.DurationVar(&o.config.AllowTTL, "authorization-webhook-cache-authorized-ttl", 10*time.Second, "how long what the API server allows is not asked about again")
	f.DurationVar(&o.config.DenyTTL, "authorization-webhook-cache-unauthorized-ttl", 10*time.Second, "how long what it denies is not asked about again")
}

// guard lets only those to the handler who may see what they ask for. It tells whether
// clients are to be asked for certificates.
func (o *guardOptions) guard(ctx context.Context, handler http.Handler, clients *kube.Clients) (guarded http.Handler, certificates bool, err error) {
	var d kube.GuardDeps
	if d.Authentication, err = clients.ReviewsWith(o.authentication); err != nil {
		return nil, false, fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	if d.Authorization, err = clients.ReviewsWith(o.authorization); err != nil {
		return nil, false, fmt.Errorf("--authorization-kubeconfig: %w", err)
	}
	switch {
	case o.clientCA != "":
		if d.ClientCA, err = kube.ClientCAOfFile(ctx, o.clientCA); err != nil {
			return nil, false, fmt.Errorf("--client-ca-file: %w", err)
		}
	case !o.skipLookup:
		if d.ClientCA, err = kube.ClientCAOfCluster(ctx, d.Authentication, !o.tolerateFailure); err != nil {
			return nil, false, fmt.Errorf("%w (may the user read it? --authentication-tolerate-lookup-failure starts without)", err)
		}
	}
	guarded, err = kube.Guard(handler, o.config, d)
	return guarded, d.ClientCA != nil, err
}
