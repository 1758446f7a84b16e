package rollout

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// Bounds of the kinds' schemas, for objects that no API server has checked.
const (
	maxSteps      = 16
	maxPercent    = 99
	maxLeast      = 1_000_000_000
	percentFormat = `^(100|[0-9]{1,2})(\.[0-9]{1,3})?%$`
)

// Check refuses what the kinds' schemas refuse, and steps that do not grow. r may be nil.
func Check(r *v1alpha1.Rollout) error {
	if r == nil {
		return nil
	}
	if len(r.Steps) > maxSteps {
		return fmt.Errorf("steps: there are %d, and at most %d are allowed", len(r.Steps), maxSteps)
	}
	last := int32(0)
	for i, s := range r.Steps {
		switch {
		case s.Percent < 1 || s.Percent > maxPercent:
			return fmt.Errorf("steps[%d].percent: %d is not from 1 to %d", i, s.Percent, maxPercent)
		case s.Percent <= last:
			return fmt.Errorf("steps[%d].percent: %d must be more than the %d of the preceding step", i, s.Percent, last)
		case s.MinAttempts < 0 || s.MinAttempts > maxLeast:
			return fmt.Errorf("steps[%d].minAttempts: %d is not from 1 to %d", i, s.MinAttempts, maxLeast)
		}
		last = s.Percent
		if err := duration(s.Pause); err != nil {
			return fmt.Errorf("steps[%d].pause: %w", i, err)
		}
	}
	if err := duration(r.KeepOld); err != nil {
		return fmt.Errorf("keepOld: %w", err)
	}
	if r.Bounds == nil {
		return nil
	}
	b := r.Bounds
	if b.FuelPerRow < 0 {
		return fmt.Errorf("bounds.fuelPerRow: %d is below 1", b.FuelPerRow)
	}
	if err := duration(b.P99); err != nil {
		return fmt.Errorf("bounds.p99: %w", err)
	}
	format := regexp.MustCompile(percentFormat)
	for _, x := range []struct {
		field string
		value v1alpha1.Percent
	}{{"faults", b.Faults}, {"pending", b.Pending}, {"changed", b.Changed}} {
		if x.value != "" && !format.MatchString(string(x.value)) {
			return fmt.Errorf("bounds.%s: %q is not a percentage; write one such as 0.5%%", x.field, x.value)
		}
	}
	return nil
}

func duration(d v1alpha1.Duration) error {
	if d == "" {
		return nil
	}
	if out, err := time.ParseDuration(string(d)); err != nil || out < 0 {
		return fmt.Errorf("%q is not a duration; write one such as 30s or 10m", d)
	}
	return nil
}

// part reads a percentage that has been checked.
func part(p v1alpha1.Percent) float64 {
	out, err := strconv.ParseFloat(strings.TrimSuffix(string(p), "%"), 64)
	if err != nil {
		return 100
	}
	return out
}
