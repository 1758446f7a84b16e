package telemetry_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/telemetry"
)

// scrape returns the non-zero lines of the metrics of berth and scheduler, without buckets.
func scrape(t *testing.T, m *telemetry.Metrics) map[string]bool {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	out := make(map[string]bool)
	for line := range strings.Lines(w.Body.String()) {
		out[strings.TrimSpace(line)] = true
	}
	return out
}

// TestMetrics: observations are counted under kube-scheduler's names.
func TestMetrics(t *testing.T) {
	now := &telemetry.State{
		Pending:       map[string]int{"active": 1, "backoff": 2, "unschedulable": 3, "gated": 4},
		Unschedulable: map[telemetry.PluginOf]int{{Plugin: "NodeResourcesFit", Profile: "default-scheduler"}: 3},
		Nodes:         5, Pods: 6, Assumed: 7, Binding: 8, Evicting: 9, Writes: 10,
		Events: map[string]int{"NodeAdd": 11}, Popped: 12, Kept: telemetry.Kept{Keys: 13, Bytes: 1 << 20, Evicted: 14},
		Failing: []telemetry.FailingWrites{
			{Verb: "create", Kind: "pods/binding", Code: "403", Failures: 21, Objects: 2, Oldest: 40 * time.Second, Wholly: 30 * time.Second},
			{Verb: "create", Kind: "pods/binding", Code: "500", Failures: 1, Wholly: 30 * time.Second},
		},
		Oldest:    map[string]time.Duration{"active": 90 * time.Second},
		Unwritten: map[string]int64{"late": 12, "merged": 5},
		Watches:   map[string]time.Duration{"nodes": time.Minute, "pods": 0},
		Budgets:   []telemetry.Budget{{Kind: "pending", Waiting: 3, Charged: 20, Held: 7}},
		Debts:     telemetry.Debts{Open: 1, Opened: 15, Paid: 11, Decayed: 2, Forgiven: 3, Void: 4},
		Breakers: []telemetry.Breaker{{PluginOf: telemetry.PluginOf{Plugin: "guest", Profile: "default-scheduler"},
			Digest: "sha256:1", Open: true, Opened: 3, Namespaces: []string{"team-a"}, Starts: map[string]int64{"lost": 6}}},
		Guests: []telemetry.Guest{{
			PluginOf: telemetry.PluginOf{Plugin: "guest", Profile: "default-scheduler"}, Digest: "sha256:1", Point: "Filter",
			Fuel: 1234, Faults: map[string]int64{"trap": 5},
		}},
		Trials: []telemetry.TrialCounts{{PluginOf: telemetry.PluginOf{Plugin: "next", Profile: "default-scheduler"}, Decisions: map[string]int64{"elsewhere": 3}}},
		Yanks:  []telemetry.Yank{{PluginOf: telemetry.PluginOf{Plugin: "guest", Profile: "default-scheduler"}, Digest: "sha256:1", Yanked: true}},
		Rollouts: []telemetry.Rollout{{Plugin: "team-a/pool", Step: 2, Failed: "p99", Versions: []telemetry.Version{
			{Version: "stable", Digest: "sha256:1", Share: 0.75, Attempts: 30}, {Version: "canary", Digest: "sha256:2", Share: 0.25, Attempts: 10},
		}}},
		Folder: map[string]bool{"plugins/bad.wasm": true, "plugins/good.wasm": false},
	}
	m := telemetry.New("v1", func() *telemetry.State { return now })
	timings := []report.Timing{
		{Plugin: "guest", Digest: "sha256:1", Point: abi.Filter, Code: abi.Unschedulable, Calls: 2, Rows: 2000, Faults: 1, Duration: 500 * time.Millisecond},
		{Plugin: "guest", Digest: "sha256:1", Point: abi.PreFilter, Code: abi.Skip, Calls: 1},
		{Plugin: "guest", Digest: "sha256:1", Point: abi.PreScore, Calls: 2},
		{Plugin: "guest", Digest: "sha256:1", Point: abi.Score, Calls: 1, Rows: 700},
	}
	m.Attempted(&report.Attempt{Profile: "default-scheduler", Code: abi.Success, Timings: timings,
		Points: []report.PointTiming{{Point: abi.Filter, Duration: 250 * time.Millisecond}}}, nil)
	m.Ended(&report.Ending{Profile: "default-scheduler", Code: abi.Success, Try: 2, Duration: 3 * time.Millisecond, SinceFirst: 4 * time.Second,
		LeftToOthers: []string{"volume-claims"}})
	m.Ended(&report.Ending{Profile: "default-scheduler", Code: abi.Success, Try: 20, Flushed: true,
		Wait:   &report.PermitWait{Code: abi.Unschedulable, Duration: 2 * time.Second},
		Points: []report.PointTiming{{Point: abi.Permit, Code: abi.Wait, Duration: time.Second}}})
	m.Handled(state.EventAssignedPodAdd(), time.Second)
	m.Handled(state.EventAssignedPodAdd(), time.Second)
	m.Attempted(&report.Attempt{Profile: "default-scheduler", Code: abi.Unschedulable, PostFilter: "preemption: no", Duration: time.Millisecond}, nil)
	m.Attempted(&report.Attempt{Profile: "default-scheduler", Code: abi.Unschedulable, Victims: []string{"ns/a", "ns/b"}}, nil)
	m.Attempted(&report.Attempt{Profile: "default-scheduler", Code: abi.Error, Message: "BUG: it cannot be"}, nil)
	m.Ended(&report.Ending{Profile: "default-scheduler", Code: abi.Error})
	m.Panicked("attempt")
	m.Queued("active", "UnscheduledPodAdd")
	m.Wrote("pod_binding", time.Second, nil)
	m.Wrote("pod_binding", 2*time.Second, errors.New("no"))
	m.Wrote("claim_create", time.Second, nil)
	m.Wrote("claim_create", time.Second, errors.New("no"))
	m.PartFailing("index", true)
	m.PartFailing("debug-socket", true)
	m.PartFailing("debug-socket", false)
	m.Sent(3 * time.Second)
	m.Prepared("default-scheduler", "gpu.example.com", "timeout", true, 3*time.Second)
	m.Prepared("default-scheduler", "gpu.example.com", "timeout", false, 3*time.Second)

	const of = `profile="default-scheduler"`
	const guest = `{digest="sha256:1",extension_point="Filter",plugin="guest",` + of + `}`
	got := scrape(t, m)
	for _, want := range []string{
		`scheduler_schedule_attempts_total{` + of + `,result="scheduled"} 2`,
		`scheduler_schedule_attempts_total{` + of + `,result="unschedulable"} 2`,
		`scheduler_schedule_attempts_total{` + of + `,result="error"} 2`,
		`berth_bugs_total{` + of + `} 1`,
		`berth_panics_total{place="attempt"} 1`,
		`scheduler_scheduling_attempt_duration_seconds_sum{` + of + `,result="unschedulable"} 0.001`,
		`scheduler_scheduling_algorithm_duration_seconds_count 4`,
		`scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="2"} 4`,
		`scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"} 1`,
		`scheduler_pod_scheduling_attempts_sum 22`,
		`scheduler_preemption_attempts_total 2`,
		`berth_shadow_decisions_total{plugin="next",` + of + `,result="elsewhere"} 3`,
		`berth_rollout_step{plugin="team-a/pool"} 2`,
		`berth_rollout_failed{bound="p99",plugin="team-a/pool"} 1`,
		`berth_rollout_share{digest="sha256:1",plugin="team-a/pool",version="stable"} 0.75`,
		`berth_rollout_share{digest="sha256:2",plugin="team-a/pool",version="canary"} 0.25`,
		`berth_rollout_step_attempts{digest="sha256:2",plugin="team-a/pool",version="canary"} 10`,
		`berth_write_failures_total{code="403",kind="pods/binding",verb="create"} 21`,
		`berth_write_failures_total{code="500",kind="pods/binding",verb="create"} 1`,
		`berth_write_failing_objects{code="403",kind="pods/binding",verb="create"} 2`,
		`berth_write_failing_seconds{code="403",kind="pods/binding",verb="create"} 40`,
		`berth_write_blocked_seconds{kind="pods/binding",verb="create"} 30`,
		`berth_watch_failing_seconds{resource="nodes"} 60`, `berth_watch_failing_seconds{resource="pods"} 0`,
		`berth_events_unwritten_total{reason="late"} 12`, `berth_events_unwritten_total{reason="merged"} 5`,
		`berth_oldest_pending_seconds{queue="active"} 90`,
		`berth_reuse_keys 13`,
		`berth_reuse_bytes 1.048576e+06`,
		`berth_reuse_evictions_total 14`,
		`berth_budget_waiting_pods{kind="pending"} 3`, `berth_budget_attempts_total{kind="pending"} 20`,
		`berth_budget_held_total{kind="pending"} 7`,
		`berth_preemption_debts 1`, `berth_preemption_debts_total{event="opened"} 15`, `berth_preemption_debts_total{event="paid"} 11`,
		`berth_preemption_debts_total{event="decayed"} 2`, `berth_preemption_debts_total{event="forgiven"} 3`,
		`berth_preemption_debts_total{event="void"} 4`,
		`scheduler_preemption_victims_sum 2`,
		`berth_part_failing{part="index"} 1`, `berth_part_failing{part="debug-socket"} 0`,
		`berth_decision_age_seconds_sum 3`,
		`scheduler_queue_incoming_pods_total{event="UnscheduledPodAdd",queue="active"} 1`,
		`scheduler_queue_incoming_entities_total{event="UnscheduledPodAdd",queue="active",type="pod"} 1`,
		`scheduler_plugin_evaluation_total{extension_point="Filter",plugin="guest",` + of + `} 2000`,
		`scheduler_plugin_evaluation_total{extension_point="Score",plugin="guest",` + of + `} 700`,
		`scheduler_plugin_evaluation_total{extension_point="PreScore",plugin="guest",` + of + `} 2`,
		`scheduler_plugin_evaluation_total{extension_point="PreFilter",plugin="guest",` + of + `} 0`,
		`scheduler_async_api_call_execution_total{call_type="pod_binding",result="success"} 1`,
		`scheduler_async_api_call_execution_total{call_type="pod_binding",result="error"} 1`,
		`scheduler_async_api_call_execution_duration_seconds_sum{call_type="pod_binding",result="success"} 1`,
		`scheduler_async_api_call_execution_duration_seconds_sum{call_type="pod_binding",result="error"} 2`,
		`dynamic_resource_allocation_resourceclaim_creates_total{admin_access="false",owner_api_group="",owner_api_kind="Pod",status="success"} 1`,
		`dynamic_resource_allocation_resourceclaim_creates_total{admin_access="false",owner_api_group="",owner_api_kind="Pod",status="failure"} 1`,
		`scheduler_dra_bindingconditions_allocations_total{driver="gpu.example.com",profile="default-scheduler",status="timeout"} 1`,
		`scheduler_dra_bindingconditions_wait_duration_seconds_sum{driver="gpu.example.com",profile="default-scheduler",status="timeout"} 6`,
		`scheduler_framework_extension_point_duration_seconds_sum{extension_point="Filter",` + of + `,status="Success"} 0.25`,
		`scheduler_framework_extension_point_duration_seconds_sum{extension_point="Permit",` + of + `,status="Wait"} 1`,
		`scheduler_plugin_execution_duration_seconds_sum{extension_point="Filter",plugin="guest",status="Unschedulable"} 0.5`,
		`scheduler_event_handling_duration_seconds_sum{event="AssignedPodAdd"} 2`,
		`scheduler_permit_wait_duration_seconds_sum{result="Unschedulable"} 2`,
		`scheduler_pod_scheduled_after_flush_total 1`,
		`berth_pods_unenforced_total{feature="volume-claims",` + of + `} 1`,
		`scheduler_inflight_events{event="NodeAdd"} 11`,
		`scheduler_inflight_events{event="PodPopped"} 12`,
		`berth_plugin_calls_total` + guest + ` 2`,
		`berth_plugin_rows_total` + guest + ` 2000`,
		`berth_plugin_faults_total` + guest + ` 1`,
		`berth_plugin_seconds_total` + guest + ` 0.5`,
		`berth_plugin_breaker_open{digest="sha256:1",plugin="guest",` + of + `} 1`,
		`berth_plugin_yanked{digest="sha256:1",plugin="guest",` + of + `} 1`,
		`berth_plugin_breaker_open_namespaces{digest="sha256:1",namespace="team-a",plugin="guest",` + of + `} 1`,
		`berth_plugin_breaker_opened_total{digest="sha256:1",plugin="guest",` + of + `} 3`,
		`berth_plugin_starts_total{cause="lost",digest="sha256:1",plugin="guest",` + of + `} 6`,
		`berth_plugin_fuel_total` + guest + ` 1234`,
		`berth_plugin_faults_by_kind_total{digest="sha256:1",extension_point="Filter",kind="trap",plugin="guest",` + of + `} 5`,
		`berth_plugin_folder_refused{file="plugins/bad.wasm"} 1`,
		`berth_plugin_folder_refused{file="plugins/good.wasm"} 0`,
		`berth_build_info{version="v1"} 1`,
		`scheduler_pending_pods{queue="active"} 1`,
		`scheduler_pending_pods{queue="backoff"} 2`,
		`scheduler_pending_pods{queue="unschedulable"} 3`,
		`scheduler_pending_pods{queue="gated"} 4`,
		`scheduler_pending_pods{queue="incomplete"} 0`,
		`scheduler_pending_pods{queue="pending"} 0`,
		`scheduler_queued_entities{queue="unschedulable",type="pod"} 3`,
		`scheduler_unschedulable_pods{plugin="NodeResourcesFit",` + of + `} 3`,
		`scheduler_cache_size{type="nodes"} 5`,
		`scheduler_cache_size{type="pods"} 6`,
		`scheduler_cache_size{type="assumed_pods"} 7`,
		`scheduler_goroutines{operation="binding"} 8`,
		`scheduler_goroutines{operation="preemption"} 9`,
		`scheduler_pending_async_api_calls{call_type="pod_status_patch"} 10`,
	} {
		if !got[want] {
			t.Errorf("there is no line %s", want)
		}
	}

	now = nil // no state available
	if got := scrape(t, m); got[`scheduler_pending_pods{queue="active"} 1`] || !got[`scheduler_pod_scheduling_attempts_sum 22`] {
		t.Error("without a state the other metrics are missing")
	}
	if !scrape(t, telemetry.New("v2", nil))[`berth_build_info{version="v2"} 1`] {
		t.Error("metrics without a state")
	}
}

// TestProcess: metrics of the process are included, and panics that did not happen.
func TestProcess(t *testing.T) {
	got := scrape(t, telemetry.New("v1", nil, "attempt"))
	for _, want := range []string{
		`# TYPE go_goroutines gauge`, `# TYPE process_cpu_seconds_total counter`, `berth_panics_total{place="attempt"} 0`,
	} {
		if !got[want] {
			t.Errorf("there is no line %s", want)
		}
	}
}

// TestSampled: the time of plugins is measured in about one attempt of ten, in both halves of
// that attempt.
func TestSampled(t *testing.T) {
	m := telemetry.New("v1", nil)
	const tries = 1000
	of := []report.Timing{{Plugin: "p", Point: abi.Score, Calls: 1, Duration: time.Second}}
	after := []report.Timing{{Plugin: "p", Point: abi.Bind, Calls: 1, Duration: time.Second}}
	for n := range uint64(tries) {
		m.Attempted(&report.Attempt{Sequence: n, Timings: of}, nil)
		m.Ended(&report.Ending{Sequence: n, Timings: after})
	}
	got := make(map[string]int)
	for line := range scrape(t, m) {
		for _, point := range []string{"Score", "Bind"} {
			if count, ok := strings.CutPrefix(line, `scheduler_plugin_execution_duration_seconds_count{extension_point="`+point+`",plugin="p",status="Success"} `); ok {
				got[point], _ = strconv.Atoi(count)
			}
		}
	}
	if n := got["Score"]; n != got["Bind"] || n < tries/20 || n > tries/5 {
		t.Errorf("measured in %v of %d tries", got, tries)
	}
}

// TestObserveAllocates: the allocations of an attempt do not grow with the number of
// measurements.
func TestObserveAllocates(t *testing.T) {
	m := telemetry.New("v1", nil)
	timings := make([]report.Timing, 30)
	for i := range timings {
		timings[i] = report.Timing{Plugin: "p" + strconv.Itoa(i), Point: abi.Filter, Calls: 5, Rows: 5000}
	}
	points := []report.PointTiming{{Point: abi.PreFilter}, {Point: abi.Filter}, {Point: abi.PreScore}, {Point: abi.Score}}
	few := &report.Attempt{Sequence: 1, Profile: "p", Timings: timings[:1], Points: points[:1]}
	many := &report.Attempt{Sequence: 1, Profile: "p", Timings: timings, Points: points}
	event := state.EventAssignedPodAdd()
	a := testing.AllocsPerRun(100, func() { m.Attempted(few, nil) })
	b := testing.AllocsPerRun(100, func() { m.Attempted(many, nil); m.Handled(event, time.Second) })
	if b > a {
		t.Errorf("%v allocations for one plugin and point, %v for %d plugins, %d points and an event", a, b, len(timings), len(points))
	}
}
