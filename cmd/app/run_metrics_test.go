package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/kube/kubefake"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

const debts = "it takes a preemption by a pod of a tenant; TestScenarios of runtime/scheduler and TestMetrics of runtime/telemetry have it"

const budgets = "it takes a plugin of a tenant that has pods retried; TestNeighbours of runtime/scheduler and TestMetrics of " +
	"runtime/telemetry have it"

const rollouts = "it takes objects of the API; TestProgress of runtime/tenancy/follow and TestMetrics of runtime/telemetry have it"

const refusals = "it takes an API server that refuses; TestFailingWrites and TestFailingWatches of runtime/kube have it"

// notHere are metrics that nothing in TestRestEveryMetricMoves moves, with the reason.
var notHere = map[string]string{
	"berth_recording_stopped":                                 "it takes a disk that refuses; the tests of runtime/telemetry and runtime/record have it",
	"berth_part_failing":                                      "it takes a part that fails; TestSocketFails and TestYanks have it",
	"berth_recording_stops_total":                             "it takes a disk that refuses; the tests of runtime/telemetry and runtime/record have it",
	"scheduler_pod_scheduled_after_flush_total":               "pods are looked at every 30 s for that; TestMachine of runtime/queue and TestMetrics of runtime/telemetry have it",
	"berth_pods_unenforced_total":                             "the profile leaves nothing to others; TestMetrics of runtime/telemetry has it, and the scenarios of runtime/scheduler the pods",
	"berth_reuse_evictions_total":                             "it takes more kinds of pods than memory has room for; TestMetrics of runtime/telemetry has it",
	"dynamic_resource_allocation_resourceclaim_creates_total": "it takes a device class for an extended resource; TestMetrics of runtime/telemetry has it",
	"scheduler_dra_bindingconditions_allocations_total":       "it takes a driver that prepares devices; TestMetrics of runtime/telemetry has it",
	"scheduler_dra_bindingconditions_wait_duration_seconds":   "it takes a driver that prepares devices; TestMetrics of runtime/telemetry has it",
	"berth_bugs_total":                                        "there are none that are known; TestMetrics of runtime/telemetry has it",
	"berth_panics_total":                                      "there are none that are known; TestMetrics of runtime/telemetry has it",
	"berth_write_failures_total":                              refusals,
	"berth_write_failing_objects":                             refusals,
	"berth_write_failing_seconds":                             refusals,
	"berth_write_blocked_seconds":                             refusals,
	"berth_watch_failing_seconds":                             refusals,
	"berth_events_unwritten_total":                            "it takes more events than may be sent; TestLateEvents of runtime/kube has it",
	"berth_budget_waiting_pods":                               budgets,
	"berth_budget_attempts_total":                             budgets,
	"berth_budget_held_total":                                 budgets,
	"berth_preemption_debts":                                  debts,
	"berth_preemption_debts_total":                            debts,
	"berth_rollout_step":                                      rollouts,
	"berth_rollout_share":                                     rollouts,
	"berth_rollout_step_attempts":                             rollouts,
	"berth_rollout_failed":                                    rollouts,
	"berth_plugin_reuse_demoted_total":                        "it takes a guest that breaks its promise, and a sample that finds it; TestReuse of runtime/pipeline has it",
}

// TestRestEveryMetricMoves runs the scheduler as berth run does, with an API in memory, brings
// about what its metrics are about, and fails for each metric that stays 0: one that is
// served and not wired would have an alert that never fires. Then what berth explain and
// berth plugin status say of the faults is what the metrics say.
func TestRestEveryMetricMoves(t *testing.T) {
	dir := t.TempDir()
	module, folder, socket := filepath.Join(dir, "troubled.wasm"), filepath.Join(dir, "folder"), filepath.Join(dir, "s")
	var said bytes.Buffer
	if code := run(t.Context(), []string{"plugin", "build", "testdata/troubled", "-o", module}, io.Discard, &said); code != exitOK {
		t.Fatalf("build: %s", &said)
	}
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "bad.wasm"), []byte("no module"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := newStall(t)
	s.yank(module)
	l := live(t, "--plugin="+module+"?namespaces=troubled", "--plugin="+module+"?name=next&mode=Shadow", "--plugin-dir="+folder, "--debug-socket="+socket, "--secure-port=0", "--leader-elect=false",
		"--index="+s.registry+"/team/index", "--verification-policy="+filepath.Join(s.dir, "policy.yaml"), "--module-cache="+t.TempDir())

	// What is held up stays visible until all is looked at.
	defer l.api.Hold("create", "pods/binding", "slow")()
	defer l.api.Hold("delete", "pods", "")()
	defer l.api.Hold("patch", "pods/status", "big")()
	l.node("n-1", 4)
	l.await("scheduler_cache_size", `type="nodes"`)
	l.pod("ns", "fine-0", 2, 0)
	l.await("scheduler_schedule_attempts_total", `result="scheduled"`)
	l.pod("troubled", "wait-0", 0, 0)
	l.await("scheduler_inflight_events", `event="PodPopped"`)
	l.node("n-2", 0) // an event that is kept for it
	const traps = 6
	for i := range traps {
		l.pod("troubled", fmt.Sprint("trap-", i), 0, 0)
	}
	l.pod("troubled", "gate-0", 0, 0)
	l.await("berth_plugin_breaker_opened_total")
	for i := range 20 { // the time of plugins is measured in one try of ten
		l.pod("ns", fmt.Sprint("small-", i), 0, 0)
	}
	l.await("berth_plugin_rows_reused_total") // before vip-0 is nominated, which ends reuse
	l.pod("ns", "slow-0", 0, 0)
	l.pod("ns", "big-0", 64, 0)
	l.pod("ns", "vip-0", 3, 1000) // needs the place of fine-0
	l.await("scheduler_permit_wait_duration_seconds")
	l.await("scheduler_goroutines", `operation="preemption"`)
	l.await("scheduler_goroutines", `operation="binding"`)

	eventually.Succeeds(t, func() error {
		l.scrape()
		if idle := l.idle(); len(idle) > 0 {
			return fmt.Errorf("metrics that nothing has moved: %q", idle)
		}
		return nil
	})
	for name, why := range notHere {
		if l.moved[name] && why != budgets { // a machine that is slow gets as far as the second try of a pod
			t.Errorf("%s has moved, and is listed as one that does not: %s", name, why)
		}
	}

	var status debughttp.Plugins
	l.get(debughttp.PluginsPath, &status)
	if len(status.Plugins) != 2 || !status.Plugins[1].Shadow || status.Plugins[0].Yanked != "bad" || !slices.Equal(status.Plugins[0].Signers, []string{"team"}) {
		t.Errorf("the status is %+v", status.Plugins)
	}

	var compared trials
	l.get(debughttp.TrialsPath, &compared)
	if len(compared) != 1 || compared[0].Plugin != "next" || compared[0].Attempts+compared[0].Missed == 0 {
		t.Errorf("the trials are %+v", compared)
	}

	var again whatif.Again
	l.get(whatif.AgainPath(debughttp.AgainPath, "next", 500), &again)
	if again.Plugin != "next" || again.Pods == 0 || len(again.Trials) != 1 || again.Trials[0].Attempts != int64(again.Pods) {
		t.Errorf("decided again: %+v", again)
	}

	const kinds = "berth_plugin_faults_by_kind_total"
	counted, byKind := l.sum("berth_plugin_faults_total"), l.sum(kinds)-l.sum(kinds, `kind="breaker-open"`)
	if counted < 2 || counted != byKind {
		t.Errorf("%v faults, %v by kind", counted, byKind)
	}
	// The last try of a pod has a fault from when the plugin is called, as a probe at the
	// latest, until the pod is tried again.
	eventually.Holds(t, "an explanation of a try has the fault of the plugin", func() (found bool) {
		for i := range traps {
			var pod debughttp.Pod
			l.get(fmt.Sprintf("%stroubled/trap-%d", debughttp.ExplainPath, i), &pod)
			found = found || slices.ContainsFunc(pod.Last.Plugins, func(w debughttp.Work) bool {
				return w.Plugin == "troubled" && w.Point == "Filter" && w.Faults == 1
			})
		}
		return found
	})
}

// living is a scheduler that is at work as that of berth run, on an API in memory.
type living struct {
	t      *testing.T
	api    *kubefake.API
	server serverOptions

	options runOptions
	config  *config.Scheduler
	modules *assembly.Modules
	watched *watched

	last  map[string]float64 // of the last scrape, by series
	moved map[string]bool    // metrics that were not 0 in any
}

// live runs the scheduler with flags of berth run until the test ends.
func live(t *testing.T, args ...string) *living {
	t.Helper()
	return liveWith(t, newProgram(), args...)
}

// liveWith is live with plugins that are compiled in.
func liveWith(t *testing.T, p *program, args ...string) *living {
	t.Helper()
	l := newLiving(t, p, args...)
	l.begin(l.schedule)
	return l
}

// newLiving reads the flags, and begins nothing.
func newLiving(t *testing.T, p *program, args ...string) *living {
	t.Helper()
	l := &living{t: t, api: kubefake.New(), options: runOptions{program: p}, watched: newWatched(p), moved: make(map[string]bool)}
	f := pflag.NewFlagSet("run", pflag.ContinueOnError)
	l.options.flags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.modules, err = l.options.modules.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.modules.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if l.config, _, err = l.options.load(t.Context(), l.modules); err != nil {
		t.Fatal(err)
	}
	if l.watched.yanks, err = l.options.newYanks(t.Context(), &l.watched.optional); err != nil {
		t.Fatal(err)
	}
	l.watched.yanks.begin(t.Context(), nil, func(text string) { t.Error(text) })
	l.server = serverOptions{server: "unix:" + l.options.serve.socket, output: "json", timeLimit: 10 * time.Second}
	return l
}

// schedule runs the scheduler until the context ends.
func (l *living) schedule(ctx context.Context) error {
	return l.options.schedule(ctx, l.config, l.modules, l.api.Clients(), l.watched, slog.New(slog.DiscardHandler))
}

// begin runs the scheduler until the test ends, and waits until it answers.
func (l *living) begin(run func(context.Context) error) {
	l.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	l.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
	})
	eventually.Succeeds(l.t, func() error {
		_, err := l.server.get(ctx, "/metrics")
		return err
	})
}

func (l *living) node(name string, cpus int64) {
	l.t.Helper()
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI), v1.ResourcePods: resource.MustParse("20")}
	if err := l.api.AddNode(l.t.Context(), n); err != nil {
		l.t.Fatal(err)
	}
}

func (l *living) pod(namespace, name string, cpus int64, priority int32) {
	l.t.Helper()
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: "1"}}
	p.Spec.SchedulerName, p.Spec.Priority = v1.DefaultSchedulerName, &priority
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI)},
	}}}
	if err := l.api.AddPod(l.t.Context(), p); err != nil {
		l.t.Fatal(err)
	}
}

// get asks the scheduler's socket, as berth explain does.
func (l *living) get(path string, into any) {
	l.t.Helper()
	body, err := l.server.get(l.t.Context(), path)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// scrape reads the scheduler's own metrics. The series of histograms are their counts.
func (l *living) scrape() {
	l.t.Helper()
	body, err := l.server.get(l.t.Context(), "/metrics")
	if err != nil {
		l.t.Fatal(err)
	}
	l.last = make(map[string]float64)
	histograms := make(map[string]bool)
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			if name, kind, _ := strings.Cut(name, " "); kind == "histogram" {
				histograms[name] = true
			}
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if strings.HasPrefix(line, "#") || err != nil {
			continue
		}
		series := digests.ReplaceAllString(line[:at], "")
		name, _, _ := strings.Cut(series, "{")
		if count, ok := strings.CutSuffix(name, "_count"); ok && histograms[count] {
			name, series = count, count+strings.TrimPrefix(series, name)
		}
		l.last[series] += value
		l.moved[name] = l.moved[name] || value != 0
	}
}

// digests are of modules, which depend on the toolchain.
var digests = regexp.MustCompile(`digest="[^"]*",?`)

// sum returns the sum of the series of a metric whose labels have all of these texts.
func (l *living) sum(name string, labels ...string) (out float64) {
	for series, value := range l.last {
		of, all, _ := strings.Cut(series, "{")
		if of == name && !slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(all, label) }) {
			out += value
		}
	}
	return out
}

// idle returns the metrics that were 0 in each scrape.
func (l *living) idle() (out []string) {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		telemetry.New("", nil).Describe(descs)
	}()
	for desc := range descs {
		_, name, _ := strings.Cut(desc.String(), `fqName: "`)
		name, _, _ = strings.Cut(name, `"`)
		if !l.moved[name] && notHere[name] == "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// await waits until a metric with these labels is not 0.
func (l *living) await(name string, labels ...string) {
	l.t.Helper()
	eventually.Holds(l.t, fmt.Sprintf("%s with %q moves", name, labels), func() bool {
		l.scrape()
		return l.sum(name, labels...) > 0
	})
}

// TestCountedPods: a pod counts for the plugins that rejected it until it is tried again; while it is tried and bound it does not wait.
func TestCountedPods(t *testing.T) {
	out := &telemetry.State{Pending: make(map[string]int), Oldest: make(map[string]time.Duration), Unschedulable: make(map[telemetry.PluginOf]int)}
	now := time.Unix(1000, 0)
	pod := func(rejectors ...string) *state.QueuedPod {
		return &state.QueuedPod{Pod: &state.Pod{Profile: "p"}, Rejectors: rejectors, Pending: rejectors[:1], Timestamp: now.Add(-time.Second)}
	}
	all := map[queue.Place]*state.QueuedPod{
		queue.Active: pod("Fit"), queue.Backoff: pod("Fit"), queue.ErrorBackoff: pod("Ports"), queue.Unschedulable: pod("Fit", "Ports"),
		queue.Gated: pod("Gates"), queue.InFlight: pod("Fit"), queue.Binding: pod("Ports"),
	}
	all[queue.ErrorBackoff].InitialAttempt, all[queue.Binding].InitialAttempt = now.Add(-time.Minute), now.Add(-time.Hour)
	countPods(out, maps.All(all), now)
	if want := map[string]time.Duration{"active": time.Second, "backoff": time.Minute, "unschedulable": time.Second, "gated": time.Second}; !maps.Equal(out.Oldest, want) {
		t.Errorf("the oldest wait for %v, want %v", out.Oldest, want)
	}
	want := map[telemetry.PluginOf]int{{Plugin: "Fit", Profile: "p"}: 3, {Plugin: "Ports", Profile: "p"}: 2, {Plugin: "Gates", Profile: "p"}: 1}
	if pending := map[string]int{"active": 1, "backoff": 2, "unschedulable": 1, "gated": 1}; !maps.Equal(out.Pending, pending) || !maps.Equal(out.Unschedulable, want) {
		t.Errorf("counted are %v and %v, want %v and %v", out.Pending, out.Unschedulable, pending, want)
	}
}
