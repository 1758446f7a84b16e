// Package config reads what the operator configures: kube-scheduler's own
// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) and the settings of the berth
// command (flags, BERTH_* variables, a settings file).
//
// The configuration is read strictly, merged with the default plugins by the rules of
// kube-scheduler v1.37 and returned as plain values: for every profile, the plugins of every
// extension point in execution order, with weights and with typed, defaulted, validated
// arguments. Nothing is constructed here; a Catalog says which plugins exist.
//
// All mistakes in a file are reported together, each with file, line, field path and remedy.
// Differences from kube-scheduler:
//   - an absent percentageOfNodesToScore stays absent;
//   - refused here, but not there: an unknown plugin name under disabled or pluginConfig,
//     arguments for a plugin that takes none, wrong arguments of NodeResourcesFit where it is
//     not enabled, a negative weight, a plugin that is listed twice even if disabling makes
//     that harmless, a preferred term of addedAffinity whose weight is outside 1–100, a
//     contentType that is not a media type, a backoff that does not fit a time.Duration, a
//     second YAML document (ignored there), a renewDeadline too short for the retryPeriod
//     (refused there when leader election starts);
//   - accepted here, but not there: profiles whose queueSort lists differ but resolve to the
//     same plugin; arguments and points of a plugin that is not implemented, which are not
//     checked.
package config

import (
	"context"
	"fmt"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// Load reads the configuration file at path, or the standard input for "-", until the context ends. An empty path gives the
// defaults, with their warnings.
//
// The error joins (errors.Join) one *Error per mistake, sorted by line. With it comes what could be read, if anything:
// Resolve says what is wrong with the modules there, and it is of no other use.
func Load(ctx context.Context, path string, cat Catalog) (*Scheduler, []Warning, error) {
	if path == "" {
		return build(newReport("", nil), &configv1.KubeSchedulerConfiguration{}, cat)
	}
	data, err := bounded.File(ctx, path, bounded.Settings)
	if err != nil {
		return nil, nil, fmt.Errorf("read scheduler configuration: %w", err)
	}
	return Parse(data, bounded.Name(path), cat)
}

// Parse is Load for a file in memory; name is its name in errors and warnings.
func Parse(data []byte, name string, cat Catalog) (*Scheduler, []Warning, error) {
	doc, errs := readDocument(name, data)
	r := newReport(name, doc.lines)
	r.errs = errs
	if doc.tree == nil || !checkHeader(r, doc.tree) {
		return nil, nil, r.err()
	}
	cfg := &configv1.KubeSchedulerConfiguration{}
	if !decodeTree(r, nil, doc.lines.root, doc.tree, cfg) {
		return nil, nil, r.err()
	}
	return build(r, cfg, cat)
}

// Default returns the configuration of an absent file: one profile, default-scheduler, with the
// default plugins that are implemented. It panics if the catalog's own default list is invalid,
// which is a bug of the program. Load with an empty path returns the same, and the warnings.
func Default(cat Catalog) *Scheduler {
	s, _, err := Load(context.Background(), "", cat)
	if err != nil {
		panic(fmt.Sprintf("BUG: default configuration: %v", err))
	}
	return s
}
