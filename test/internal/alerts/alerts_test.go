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
	for _, test := range []struct {
		alert, when string
		scrape      func(n int) string
		fires       bool
	}{
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
