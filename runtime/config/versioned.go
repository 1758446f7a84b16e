package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/internal/plain"
)

// redacted replaces a secret.
const redacted = "REDACTED"

// Versioned returns the configuration in the form of a file, with kind and apiVersion. Read
// with the same Catalog it gives the same configuration, without warnings about defaults. Every
// point lists its plugins in execution order, and nothing is left to defaults. It includes the
// keys of extenders' client certificates; Redacted does not.
//
// # Errors
//
// Args cannot be written.
func (s *Scheduler) Versioned() (*configv1.KubeSchedulerConfiguration, error) {
	out := &configv1.KubeSchedulerConfiguration{
		Parallelism:              &s.Parallelism,
		LeaderElection:           s.LeaderElection,
		ClientConnection:         s.ClientConnection,
		PercentageOfNodesToScore: s.PercentageOfNodesToScore,
		PodInitialBackoffSeconds: new(int64(s.PodInitialBackoff / time.Second)),
		PodMaxBackoffSeconds:     new(int64(s.PodMaxBackoff / time.Second)),
		DelayCacheUntilActive:    s.DelayCacheUntilActive,
	}
	out.SetGroupVersionKind(configv1.SchemeGroupVersion.WithKind(configKind))
	out.EnableProfiling, out.EnableContentionProfiling = &s.EnableProfiling, &s.EnableContentionProfiling
	for i := range s.Profiles {
		profile, err := s.Profiles[i].versioned()
		if err != nil {
			return nil, fmt.Errorf("profile %q: %w", s.Profiles[i].SchedulerName, err)
		}
		out.Profiles = append(out.Profiles, profile)
	}
	out.Extenders = s.Extenders
	return out.DeepCopy(), nil // so that nothing is shared
}

// Redacted is Versioned with the keys of extenders' client certificates replaced, so that it
// may be shown.
//
// # Errors
//
// Those of Versioned.
func (s *Scheduler) Redacted() (*configv1.KubeSchedulerConfiguration, error) {
	out, err := s.Versioned()
	if err != nil {
		return nil, err
	}
	for i := range out.Extenders {
		out.Extenders[i].URLPrefix = plain.URL(out.Extenders[i].URLPrefix)
		if t := out.Extenders[i].TLSConfig; t != nil && len(t.KeyData) > 0 {
			t.KeyData = []byte(redacted)
		}
	}
	return out, nil
}

func (p *Profile) versioned() (configv1.KubeSchedulerProfile, error) {
	// Without the defaults of multiPoint, a point has exactly what it lists.
	plugins := &configv1.Plugins{MultiPoint: configv1.PluginSet{Disabled: []configv1.Plugin{{Name: allPlugins}}}}
	for _, to := range pointSets(plugins) {
		for _, ref := range p.Points[to.point] {
			listed := configv1.Plugin{Name: ref.Name}
			if to.point == pointScore {
				listed.Weight = &ref.Weight
			}
			to.set.Enabled = append(to.set.Enabled, listed)
		}
	}
	out := configv1.KubeSchedulerProfile{SchedulerName: &p.SchedulerName, PercentageOfNodesToScore: p.PercentageOfNodesToScore, Plugins: plugins}
	for _, name := range slices.Sorted(maps.Keys(p.Args)) {
		raw, err := p.Args[name].json()
		if err != nil {
			return out, fmt.Errorf("args of %s: %w", name, err)
		}
		out.PluginConfig = append(out.PluginConfig, configv1.PluginConfig{Name: name, Args: runtime.RawExtension{Raw: raw}})
	}
	if len(p.AllowUnenforced) > 0 {
		raw, err := json.Marshal(enforcementArgs{AllowUnenforced: p.AllowUnenforced})
		if err != nil {
			return out, err
		}
		out.PluginConfig = append(out.PluginConfig, configv1.PluginConfig{Name: enforcement, Args: runtime.RawExtension{Raw: raw}})
	}
	return out, nil
}

// json returns the args as a JSON object for a file.
func (a Args) json() ([]byte, error) {
	switch {
	case a.Module != nil:
		return json.Marshal(a.Module.Args())
	case a.Spec != nil:
		return json.Marshal(a.Spec)
	case a.Typed != nil:
		return json.Marshal(a.Typed)
	}
	return a.Raw, nil
}
