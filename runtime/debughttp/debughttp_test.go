package debughttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/server/healthz"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/report/reporttest"
)

func node(row uint32) string { return fmt.Sprintf("n%d", row) }

func attempt(sequence uint64, pod string, code abi.Code, chosen string) *report.Attempt {
	rows := make([]uint32, 100)
	for i := range rows {
		rows[i] = uint32(i)
	}
	return &report.Attempt{
		Sequence: sequence, Namespace: "ns", Pod: pod, UID: types.UID(pod), Profile: "p", Try: 1, Nodes: 101, Node: chosen, Code: code,
		Rejections: []report.Rejection{{Plugin: "Fit", Code: abi.Unschedulable, Reasons: []string{"no room"}, Count: len(rows), Rows: rows}},
		Timings:    []report.Timing{{Plugin: "Fit", Point: abi.Filter, Calls: 1, Rows: 101, Duration: time.Millisecond}},
		Duration:   2 * time.Millisecond,
	}
}

// TestRecorder: the recorder keeps the last attempt of each pod and how it ended, as far as its
// ring reaches back.
func TestRecorder(t *testing.T) {
	start := time.Unix(1000, 0)
	c := clock.NewStep(start)
	r := debughttp.NewRecorder(3, c.Now)
	last := func(pod string) (debughttp.Explanation, bool) {
		return r.Last(types.NamespacedName{Namespace: "ns", Name: pod})
	}
	r.Attempted(attempt(1, "a", abi.Unschedulable, ""), node)
	c.Advance(time.Second)
	r.Attempted(attempt(2, "a", abi.Success, "n7"), node)
	before, _ := last("a")
	r.Ended(&report.Ending{Sequence: 1, Namespace: "ns", Pod: "a", Code: abi.Error}) // of another attempt
	r.Ended(&report.Ending{Sequence: 2, Namespace: "ns", Pod: "a", Duration: 3 * time.Millisecond,
		Timings: []report.Timing{{Plugin: "Binder", Point: abi.Bind, Calls: 1}}})
	got, ok := last("a")
	if !ok || got.Outcome != debughttp.Bound || got.Attempt.Sequence != 2 || !got.At.Equal(start.Add(time.Second)) || len(got.Plugins) != 2 ||
		got.Duration != 2*time.Millisecond || got.Took != 3*time.Millisecond {
		t.Errorf("%+v", got)
	}
	if x := got.Attempt.Rejections[0]; x.Count != 100 || len(x.Nodes) != 8 || x.Rows != nil {
		t.Errorf("rejection is %+v", x)
	}
	if before.Outcome != "" || len(before.Plugins) != 1 {
		t.Errorf("what was read has changed: %+v", before)
	}
	r.Attempted(attempt(3, "b", abi.Success, "n7"), node)
	held, _ := last("b")
	r.Ended(&report.Ending{Sequence: 3, Namespace: "ns", Pod: "b", Code: abi.Error, Message: "conflict"})
	if got, _ := last("b"); got.Outcome != "Error" || got.Attempt.Node != "" || got.Attempt.Message != "conflict" || held.Attempt.Node != "n7" {
		t.Errorf("%+v", got)
	}
	r.Attempted(attempt(4, "c", abi.Success, "n7"), node) // in the place of sequence 1
	if _, ok := last("a"); !ok {
		t.Error("a is forgotten with an older attempt")
	}
	r.Attempted(attempt(5, "d", abi.Success, "n7"), node)
	if _, ok := last("a"); ok {
		t.Error("a is never forgotten")
	}
	debughttp.NewRecorder(0, nil).Attempted(attempt(1, "a", abi.Success, ""), node)
}

func says(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func config(r *debughttp.Recorder) debughttp.Config {
	loop := healthz.NamedCheck("loop", func(*http.Request) error { return nil })
	return debughttp.Config{
		Live:    []healthz.HealthChecker{healthz.PingHealthz, loop},
		Ready:   []healthz.HealthChecker{loop, healthz.NamedCheck("sched-handler-sync", func(*http.Request) error { return errors.New("nodes") })},
		Metrics: says("metrics"), Resources: says("resources"),
		Recorder: r, Configuration: &configv1.KubeSchedulerConfiguration{
			Parallelism: new(int32(16)), Profiles: []configv1.KubeSchedulerProfile{{SchedulerName: new("p")}, {SchedulerName: new("q")}},
		},
		Lookup: func(_ context.Context, pod types.NamespacedName) (*v1.Pod, error) {
			now := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.Name), CreationTimestamp: metav1.Unix(500, 0),
			}}
			switch pod.Name {
			case "none", "gone":
				return nil, nil
			case "unknown":
				return nil, errors.New("no right")
			case "anew":
				now.UID = "another"
			}
			now.Spec.SchedulerName, now.Spec.NodeName, now.Status.Phase = "x", "n1", v1.PodRunning
			now.Status.Conditions = []v1.PodCondition{
				{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.Unix(700, 0)},
				{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.Unix(600, 0)},
			}
			if pod.Name == "pending" {
				now.Spec.NodeName, now.Status.Conditions[1].Status = "", v1.ConditionFalse
				now.DeletionTimestamp = &metav1.Time{Time: time.Unix(800, 0)}
			}
			if pod.Name == "grows" {
				waits := v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}
				now.Status.Conditions = append(now.Status.Conditions, waits)
			}
			return now, nil
		},
		Where: func(_ context.Context, pod types.NamespacedName) (string, error) {
			switch pod.Name {
			case "waits":
				return "backoff", nil
			case "stuck":
				return "", context.DeadlineExceeded
			}
			return "", nil
		},
		Plugins: func(context.Context) (*debughttp.Plugins, error) {
			return &debughttp.Plugins{Plugins: []debughttp.Plugin{{Name: "guest"}}}, nil
		},
		Leader: func() (string, bool) { return "host_me", true },
	}
}

// TestHandler: what each path answers.
func TestHandler(t *testing.T) {
	r := debughttp.NewRecorder(3, nil)
	for i, pod := range []string{"anew", "gone", "a"} {
		r.Attempted(attempt(uint64(i), pod, abi.Unschedulable, ""), node)
	}
	handler := debughttp.NewHandler(config(r))
	for _, c := range []struct {
		path   string
		status int
		text   string
	}{
		{"/healthz", 200, "ok"},
		{"/healthz/ping", 200, "ok"},
		{"/livez?verbose", 200, "[+]ping ok\n[+]loop ok\nlivez check passed\n"},
		{"/readyz", 500, "[+]loop ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"},
		{"/readyz?exclude=sched-handler-sync", 200, "ok"},
		{"/readyz?exclude=sched-handler-sync&exclude=sync&verbose", 200,
			"[+]loop ok\n[+]sched-handler-sync excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"sync\"\nreadyz check passed\n"},
		{"/readyz/loop", 200, "ok"},
		{"/readyz/sched-handler-sync", 500, "internal server error: nodes"},
		{"/readyz/none", 404, ""},
		{"/metrics", 200, "metrics"},
		{"/metrics/resources", 200, "resources"},
		{"/metrics/slis", 200, `kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0`},
		{"/metrics/slis", 200, `kubernetes_healthcheck{name="loop",type="livez"} 1`},
		{"/configz", 200, `{"componentconfig":{"parallelism":16,`},
		{"/debug/berth/plugins", 200, `{"plugins":[{"profile":"","name":"guest"`},
		{"/debug/berth/explain/ns/waits", 200, `{"namespace":"ns","name":"waits","where":"backoff","cluster":{`},
		{"/debug/berth/explain/ns/a", 200, `"rejections":[{"plugin":"Fit","code":"Unschedulable"`},
		{"/debug/berth/explain/ns/gone", 200, `"profiles":["p","q"]}`},
		{"/debug/berth/explain/ns/none", 404, "there is no pod ns/none in the cluster or among the recent attempts"},
		{"/debug/berth/explain/ns/unknown", 503, "pod ns/unknown is neither waiting nor among the recent attempts, and the API server returned an error: no right"},
		{"/debug/berth/explain/ns/stuck", 503, "the scheduler does not answer"},
		{"/debug/pprof/", 404, ""},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.path, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/configz", "/healthz", "/metrics/slis"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("a POST to %s: %d", path, w.Code)
		}
	}
	profiling := config(r)
	profiling.Profiling = true
	w := httptest.NewRecorder()
	debughttp.NewHandler(profiling).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/pprof/", nil))
	if w.Code != http.StatusOK {
		t.Errorf("profiles: %d", w.Code)
	}
	// A replica that does not lead knows no attempts, and names the leader.
	for leader, text := range map[string]string{
		"host_other": "this replica is not the leader: ask host_other", "": "this replica is not the leader, and no leader is known",
	} {
		c := config(r)
		c.Leader = func() (string, bool) { return leader, false }
		standby := debughttp.NewHandler(c)
		w := httptest.NewRecorder()
		standby.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/berth/explain/ns/waits", nil))
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), text) {
			t.Errorf("a pod: %d %s", w.Code, w.Body)
		}
		w = httptest.NewRecorder()
		standby.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/berth/plugins", nil))
		var s debughttp.Plugins
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || !s.Standby || s.Leader != leader || len(s.Plugins) != 1 {
			t.Errorf("plugins: %v, %+v", err, s)
		}
	}
	// A pod of another scheduler, one that is being deleted, one with the name of an earlier pod, and one that waits for a resize.
	for name, want := range map[string]debughttp.ClusterPod{
		"other":   {SchedulerName: "x", Node: "n1", Phase: "Running", Bound: new(time.Unix(600, 0))},
		"pending": {SchedulerName: "x", Phase: "Running", Deleted: new(time.Unix(800, 0))},
		"anew":    {SchedulerName: "x", Node: "n1", Phase: "Running", Bound: new(time.Unix(600, 0))},
		"grows":   {SchedulerName: "x", Node: "n1", Phase: "Running", Bound: new(time.Unix(600, 0)), ResizeDeferred: true},
	} {
		want.Created = time.Unix(500, 0)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/berth/explain/ns/"+name, nil))
		var pod debughttp.Pod
		if err := json.Unmarshal(w.Body.Bytes(), &pod); err != nil || pod.Last != nil || pod.Cluster == nil {
			t.Fatalf("%s: %v, %s", name, err, w.Body)
		}
		if diff := cmp.Diff(&want, pod.Cluster); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// The answer can be decoded again.
	w = httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/berth/explain/ns/a", nil))
	var pod debughttp.Pod
	if err := json.Unmarshal(w.Body.Bytes(), &pod); err != nil || pod.Last.Attempt.Rejections[0].Code != abi.Unschedulable {
		t.Errorf("%v, %+v", err, pod)
	}
	// Programs find the explanation that the schema describes.
	var fields struct {
		Explanation json.RawMessage `json:"explanation"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	reporttest.Validate(t, fields.Explanation)
	if pod.Explanation.Code != report.DoesNotFit || pod.Explanation.Dominant == nil {
		t.Errorf("%+v", pod.Explanation)
	}
}

// TestServe: only its user can use a socket; a stale one is replaced; one in use and a file
// that is not a socket are left alone.
func TestServe(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	dir, err := os.MkdirTemp("", "berth") // a short path, because the length of socket paths is limited
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	handler := debughttp.NewHandler(config(debughttp.NewRecorder(1, nil)))

	stale, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := debughttp.Serve("unix", socket, nil, handler, log)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.Addr())
	}}}
	response, err := client.Get("http://berth/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if _, err := debughttp.Serve("unix", socket, nil, handler, log); err == nil || !strings.Contains(err.Error(), "another scheduler listens on") {
		t.Errorf("a socket that is in use: %v", err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := debughttp.Serve("unix", file, nil, handler, log); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("a file: %v", err)
	}
	if _, err := debughttp.Serve("tcp", "256.0.0.1:0", nil, handler, log); err == nil {
		t.Error("an address that is none")
	}
}

// TestLongProfile: a profile takes as long as requested, although requests have a read
// deadline.
func TestLongProfile(t *testing.T) {
	c := config(debughttp.NewRecorder(1, nil))
	c.Profiling = true
	server := httptest.NewUnstartedServer(debughttp.NewHandler(c))
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	began := time.Now()
	response, err := http.Get(server.URL + "/debug/pprof/trace?seconds=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %v", response.Status, err)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("a second's trace took %v", took)
	}
}

// deadlined is a response whose request has a deadline.
type deadlined struct {
	*httptest.ResponseRecorder
	lifted bool
}

func (d *deadlined) SetReadDeadline(time.Time) error {
	d.lifted = true
	return nil
}

// TestQuestionDeadline: the read deadline of requests holds until a question has been read.
func TestQuestionDeadline(t *testing.T) {
	c := config(debughttp.NewRecorder(1, nil))
	w, asked := &deadlined{ResponseRecorder: httptest.NewRecorder()}, false
	c.WhatIf = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true })
	debughttp.NewHandler(c).ServeHTTP(w, httptest.NewRequest(http.MethodPost, debughttp.WhatIfPath, nil))
	if !asked || w.lifted {
		t.Errorf("asked: %v, the deadline was lifted: %v", asked, w.lifted)
	}
}

// TestCheckFolder: a socket is only used in a folder where nobody else can create one.
func TestCheckFolder(t *testing.T) {
	dir := t.TempDir()
	own, open, file := filepath.Join(dir, "own"), filepath.Join(dir, "open"), filepath.Join(dir, "file")
	for name, mode := range map[string]os.FileMode{own: 0o700, open: 0o777} {
		if err := errors.Join(os.Mkdir(name, mode), os.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{own: true, open: false, file: false, filepath.Join(dir, "none"): true} {
		if err := debughttp.CheckFolder(name); good != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
