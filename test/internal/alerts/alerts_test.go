package alerts_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/berth-scheduler/berth/test/internal/alerts"
)

var root = filepath.Join("..", "..", "..")

// TestRules: the alerts are those of docs/run.md, with the same expressions in the same
// order, and Prometheus can read them.
func TestRules(t *testing.T) {
	rules, err := alerts.Rules(filepath.Join(root, "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	documented, err := alerts.Documented(filepath.Join(root, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) != len(documented) {
		t.Fatalf("deploy/monitoring/alerts.yaml has %d alerts, docs/run.md %d", len(rules), len(documented))
	}
	for i, rule := range rules {
		if d := documented[i]; rule.Name != d.Name || rule.Expression != d.Expression {
			t.Errorf("deploy/monitoring/alerts.yaml has\n%s: %s\nand docs/run.md\n%s: %s", rule.Name, rule.Expression, d.Name, d.Expression)
		}
		if names, err := alerts.Metrics(rule.Expression); err != nil || len(names) == 0 {
			t.Errorf("%s reads %q: %v", rule.Name, names, err)
		}
		if rule.For != "" {
			if _, err := model.ParseDuration(rule.For); err != nil {
				t.Errorf("%s: %v", rule.Name, err)
			}
		}
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or no summary", rule.Name)
		}
	}
}

// TestOwnSeries: what another scheduler does fires no alert, and the same of Berth does.
func TestOwnSeries(t *testing.T) {
	rules, err := alerts.Rules(filepath.Join(root, "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(instance string, count int) string { // errors, and pods that take longer than 10 s
		on := fmt.Sprintf("job=\"schedulers\",instance=%q,profile=\"of-%[1]s\"", instance)
		return fmt.Sprintf(`leader_election_master_status{name="kube-scheduler",%[1]s} 1
scheduler_schedule_attempts_total{result="error",%[1]s} %[2]d
scheduler_pod_scheduling_sli_duration_seconds_bucket{le="10",%[1]s} 0
scheduler_pod_scheduling_sli_duration_seconds_bucket{le="+Inf",%[1]s} %[2]d
`, on, count)
	}
	for name, test := range map[string]struct {
		berth string // more of its metrics
		want  string
	}{
		"kube-scheduler": {"", "BerthNoLeader"},
		"Berth":          {`berth_build_info{version="v1",job="schedulers",instance="b"} 1` + "\n", "BerthSchedulingErrors BerthSchedulingSlow"},
	} {
		t.Run(name, func(t *testing.T) {
			s := alerts.NewStore()
			for count := range 3 {
				if err := s.Scrape(of("a", 100*count) + of("b", 100*count) + test.berth); err != nil {
					t.Fatal(err)
				}
			}
			var fired []string
			for _, rule := range rules {
				got, err := s.Eval(t.Context(), rule.Expression)
				if err != nil {
					t.Fatal(err)
				}
				if len(got) > 0 {
					fired = append(fired, rule.Name)
				}
				if len(got) > 1 {
					t.Errorf("%s fires for both: %q", rule.Name, got)
				}
			}
			if got := strings.Join(fired, " "); got != test.want {
				t.Errorf("%s fire, want %s", got, test.want)
			}
		})
	}
}

// TestFiresOn: an alert fires on scrapes that show its cause, and not on those that show something like it.
func TestFiresOn(t *testing.T) {
	rules, err := alerts.Rules(filepath.Join(root, "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	attempts := func(instance, profile string, n int) string {
		return fmt.Sprintf("scheduler_schedule_attempts_total{job=\"s\",instance=%q,profile=%q,result=\"scheduled\"} %d\n", instance, profile, n)
	}
	held := func(plugin string, n int) func(int) string {
		return func(int) string {
			return fmt.Sprintf("scheduler_unschedulable_pods{plugin=%q,profile=\"p\"} %d\n", plugin, n)
		}
	}
	const berth = "berth_build_info{job=\"s\",instance=\"b\"} 1\n"
	const of = `job="s",instance="b"`
	always := func(text string) func(int) string { return func(int) string { return text } }
	leads := func(leader int) string { return fmt.Sprintf("leader_election_master_status{%s} %d\n", of, leader) }
	// counts is a counter that grows with each scrape by step, beside something else.
	counts := func(series, beside string, step int) func(int) string {
		return func(n int) string { return fmt.Sprintf("%s %d\n%s", series, n/10*step, beside) }
	}
	slow := func(beside, le string) func(int) string {
		return func(n int) string {
			bucket := "scheduler_pod_scheduling_sli_duration_seconds_bucket{" + of + ",le=%q} %d\n"
			text := ""
			for _, bound := range []string{"0.1", "10", "+Inf"} {
				count := 0
				if bound == "+Inf" || le == "0.1" || le == bound {
					count = 100 * n
				}
				text += fmt.Sprintf(bucket, bound, count)
			}
			return text + beside
		}
	}
	pending := func(queue string, seconds, leader int) func(int) string {
		return always(fmt.Sprintf("berth_oldest_pending_seconds{%s,queue=%q} %d\n%s", of, queue, seconds, leads(leader)))
	}
	tested := make(map[string][2]bool) // whether it fires, and does not
	for _, test := range []struct {
		alert, when string
		scrape      func(n int) string
		fires       bool
	}{
		{"BerthNoLeader", "all wait", always(berth + leads(0)), true},
		{"BerthNoLeader", "one leads", always(berth + leads(1)), false},
		{"BerthNoLeader", "kube-scheduler leads", always(strings.ReplaceAll(leads(1), `"b"`, `"k"`)), true},
		{"BerthWritesBlocked", "for long", always(`berth_write_blocked_seconds{verb="create",kind="pods/binding"} 40`), true},
		{"BerthWritesBlocked", "a moment", always(`berth_write_blocked_seconds{verb="create",kind="pods/binding"} 3`), false},
		{"BerthWatchFailing", "for long", always(`berth_watch_failing_seconds{resource="nodes"} 31`), true},
		{"BerthWatchFailing", "watched", always(`berth_watch_failing_seconds{resource="nodes"} 0`), false},
		{"BerthBreakerOpen", "open", always(`berth_plugin_breaker_open{plugin="x"} 1`), true},
		{"BerthBreakerOpen", "closed", always(`berth_plugin_breaker_open{plugin="x"} 0`), false},
		{"BerthBreakerOpenForNamespace", "open", always(`berth_plugin_breaker_open_namespaces{plugin="x",namespace="n"} 1`), true},
		{"BerthBreakerOpenForNamespace", "for all", always(`berth_plugin_breaker_open{plugin="x"} 1`), false},
		{"BerthPluginFaults", "some", counts(`berth_plugin_faults_total{plugin="x"}`, "", 1), true},
		{"BerthPluginFaults", "none any more", always(`berth_plugin_faults_total{plugin="x"} 7`), false},
		{"BerthModuleRefused", "a file", always(`berth_plugin_folder_refused{file="x.wasm"} 1`), true},
		{"BerthModuleRefused", "none", always(`berth_plugin_folder_refused{file="x.wasm"} 0`), false},
		{"BerthSchedulingErrors", "some", counts(`scheduler_schedule_attempts_total{result="error",`+of+`}`, berth, 1), true},
		{"BerthSchedulingErrors", "no room", counts(`scheduler_schedule_attempts_total{result="unschedulable",`+of+`}`, berth, 1), false},
		{"BerthSchedulingErrors", "of kube-scheduler", counts(`scheduler_schedule_attempts_total{result="error",job="s",instance="k"}`, berth, 1), false},
		{"BerthPanics", "some", counts(`berth_panics_total{place="attempt"}`, "", 1), true},
		{"BerthPanics", "none any more", always(`berth_panics_total{place="attempt"} 2`), false},
		{"BerthSchedulingSlow", "more than 10 s", slow(berth, ""), true},
		{"BerthSchedulingSlow", "at once", slow(berth, "0.1"), false},
		{"BerthSchedulingSlow", "of kube-scheduler", slow("", ""), false},
		{"BerthPodsPending", "no node fits", pending("unschedulable", 1000, 1), true},
		{"BerthPodsPending", "not tried", pending("active", 1000, 1), true},
		{"BerthPodsPending", "not yet", pending("unschedulable", 800, 1), false},
		{"BerthPodsPending", "gated", pending("gated", 1000, 1), false},
		{"BerthPodsPending", "a standby replica", pending("active", 1000, 0), false},
		{"BerthRecordingStopped", "stopped", always("berth_recording_stopped 1"), true},
		{"BerthRecordingStopped", "goes on", always("berth_recording_stopped 0"), false},
		{"BerthPartFailing", "the cache", always(`berth_part_failing{part="module-cache"} 1`), true},
		{"BerthPartFailing", "works", always(`berth_part_failing{part="module-cache"} 0`), false},
		{"BerthPartFailing", "the recording, which has an alert", always(`berth_part_failing{part="recording"} 1`), false},
		{"BerthRolloutFailed", "goes on", always(`berth_rollout_failed{plugin="x",bound="p99"} 0`), false},
		{"BerthPluginMissing", "pods wait", held("TenantPluginNotReady", 1), true},
		{"BerthPluginMissing", "none do", held("TenantPluginNotReady", 0), false},
		{"BerthPluginMissing", "another plugin", held("NodeResourcesFit", 1), false},
		{"BerthRolloutFailed", "one failed", func(int) string { return `berth_rollout_failed{plugin="x",bound="p99"} 1` }, true},
		{"BerthProfileServedTwice", "one profile", func(n int) string { return attempts("k", "p", n) + attempts("b", "p", n) + berth }, true},
		{"BerthProfileServedTwice", "other profiles", func(n int) string { return attempts("k", "q", n) + attempts("b", "p", n) + berth }, false},
		{"BerthProfileServedTwice", "one waits", func(n int) string { return attempts("k", "p", 5) + attempts("b", "p", n) + berth }, false},
		{"BerthProfileServedTwice", "neither is Berth", func(n int) string { return attempts("k", "p", n) + attempts("l", "p", n) }, false},
	} {
		s := alerts.NewStore()
		for n := range 6 {
			if err := s.Scrape(strings.TrimSuffix(test.scrape(10*n), "\n") + "\n"); err != nil {
				t.Fatal(err)
			}
		}
		for _, rule := range rules {
			if rule.Name != test.alert {
				continue
			}
			got, err := s.Eval(t.Context(), rule.Expression)
			if err != nil || len(got) > 0 != test.fires {
				t.Errorf("%s, %s: %q, %v", test.alert, test.when, got, err)
			}
			both := tested[rule.Name]
			tested[rule.Name] = [2]bool{both[0] || test.fires, both[1] || !test.fires}
		}
	}
	for _, rule := range rules {
		if tested[rule.Name] != [2]bool{true, true} {
			t.Errorf("%s has no scrapes on which it fires, or none on which it does not", rule.Name)
		}
	}
}

// TestDashboard: the queries of all panels can be read.
func TestDashboard(t *testing.T) {
	panels, err := alerts.Dashboard(filepath.Join(root, "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	if len(panels) < 10 {
		t.Errorf("%d queries", len(panels))
	}
	for _, p := range panels {
		if names, err := alerts.Metrics(p.Expression); err != nil || len(names) == 0 {
			t.Errorf("%s reads %q: %v", p.Title, names, err)
		}
		if strings.Contains(p.Expression, "$") || p.Title == "" {
			t.Errorf("%q: %s", p.Title, p.Expression)
		}
	}
}

// TestStore: what is scraped is evaluated as Prometheus would.
func TestStore(t *testing.T) {
	s := alerts.NewStore()
	scrape := func(text string) {
		t.Helper()
		if err := s.Scrape(text); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(expression, want string) {
		t.Helper()
		got, err := s.Eval(t.Context(), expression)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
	expect(`absent(up)`, `{} => 1 @[1767225600000]`)
	scrape("# TYPE up gauge\nup{a=\"x\"} 1\nup{a=\"y\"} 0\nn_total 3\n")
	expect(`up == 1`, `{__name__="up", a="x"} => 1 @[1767225630000]`)
	expect(`rate(n_total[5m])`, ``)
	scrape("up{a=\"y\"} 0\nn_total 3\n")
	expect(`up == 1`, ``) // stale
	expect(`rate(n_total[5m]) > 0`, ``)
	scrape("up{a=\"y\"} 1\nn_total 33\n")
	expect(`n_total - n_total offset 30s`, `{} => 30 @[1767225690000]`)
	scrape("")
	expect(`absent(up)`, `{} => 1 @[1767225720000]`)
	if !s.Has("n_total") || s.Has("other") {
		t.Error("names are mixed up")
	}
	for range 5 * time.Minute / alerts.Interval {
		scrape("")
	}
	expect(`rate(n_total[5m])`, ``)
}
