package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// loggingOptions is what the scheduler says of itself: more than the modules of a
// command that ends.
type loggingOptions struct {
	set       *pflag.FlagSet
	verbosity int
	format    string
}

// flags changes the flag of the modules' level, and adds kube-scheduler's.
func (o *loggingOptions) flags(f *pflag.FlagSet) {
	o.set = f
	level := f.Lookup("log-level")
	level.DefValue, level.Usage = "info", "log from this `LEVEL` on: debug, info, warn, error, or none"
	_ = f.Set("log-level", "info")
	level.Changed = false
	f.StringVar(&o.format, "logging-format", "text", "log in this `FORMAT`: text or json")
	f.IntVarP(&o.verbosity, "v", "v", 0, "kube-scheduler's verbosity: from 4 on it is --log-level debug")
}

// apply lets the modules log as the scheduler does.
func (o *loggingOptions) apply(m *moduleOptions) error {
	if o.format != "text" && o.format != "json" {
		return fmt.Errorf("--logging-format: %q is neither text nor json", o.format)
	}
	m.json = o.format == "json"
	if o.verbosity >= debughttp.DebugVerbosity && !o.set.Changed("log-level") {
		m.log = "debug"
	}
	return nil
}

// refuseOthers adds the flags of kube-scheduler that Berth does not have, so that who
// comes with its command line is told what to do about each.
func refuseOthers(f *pflag.FlagSet) {
	const (
		gates   = "there are no feature gates and there is one version: remove the flag (docs/differences.md says what is different)"
		headers = "nobody asks Berth through the API server's aggregator: remove the flag"
		server  = "the server of health checks and metrics has no such setting: remove the flag"
		metrics = "all metrics are served: drop some where they are collected, and remove the flag"
		logs    = "say how much is logged with --log-level, and remove the flag"
	)
	for name, hint := range map[string]string{
		"feature-gates": gates, "emulated-version": gates, "min-compatibility-version": gates,
		"requestheader-allowed-names": headers, "requestheader-client-ca-file": headers, "requestheader-extra-headers-prefix": headers,
		"requestheader-group-headers": headers, "requestheader-uid-headers": headers, "requestheader-username-headers": headers,
		"cert-dir":              "name the files with --tls-cert-file and --tls-private-key-file, and remove the flag",
		"tls-sni-cert-key":      "there is one certificate: name it with --tls-cert-file and --tls-private-key-file, and remove the flag",
		"tls-curve-preferences": server, "disable-http2-serving": server, "http2-max-streams-per-connection": server,
		"permit-address-sharing": server, "permit-port-sharing": server,
		"disabled-metrics": metrics, "allow-metric-labels": metrics, "allow-metric-labels-manifest": metrics, "show-hidden-metrics-for-version": metrics,
		"vmodule": logs, "log-flush-frequency": logs, "log-json-info-buffer-size": logs, "log-json-split-stream": logs,
		"log-text-info-buffer-size": logs, "log-text-split-stream": logs,
	} {
		f.Var(refused(hint), name, "")
		f.Lookup(name).Hidden = true
	}
	for _, name := range []string{
		"disable-http2-serving", "log-json-split-stream", "log-text-split-stream",
		"permit-address-sharing", "permit-port-sharing",
	} {
		f.Lookup(name).NoOptDefVal = "true" // a switch
	}
}

// refused is a flag that there is not, and what to do instead.
type refused string

func (refused) String() string     { return "" }
func (refused) Type() string       { return "refused" }
func (r refused) Set(string) error { return errors.New(string(r)) }
