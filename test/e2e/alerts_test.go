package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/alerts"
	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// operator has installed Berth with its alerts, and follows docs/run.md.
type operator struct {
	*installed
	rules   []alerts.Alert
	store   *alerts.Store
	server  server
	process *cluster.Process
	plugins string // the folder
	socket  string
	fired   map[string]bool // by the name of the alert
}

// alertsFire triggers each alert of deploy/monitoring, and each row under "Troubleshooting" in
// docs/run.md. The alert fires, and stops when the cause is gone; what the row says to look at
// shows the cause. All metrics that the dashboard queries are served.
func alertsFire(t *testing.T) {
	o := newOperator(t)
	looked := make(map[string]bool)
	for _, row := range []struct {
		symptom string
		cause   func()
	}{
		{"no replica leads", o.nobodyLeads}, // first: the scheduler starts with it
		{"a pod has neither a node nor events", o.strangePod},
		{"a pod stays pending", o.slowPod},
		{"a breaker is open", o.openBreaker},
		{"`/readyz` fails", o.notReady},
		{"a replica does not start", o.doesNotStart},
		{"the log says that the API server does not answer, does not accept the credentials, or is not trusted", o.outage},
	} {
		looked[row.symptom] = true
		row.cause()
		if t.Failed() {
			t.Fatalf("when %s", row.symptom)
		}
	}
	o.refusedModule()
	o.stopRecording()
	o.fired["BerthPanics"] = true // only a bug causes it
	// Scrapes of test/internal/alerts have these, and tests of what causes them their metrics; some have series only meanwhile.
	elsewhere := []string{"BerthWritesBlocked", "BerthPluginMissing", "BerthRolloutFailed", "BerthProfileServedTwice", "BerthPodsPending"}
	for _, name := range elsewhere {
		o.fired[name] = true
	}
	rows, err := alerts.Table(filepath.Join("..", "..", "docs", "run.md"), "## Troubleshooting")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if !looked[row[0]] {
			t.Errorf("docs/run.md describes the symptom %s, which this test does not cause", row[0])
		}
	}
	if len(rows) != len(looked) {
		t.Errorf("docs/run.md has %d symptoms, this test has %d", len(rows), len(looked))
	}
	for _, rule := range o.rules {
		if !o.fired[rule.Name] {
			t.Errorf("%s was not caused", rule.Name)
		}
		if !slices.Contains(elsewhere, rule.Name) {
			o.served(rule.Name, rule.Expression)
		}
	}
	panels, err := alerts.Dashboard(deploy())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range panels {
		o.served(p.Title, p.Expression)
		if _, err := o.store.Eval(t.Context(), p.Expression); err != nil {
			t.Errorf("%s: %v", p.Title, err)
		}
	}
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	o := &operator{installed: newInstalled(t, "alerts"), store: alerts.NewStore(), fired: make(map[string]bool)}
	var err error
	if o.rules, err = alerts.Rules(deploy()); err != nil {
		t.Fatal(err)
	}
	o.plugins, o.socket = t.TempDir(), filepath.Join(t.TempDir(), "berth.sock")
	return o
}

// served checks that a process has served all metrics that an expression reads.
func (o *operator) served(who, expression string) {
	o.Helper()
	names, err := alerts.Metrics(expression)
	if err != nil {
		o.Errorf("%s: %v", who, err)
	}
	for _, name := range names {
		if !o.store.Has(name) {
			o.Errorf("%s reads %s, which is not served", who, name)
		}
	}
}

func (o *operator) scrape() {
	o.Helper()
	code, text := o.server.get(o.T, "/metrics", cluster.Admin)
	if code != http.StatusOK {
		text = ""
	}
	if err := o.store.Scrape(text); err != nil {
		o.Fatal(err)
	}
}

// fires reports whether an alert fires on the last scrape.
func (o *operator) fires(name string) bool {
	o.Helper()
	i := slices.IndexFunc(o.rules, func(a alerts.Alert) bool { return a.Name == name })
	if i < 0 {
		o.Fatalf("there is no alert %s", name)
	}
	elements, err := o.store.Eval(o.Context(), o.rules[i].Expression)
	if err != nil {
		o.Fatalf("%s: %v", name, err)
	}
	return len(elements) > 0
}

// awaitAlert scrapes until an alert fires, or stops firing.
func (o *operator) awaitAlert(name string, fires bool) {
	o.Helper()
	o.until(fmt.Sprintf("%s fires: %v", name, fires), func(context.Context) bool {
		o.scrape()
		return o.fires(name) == fires
	})
	o.fired[name] = o.fired[name] || fires
}

// silent checks that no alert fires.
func (o *operator) silent() {
	o.Helper()
	o.until("no alert fires", func(context.Context) bool {
		o.scrape()
		return !slices.ContainsFunc(o.rules, func(a alerts.Alert) bool { return o.fires(a.Name) })
	})
}

// look runs a command of berth against the scheduler's socket until it prints a text.
func (o *operator) look(want string, args ...string) {
	o.Helper()
	var out []byte
	end := time.Now().Add(patience)
	for ; time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		out, _ = exec.CommandContext(o.Context(), o.Binaries().Berth, append(args, "--server", "unix:"+o.socket)...).CombinedOutput()
		if strings.Contains(string(out), want) {
			return
		}
	}
	o.Errorf("berth %s does not say %q: %s", strings.Join(args, " "), want, out)
}

// asks checks that the scheduler answers a path with a status and a text.
func (o *operator) asks(s server, path string, status int, want string) {
	o.Helper()
	var code int
	var body string
	o.until(fmt.Sprintf("%s answers %d with %q", path, status, want), func(context.Context) bool {
		code, body = s.get(o.T, path, cluster.Admin)
		return code == status && strings.Contains(body, want)
	})
}

// nobodyLeads takes the rights on the lease away before a replica starts.
func (o *operator) nobodyLeads() {
	o.Helper()
	bindings := o.client.RbacV1().RoleBindings(metav1.NamespaceSystem)
	rights, err := bindings.Get(o.Context(), "berth", metav1.GetOptions{})
	if err == nil {
		err = bindings.Delete(o.Context(), "berth", metav1.DeleteOptions{})
	}
	if err != nil {
		o.Fatal(err)
	}
	rights.ResourceVersion, rights.UID = "", ""
	o.Cleanup(func() { // restored for the next tests in any case
		_, _ = o.client.RbacV1().RoleBindings(metav1.NamespaceSystem).Create(context.Background(), rights, metav1.CreateOptions{})
	})
	port, err := cluster.FreePort()
	if err != nil {
		o.Fatal(err)
	}
	o.process = run(o.T, o.Cluster, cluster.Scheduler{
		Program: cluster.BerthProgram, User: cluster.Berth, LeaderElection: true, Port: port,
		Flags: []string{"--plugin-dir=" + o.plugins, "--debug-socket=" + o.socket},
	})
	o.server = serverAt(port)
	o.asks(o.server, "/readyz/leaderElection", http.StatusInternalServerError, "needs get and update on leases")
	o.awaitAlert("BerthNoLeader", true)
	if n := strings.Count(o.process.Log(), "cannot use the lease"); n != 1 {
		o.Errorf("the log has %d lines about an unusable lease", n)
	}
	if code, body := o.server.get(o.T, "/livez", ""); code != http.StatusOK {
		o.Errorf("/livez: %d %s", code, body)
	}
	if _, err := bindings.Create(o.Context(), rights, metav1.CreateOptions{}); err != nil {
		o.Fatal(err)
	}
	o.awaitAlert("BerthNoLeader", false)
	o.asks(o.server, "/readyz", http.StatusOK, "ok")
	o.place("first", v1.DefaultSchedulerName)
	o.silent()
}

// strangePod creates a pod for a scheduler that does not exist.
func (o *operator) strangePod() {
	o.Helper()
	pod := workload.Pod(o.namespace, "strange", 100, 100)
	pod.Spec.SchedulerName = "nobody"
	if err := load.Pod(o.Context(), o.client, pod); err != nil {
		o.Fatal(err)
	}
	o.asks(o.server, "/configz", http.StatusOK, `"schedulerName":"default-scheduler"`)
	if _, body := o.server.get(o.T, "/configz", cluster.Admin); strings.Contains(body, `"nobody"`) {
		o.Error("/configz has a profile nobody")
	}
}

// slowPod makes pods wait longer than the alert allows, for nodes that are added one by one.
func (o *operator) slowPod() {
	o.Helper()
	disks := []string{"one", "two"}
	for _, disk := range disks {
		pod := workload.Pod(o.namespace, "slow-"+disk, 100, 100)
		pod.Spec.NodeSelector = map[string]string{"disk": disk}
		if err := load.Pod(o.Context(), o.client, pod); err != nil {
			o.Fatal(err)
		}
	}
	o.look("didn't match Pod's node affinity/selector", "explain", o.namespace+"/slow-one")
	time.Sleep(6 * time.Second)
	node, err := o.client.CoreV1().Nodes().List(o.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		o.Fatal(err)
	}
	for _, disk := range disks {
		next := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "with-" + disk, Labels: map[string]string{"disk": disk}}, Status: node.Items[0].Status}
		if _, err := o.client.CoreV1().Nodes().Create(o.Context(), next, metav1.CreateOptions{}); err != nil {
			o.Fatal(err)
		}
		if err := o.pods.await(o.Context(), "slow-"+disk, bound, "", patience); err != nil {
			o.Fatal(err)
		}
		o.scrape()
	}
	o.awaitAlert("BerthSchedulingSlow", true)
	o.silent()
}

// openBreaker uses a plugin whose answers exceed the size limit.
func (o *operator) openBreaker() {
	o.Helper()
	o.module("tenantpool", "tenant-pool.wasm", `{config: {tenants: {somebody-else: {pools: [only]}}}, limits: {reasonSize: "1"}}`)
	o.look("tenant-pool", "plugin", "status")
	for _, name := range []string{"held-1", "held-2", "held-3", "held-4"} {
		if err := load.Pod(o.Context(), o.client, workload.Pod(o.namespace, name, 100, 100)); err != nil {
			o.Fatal(err)
		}
	}
	o.awaitAlert("BerthPluginFaults", true)
	o.awaitAlert("BerthSchedulingErrors", true)
	o.awaitAlert("BerthBreakerOpen", true)
	o.awaitAlert("BerthBreakerOpenForNamespace", true)
	o.look("again in", "plugin", "status")
	o.look("reason", "plugin", "status") // the last fault
	o.sidecar("tenant-pool.yaml", `{config: {others: any}}`)
	o.awaitAlert("BerthBreakerOpen", false)
	o.awaitAlert("BerthBreakerOpenForNamespace", false)
	if err := o.pods.await(o.Context(), "held-1", bound, "", patience); err != nil {
		o.Fatal(err)
	}
	o.silent()
}

// refusedModule puts a file that is not a module into the folder.
func (o *operator) refusedModule() {
	o.Helper()
	o.sidecar("broken.wasm", "this is not a module")
	o.awaitAlert("BerthModuleRefused", true)
	if err := os.Remove(filepath.Join(o.plugins, "broken.wasm")); err != nil {
		o.Fatal(err)
	}
	o.silent()
}

// notReady runs a replica without permissions.
func (o *operator) notReady() {
	o.Helper()
	port, err := cluster.FreePort()
	if err != nil {
		o.Fatal(err)
	}
	// Access to its endpoints is checked with reviews that it may not create either.
	p := run(o.T, o.Cluster, cluster.Scheduler{
		Program: cluster.BerthProgram, User: cluster.Nobody, LeaderElection: true, Port: port, Name: "without-rights",
		Flags: []string{"--authorization-always-allow-paths=/healthz,/readyz,/readyz/*,/livez,/metrics"},
	})
	s := serverAt(port)
	look := func(check, want string) {
		o.until(check+" says "+want, func(context.Context) bool {
			code, body := s.get(o.T, "/readyz/"+check, "")
			return code == http.StatusInternalServerError && strings.Contains(body, want)
		})
	}
	look("sched-handler-sync", "needs list and watch on nodes")
	o.until("BerthWatchFailing fires", func(context.Context) bool {
		_, text := s.get(o.T, "/metrics", "")
		if err := o.store.Scrape(text); err != nil {
			o.Fatal(err)
		}
		return o.fires("BerthWatchFailing")
	})
	o.fired["BerthWatchFailing"] = true
	look("watches", "nodes: not watched for ")
	look("leaderElection", `needs get and update on leases.coordination.k8s.io "kube-scheduler" in namespace kube-system`)
	if err := p.Kill(); err != nil {
		o.Error(err)
	}
}

// doesNotStart runs a replica with an invalid configuration.
func (o *operator) doesNotStart() {
	o.Helper()
	p := run(o.T, o.Cluster, cluster.Scheduler{Program: cluster.BerthProgram, Name: "mistaken", Config: "profiles:\n- schedulerName: a\n  plugin: {}\n"})
	ctx, cancel := context.WithTimeout(o.Context(), time.Minute)
	defer cancel()
	if code, err := p.Wait(ctx); err != nil || code <= 0 {
		o.Errorf("exit status %d: %v", code, err)
	}
	if text := p.Log(); !strings.Contains(text, "profiles[0].plugin") || !strings.Contains(text, ".yaml:") {
		o.Errorf("the log lacks the line or the field: %s", text)
	}
}

// outage cuts a replica that is not the leader off from the API server.
func (o *operator) outage() {
	o.Helper()
	proxy := o.proxy()
	p := run(o.T, o.Cluster, cluster.Scheduler{Program: cluster.BerthProgram, Name: "cut", Server: proxy.URL(), LeaderElection: true})
	says := func(text string) {
		awaitThat(o.T, "the log says that "+text, func() bool { return strings.Contains(p.Log(), text) })
	}
	says("berth starts")
	proxy.Cut()
	says("the API server does not answer")
	proxy.Mend()
	says("the API server answers again")
}

// stopRecording records into a folder and serves on a socket that cannot be made; pods are scheduled all the same.
func (o *operator) stopRecording() {
	o.Helper()
	file := filepath.Join(o.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		o.Fatal(err)
	}
	port, err := cluster.FreePort()
	if err != nil {
		o.Fatal(err)
	}
	run(o.T, o.Cluster, cluster.Scheduler{
		Program: cluster.BerthProgram, Port: port, Name: "recording",
		Config: "profiles:\n- schedulerName: recording\n", Flags: []string{"--record=" + filepath.Join(file, "below"), "--debug-socket=" + filepath.Join(file, "socket")},
	})
	o.server = serverAt(port)
	o.awaitAlert("BerthRecordingStopped", true)
	o.awaitAlert("BerthPartFailing", true)
	o.place("unrecorded", "recording")
}

// module builds an example into the folder, with a file beside it.
func (o *operator) module(example, name, sidecar string) {
	o.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		o.Fatal(err)
	}
	source := filepath.Join(repository, "wasm-examples", example)
	built := filepath.Join(o.TempDir(), name)
	build := exec.CommandContext(o.Context(), o.Binaries().Berth, "plugin", "build", filepath.Join(source, "guest"), "--manifest", filepath.Join(source, "manifest.json"), "-o", built)
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		o.Fatalf("%v: %s", err, out)
	}
	o.sidecar(strings.TrimSuffix(name, ".wasm")+".yaml", sidecar)
	binary, err := os.ReadFile(built)
	if err != nil {
		o.Fatal(err)
	}
	o.sidecar(name, string(binary))
}

// sidecar moves a file into the folder.
func (o *operator) sidecar(name, text string) {
	o.Helper()
	next := filepath.Join(o.plugins, "."+name)
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		o.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(o.plugins, name)); err != nil {
		o.Fatal(err)
	}
}
