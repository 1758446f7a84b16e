package telemetry_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/telemetry"
)

// TestSeriesGoWithTheirPlugin: each metric that has a label plugin loses the series of a plugin that is gone, also if an attempt that
// the plugin took part in ends later. Those of other plugins stay.
func TestSeriesGoWithTheirPlugin(t *testing.T) {
	const gone = "team-a/p"
	of := telemetry.PluginOf{Plugin: gone, Profile: "default-scheduler"}
	now := &telemetry.State{
		Unschedulable: map[telemetry.PluginOf]int{of: 3},
		Breakers:      []telemetry.Breaker{{PluginOf: of, Open: true, Namespaces: []string{"team-a"}, Starts: map[string]int64{"lost": 6}}},
		Guests:        []telemetry.Guest{{PluginOf: of, Point: "Filter", Fuel: 1, Faults: map[string]int64{"trap": 5}}},
		Trials:        []telemetry.TrialCounts{{PluginOf: of, Decisions: map[string]int64{"elsewhere": 3}}},
		Yanks:         []telemetry.Yank{{PluginOf: of}},
		Rollouts:      []telemetry.Rollout{{Plugin: gone, Step: 2, Failed: "p99", Versions: []telemetry.Version{{Version: "stable"}}}},
	}
	m := telemetry.New("v1", func() *telemetry.State { return now })
	observe := func(plugin string) {
		for sequence := range uint64(40) { // some are sampled
			m.Attempted(&report.Attempt{Profile: "default-scheduler", Sequence: sequence, Timings: []report.Timing{
				{Plugin: plugin, Point: abi.Filter, Calls: 2, Rows: 3, Duration: time.Millisecond},
			}}, nil)
		}
		m.Broken(plugin, "sha256:1")
	}
	// shown are the metrics with series of the plugin.
	shown := func(plugin string) map[string]bool {
		out := make(map[string]bool)
		for line := range scrape(t, m) {
			if name, _, ok := strings.Cut(line, "{"); ok && strings.Contains(line, `plugin="`+plugin+`"`) {
				out[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")] = true
			}
		}
		return out
	}
	m.Attached([]string{gone, "team-b/p"})
	observe(gone)
	observe("team-b/p")
	observe("compiled-in")
	before, others, native := shown(gone), shown("team-b/p"), shown("compiled-in")
	for _, metric := range described(m) {
		if !before[metric] {
			t.Errorf("%s has a label plugin: observe it in this test", metric)
		}
	}
	now = &telemetry.State{}
	m.Attached([]string{"team-b/p"})
	if left := shown(gone); len(left) > 0 {
		t.Errorf("series of a plugin that is gone: %v", left)
	}
	observe(gone) // an attempt ends late
	m.Attached([]string{"team-b/p"})
	if left := shown(gone); len(left) > 0 {
		t.Errorf("series of a plugin that is gone, after a late attempt: %v", left)
	}
	if len(shown("team-b/p")) != len(others) || len(shown("compiled-in")) != len(native) || len(native) == 0 {
		t.Error("series of other plugins are gone")
	}
	m.Attached([]string{gone, "team-b/p"})
	observe(gone)
	if len(shown(gone)) != len(others) {
		t.Error("a plugin of the same name has no series")
	}
}

// described are the metrics that have a label plugin.
func described(m *telemetry.Metrics) (out []string) {
	all := make(chan *prometheus.Desc, 1000)
	m.Describe(all)
	close(all)
	pattern := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: {(.*)}`)
	for d := range all {
		if match := pattern.FindStringSubmatch(d.String()); match != nil && regexp.MustCompile(`\bplugin\b`).MatchString(match[2]) {
			out = append(out, match[1])
		}
	}
	return out
}
