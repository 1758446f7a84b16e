package schedulerperf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// series are the lines of a text of metrics: name and labels, with the value.
type series map[string]float64

func readSeries(text string) (series, error) {
	out := make(series)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return nil, fmt.Errorf("metrics: %q has no value", line)
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q: %w", line, err)
		}
		out[line[:at]] = value
	}
	return out, nil
}

// since subtracts what was there before: the growth of counters, and of the counts and sums of histograms.
func (s series) since(before series) series {
	out := maps.Clone(s)
	for name := range out {
		out[name] -= before[name]
	}
	return out
}

// sum adds up the series of a name that have all of these labels, each as in result="scheduled".
func (s series) sum(name string, labels ...string) (total float64) {
	for line, value := range s {
		of, rest, _ := strings.Cut(line, "{")
		if of != name {
			continue
		}
		if !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains("{"+rest, "{"+l) && !strings.Contains(rest, ","+l) }) {
			total += value
		}
	}
	return total
}

// collected are the counts of the metrics that upstream's collectors read of kube-scheduler, but for
// scheduler_pod_scheduling_duration_seconds, which kube-scheduler no longer has, and
// scheduler_queueing_hint_execution_duration_seconds, which Berth does not have (docs/differences.md). All
// grow in each workload.
func collected() []string {
	return []string{
		"process_cpu_seconds_total",
		"scheduler_schedule_attempts_total",
		"scheduler_scheduling_attempt_duration_seconds_count",
		"scheduler_framework_extension_point_duration_seconds_count",
		"scheduler_plugin_execution_duration_seconds_count",
		"scheduler_event_handling_duration_seconds_count",
	}
}

// missing is an error with the metrics that did not grow.
func (s series) missing() error {
	var errs []error
	for _, name := range collected() {
		if s.sum(name) <= 0 {
			errs = append(errs, fmt.Errorf("metric %s is missing, or did not grow", name))
		}
	}
	return errors.Join(errs...)
}
