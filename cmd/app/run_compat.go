package app

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// loggingOptions holds the flags about the scheduler's log.
type loggingOptions struct {
	set       *pflag.FlagSet
	verbosity int
	format    string
}

// flags changes the default of --log-level, and adds kube-scheduler's flags.
func (o *loggingOptions) flags(f *pflag.FlagSet) {
	o.set = f
	level := f.Lookup("log-level")
	level.DefValue, level.Usage = "info", "log this `LEVEL` and above: debug, info, warn, error, or none"
	_ = f.Set("log-level", "info")
	level.Changed = false
	f.StringVar(&o.format, "logging-format", "text", "log in this `FORMAT`: text or json")
	f.IntVarP(&o.verbosity, "v", "v", 0, "kube-scheduler's verbosity: 4 and above mean --log-level debug")
}

// apply makes modules log in the scheduler's format.
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

// refuseOthers adds the flags of kube-scheduler that Berth does not support. Their errors
// say what to do instead.
func refuseOthers(f *pflag.FlagSet) {
	const (
		version = "Berth emulates no other version: remove the flag (docs/differences.md lists the differences)"
		headers = "Berth is not called through the API server's aggregator: remove the flag"
		server  = "the server of health checks and metrics has no such setting: remove the flag"
		metrics = "Berth serves all metrics: remove the flag, and drop metrics where you collect them"
		logs    = "remove the flag, and set --log-level"
	)
	for name, hint := range map[string]string{
		"emulated-version": version, "min-compatibility-version": version,
		"requestheader-allowed-names": headers, "requestheader-client-ca-file": headers, "requestheader-extra-headers-prefix": headers,
		"requestheader-group-headers": headers, "requestheader-uid-headers": headers, "requestheader-username-headers": headers,
		"cert-dir":              "remove the flag, and name the files with --tls-cert-file and --tls-private-key-file",
		"tls-sni-cert-key":      "Berth serves one certificate: remove the flag, and name the certificate with --tls-cert-file and --tls-private-key-file",
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

// refused is an unsupported flag. Its text says what to do instead.
type refused string

func (refused) String() string     { return "" }
func (refused) Type() string       { return "refused" }
func (r refused) Set(string) error { return errors.New(string(r)) }
