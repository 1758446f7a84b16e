package telemetry_test

import (
	"fmt"
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
	breaker := telemetry.Breaker{PluginOf: of, Digest: "sha256:1", Open: true, Namespaces: []string{"team-a"}, Starts: map[string]int64{"lost": 6}}
	runs := telemetry.Breaker{PluginOf: telemetry.PluginOf{Plugin: "team-b/p", Profile: "default-scheduler"}, Digest: "sha256:2"}
	now := &telemetry.State{
		Unschedulable: map[telemetry.PluginOf]int{of: 3},
		Breakers:      []telemetry.Breaker{breaker, runs},
		Guests:        []telemetry.Guest{{PluginOf: of, Point: "Filter", Fuel: 1, Faults: map[string]int64{"trap": 5}}},
		Trials:        []telemetry.TrialCounts{{PluginOf: of, Decisions: map[string]int64{"elsewhere": 3}}},
		Yanks:         []telemetry.Yank{{PluginOf: of}},
		Rollouts:      []telemetry.Rollout{{Plugin: gone, Step: 2, Failed: "p99", Versions: []telemetry.Version{{Version: "stable"}}}},
	}
	m := telemetry.New("v1", func() *telemetry.State { return now })
	observe := func(plugin, digest string) {
		for sequence := range uint64(40) { // some are sampled
			m.Attempted(&report.Attempt{Profile: "default-scheduler", Sequence: sequence, Timings: []report.Timing{
				{Plugin: plugin, Digest: digest, Point: abi.Filter, Calls: 2, Rows: 3, Duration: time.Millisecond},
			}}, nil)
		}
		m.Broken(plugin, digest)
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
	other := telemetry.Module{Plugin: "team-b/p", Digest: "sha256:2"}
	m.Running([]telemetry.Module{{Plugin: gone, Digest: "sha256:1"}, other})
	observe(gone, "sha256:1")
	observe(other.Plugin, other.Digest)
	observe("compiled-in", "")
	before, others, native := shown(gone), shown("team-b/p"), shown("compiled-in")
	for _, metric := range described(m) {
		if !before[metric] {
			t.Errorf("%s has a label plugin: observe it in this test", metric)
		}
	}
	now = &telemetry.State{Breakers: []telemetry.Breaker{runs}}
	m.Running([]telemetry.Module{other})
	if left := shown(gone); len(left) > 0 {
		t.Errorf("series of a plugin that is gone: %v", left)
	}
	for range 1000 { // however long an attempt takes
		m.Running([]telemetry.Module{other})
	}
	observe(gone, "sha256:1")
	m.Running([]telemetry.Module{other})
	if left := shown(gone); len(left) > 0 {
		t.Errorf("series of a plugin that is gone, after a late attempt: %v", left)
	}
	m.Broken(gone, "sha256:1")
	m.Running([]telemetry.Module{other})
	if left := shown(gone); len(left) > 0 {
		t.Errorf("series of a plugin that is gone, after it was late found to be broken: %v", left)
	}
	observe(gone, "sha256:1")
	shown(gone)
	if left := shown(gone); len(left) > 0 {
		t.Errorf("series of a plugin that is gone, and nobody calls Running: %v", left)
	}
	if len(shown("team-b/p")) != len(others) || len(shown("compiled-in")) != len(native) || len(native) == 0 {
		t.Error("series of other plugins are gone")
	}
	now.Breakers = []telemetry.Breaker{{PluginOf: of, Digest: "sha256:1"}, runs}
	m.Running([]telemetry.Module{{Plugin: gone, Digest: "sha256:1"}, other})
	observe(gone, "sha256:1")
	if len(shown(gone)) != len(others) {
		t.Error("a plugin of the same name has no series")
	}
}

// TestSeriesGoWithTheirVersion: a plugin that is published again and again has the series of the version that runs.
func TestSeriesGoWithTheirVersion(t *testing.T) {
	m := telemetry.New("v1", nil)
	size := 0
	for version := range 50 {
		digest := fmt.Sprint("sha256:", version)
		m.Running([]telemetry.Module{{Plugin: "team-a/p", Digest: digest}})
		for sequence := range uint64(40) {
			m.Attempted(&report.Attempt{Profile: "default-scheduler", Sequence: sequence, Timings: []report.Timing{
				{Plugin: "team-a/p", Digest: digest, Point: abi.Filter, Calls: 1, Rows: 1},
			}}, nil)
		}
		m.Broken("team-a/p", digest)
		m.Running([]telemetry.Module{{Plugin: "team-a/p", Digest: digest}})
		n := 0
		for line := range scrape(t, m) {
			if strings.Contains(line, `plugin="team-a/p"`) {
				n++
			}
			if strings.Contains(line, `digest="sha256:`) && !strings.Contains(line, fmt.Sprintf("digest=%q", digest)) {
				t.Fatalf("a series of an earlier version: %s", line)
			}
		}
		if line := fmt.Sprintf(`scheduler_plugin_evaluation_total{extension_point="Filter",plugin="team-a/p",profile="default-scheduler"} %d`, 40*(version+1)); !scrape(t, m)[line] {
			t.Fatalf("without %s", line)
		}
		if version == 0 {
			size = n
		}
		if n != size || n == 0 {
			t.Fatalf("%d series of a plugin at version %d, %d at the first", n, version, size)
		}
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
