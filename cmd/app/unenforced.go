package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/state"
)

// parseFeature reads a value of --allow-unenforced.
func parseFeature(name string) (state.Feature, error) {
	f, ok := state.ParseFeature(name)
	if !ok {
		return 0, fmt.Errorf("%q is not a feature; features are %s", name, strings.Join(state.FeatureNames(), ", "))
	}
	return f, nil
}

// allowUnenforced leaves features to others in every profile.
func allowUnenforced(s *config.Scheduler, names []string) error {
	for _, name := range names {
		if _, err := parseFeature(name); err != nil {
			return fmt.Errorf("--allow-unenforced: %w", err)
		}
		for i := range s.Profiles {
			if p := &s.Profiles[i]; !slices.Contains(p.AllowUnenforced, name) {
				p.AllowUnenforced = append(p.AllowUnenforced, name)
			}
		}
	}
	return nil
}

// leftToOthers are warnings about profiles that leave features to others.
func leftToOthers(s *config.Scheduler) []config.Warning {
	var out []config.Warning
	for i := range s.Profiles {
		if p := &s.Profiles[i]; len(p.AllowUnenforced) > 0 {
			out = append(out, config.Warning{Detail: fmt.Sprintf("profile %q leaves to others (allowUnenforced): %s; "+
				"without a plugin that enforces them, pods are placed as if they did not use them", p.SchedulerName, strings.Join(p.AllowUnenforced, ", "))})
		}
	}
	return out
}
