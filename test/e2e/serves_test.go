package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// server is a scheduler that serves health checks and metrics.
type server struct {
	url    string
	client *http.Client
}

// get sends a request as a user, anonymously if empty.
func (s server) get(t *testing.T, path string, as cluster.User) (int, string) {
	t.Helper()
	code, body, err := s.ask(t.Context(), path, as)
	if err != nil {
		return 0, err.Error()
	}
	return code, body
}

// ask is get with an error.
func (s server) ask(ctx context.Context, path string, as cluster.User) (code int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if as != "" {
		request.Header.Set("Authorization", "Bearer "+as.Token())
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// serve runs a scheduler on a cluster of one node until it has placed a pod, rejected another
// and left a gated one alone.
func serve(t *testing.T, program cluster.Program) server {
	b := newBench(t, "serves-"+string(program), 0, workload.Large())
	if err := load.Nodes(t.Context(), b.client, 0, 1, workload.Large(), false); err != nil {
		t.Fatal(err)
	}
	port, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.Scheduler{Program: program, Port: port}
	if program == cluster.UpstreamProgram {
		s.Flags = []string{"--feature-gates=SchedulerAsyncAPICalls=true"} // writes to the API server as Berth has them, and their metrics
	}
	run(t, b.Cluster, s)
	fits, large, gated := b.pod(0), workload.Pod(b.namespace, "large", 100_000, 1), b.pod(1)
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}}
	for _, pod := range []*v1.Pod{fits, large, gated} {
		if err := load.Pod(t.Context(), b.client, pod); err != nil {
			t.Fatal(err)
		}
	}
	seen := view{client: b.client, namespace: b.namespace}
	for pod, want := range map[*v1.Pod]state{fits: bound, large: rejected} {
		if err := seen.await(t.Context(), pod.Name, want, "", patience); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(1500 * time.Millisecond) // kube-scheduler updates the metrics of plugin durations once a second
	return serverAt(port)
}

// serverAt returns the scheduler that serves at a port.
func serverAt(port int) server {
	return server{url: fmt.Sprintf("https://127.0.0.1:%d", port), client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a certificate that the scheduler made for itself
	}}}
}

// servesAlike compares what Berth serves with what kube-scheduler serves: the access rules, and
// metrics of the same names, types and labels.
func servesAlike(t *testing.T) {
	upstream := make(map[string]*dto.MetricFamily)
	for _, program := range []cluster.Program{cluster.UpstreamProgram, cluster.BerthProgram} {
		t.Run(string(program), func(t *testing.T) {
			s := serve(t, program)
			for _, test := range []struct {
				path string
				as   cluster.User
				want int
			}{
				{"/healthz", "", http.StatusOK},
				{"/livez", "", http.StatusOK},
				{"/readyz", "", http.StatusOK},
				{"/metrics", cluster.Admin, http.StatusOK},
				{"/metrics", cluster.Nobody, http.StatusForbidden},
				{"/metrics", "", http.StatusForbidden},
				{"/metrics", "a stranger", http.StatusUnauthorized},
				{"/configz", cluster.Admin, http.StatusOK},
				{"/configz", cluster.Nobody, http.StatusForbidden},
			} {
				if code, body := s.get(t, test.path, test.as); code != test.want {
					t.Errorf("%s as %q: %d, want %d: %.200s", test.path, test.as, code, test.want, body)
				}
			}
			_, text := s.get(t, "/metrics", cluster.Admin)
			parser := expfmt.NewTextParser(model.LegacyValidation)
			families, err := parser.TextToMetricFamilies(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if program == cluster.UpstreamProgram {
				upstream = families
				return
			}
			compareMetrics(t, families, upstream)
		})
	}
}

// compareMetrics requires every metric of the scheduler to be one of kube-scheduler's, with its
// type and labels, and those that only kube-scheduler has to be listed in docs/differences.md.
func compareMetrics(t *testing.T, ours, theirs map[string]*dto.MetricFamily) {
	const prefix = "scheduler_"
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		their, ok := theirs[name]
		if !ok {
			t.Errorf("kube-scheduler has no metric %s", name)
			continue
		}
		if ours[name].GetType() != their.GetType() {
			t.Errorf("%s is a %v, kube-scheduler's a %v", name, ours[name].GetType(), their.GetType())
		}
		if got, want := labels(ours[name]), labels(their); !slices.Equal(got, want) {
			t.Errorf("%s has labels %q, kube-scheduler's %q", name, got, want)
		}
		if got, want := bounds(ours[name]), bounds(their); !slices.Equal(got, want) {
			t.Errorf("%s has buckets up to %v, kube-scheduler's up to %v", name, got, want)
		}
	}
	for _, name := range alike() {
		got, want := values(ours[prefix+name]), values(theirs[prefix+name])
		for _, labels := range slices.Sorted(maps.Keys(merged(got, want))) {
			if documented := strings.Contains(labels, "extension_point=PreEnqueue") || strings.Contains(labels, "extension_point=Sign"); documented { // docs/differences.md
				continue
			}
			if got[labels] != want[labels] {
				t.Errorf("%s{%s} is %v, kube-scheduler's %v", name, labels, got[labels], want[labels])
			}
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if _, ok := ours[name]; !ok && strings.HasPrefix(name, prefix) && !strings.Contains(string(page), "`"+strings.TrimPrefix(name, prefix)+"`") {
			t.Errorf("kube-scheduler has %s, and docs/differences.md does not say that Berth has not", name)
		}
	}
	// The metrics that dashboards and alerts of kube-scheduler use.
	for _, name := range []string{
		"scheduler_schedule_attempts_total", "scheduler_scheduling_attempt_duration_seconds", "scheduler_scheduling_algorithm_duration_seconds",
		"scheduler_pod_scheduling_sli_duration_seconds", "scheduler_pod_scheduling_attempts", "scheduler_pending_pods",
		"scheduler_queue_incoming_pods_total", "scheduler_unschedulable_pods",
		"scheduler_framework_extension_point_duration_seconds", "scheduler_event_handling_duration_seconds", "scheduler_inflight_events",
		"scheduler_pod_scheduled_after_flush_total", "rest_client_requests_total", "process_cpu_seconds_total", "go_goroutines",
	} {
		if _, ok := ours[name]; !ok {
			t.Errorf("no metric %s", name)
		}
	}
}

// labels returns the names of a metric's labels.
func labels(family *dto.MetricFamily) []string {
	names := make(map[string]bool)
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			names[l.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// alike lists the metrics whose values the scenario of serve determines: they must be equal for
// both schedulers.
func alike() []string {
	return []string{
		"schedule_attempts_total", "scheduling_attempt_duration_seconds", "scheduling_algorithm_duration_seconds", "pod_scheduling_attempts",
		"pod_scheduling_sli_duration_seconds", "queue_incoming_pods_total", "pending_pods", "unschedulable_pods", "cache_size",
		"preemption_attempts_total", "preemption_victims", "pod_scheduled_after_flush_total",
		"async_api_call_execution_total", "async_api_call_execution_duration_seconds", "pending_async_api_calls",
		"framework_extension_point_duration_seconds", "plugin_evaluation_total", "goroutines",
	}
}

// values returns the values of a metric by its labels, and the counts of a histogram. A missing
// metric has the value 0.
func values(family *dto.MetricFamily) map[string]float64 {
	out := make(map[string]float64)
	for _, m := range family.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		out[strings.Join(labels, ",")] = value
	}
	return out
}

// merged returns what is in either map.
func merged(a, b map[string]float64) map[string]float64 {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// bounds returns the upper bounds of the buckets of a histogram; none of another metric.
func bounds(family *dto.MetricFamily) []float64 {
	all := make(map[float64]bool)
	for _, m := range family.GetMetric() {
		for _, b := range m.GetHistogram().GetBucket() {
			all[b.GetUpperBound()] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
