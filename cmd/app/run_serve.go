package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/feeds"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/tenancy/follow"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// attemptsKept is the number of attempts that explain can show.
const attemptsKept = 4096

// defaultPort is kube-scheduler's.
const defaultPort = 10259

// serveOptions holds the flags of the HTTP servers.
type serveOptions struct {
	port      int
	address   string
	tls       kube.TLSConfig
	guard     guardOptions
	socket    string
	profiling bool
	// contention enables block profiles.
	contention bool
	set        *pflag.FlagSet
}

func (o *serveOptions) flags(f *pflag.FlagSet) {
	f.IntVar(&o.port, "secure-port", defaultPort, "HTTPS `PORT` for health checks, metrics and explanations; 0 for none")
	f.StringVar(&o.address, "bind-address", "0.0.0.0", "`ADDRESS` to listen on")
	f.StringVar(&o.tls.CertFile, "tls-cert-file", "", "certificate `FILE`; a self-signed certificate if not given")
	f.StringVar(&o.tls.KeyFile, "tls-private-key-file", "", "`FILE` with the private key of the certificate")
	f.StringVar(&o.tls.MinVersion, "tls-min-version", "", "minimum `VERSION` of TLS: VersionTLS12 (the default) or VersionTLS13")
	f.StringSliceVar(&o.tls.CipherSuites, "tls-cipher-suites", nil, "cipher `SUITES` for TLS 1.2, by their names in Go; Go's defaults if not given")
	o.guard.flags(f)
	f.StringVar(&o.socket, "debug-socket", "", "also serve on this Unix socket `FILE`, without authentication but only for the scheduler's own user; berth explain and berth ui use it")
	f.BoolVar(&o.profiling, "profiling", true, "serve profiles at /debug/pprof")
	f.BoolVar(&o.contention, "contention-profiling", true, "enable block profiles")
	o.set = f
}

// blockProfileRate is the blocked time per sample, in nanoseconds. kube-scheduler samples
// every block, which is expensive at hundreds of requests.
const blockProfileRate = 1_000_000

// apply sets up profiling from the flags if they are given, otherwise from the configuration
// file.
func (o *serveOptions) apply(s *config.Scheduler) {
	override(o.set, "profiling", &s.EnableProfiling, o.profiling)
	override(o.set, "contention-profiling", &s.EnableContentionProfiling, o.contention)
	if s.EnableProfiling && s.EnableContentionProfiling {
		runtime.SetBlockProfileRate(blockProfileRate)
	}
}

func (o *serveOptions) check() error {
	var errs []error
	if o.port < 0 || o.port > 65535 {
		errs = append(errs, fmt.Errorf("--secure-port: %d is not 0 to 65535", o.port))
	}
	if net.ParseIP(o.address) == nil {
		errs = append(errs, fmt.Errorf("--bind-address: %q is not an IP address", o.address))
	}
	if (o.tls.CertFile == "") != (o.tls.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file need each other: give both or neither"))
	}
	return errors.Join(errs...)
}

// defaultSocket is the default of --debug-socket: a file in the user's runtime folder, or
// in the folder for temporary files.
func defaultSocket() (string, error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "berth-"+strconv.Itoa(os.Getuid()))
		if err := debughttp.CheckFolder(dir); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "berth.sock"), nil
}

// watched is what observes a scheduler: metrics, the last attempts and the log.
type watched struct {
	version  string
	level    *slog.LevelVar // of the log
	metrics  *telemetry.Metrics
	recorder *debughttp.Recorder
	canaries follow.Meter
	running  atomic.Pointer[running]
	suspects *suspects             // of the rounds before
	fault    func(at, what string) // nil but in tests, see assembly.Deps
	yanks    *yanks                // nil without --index
	optional optional
	asking   sync.Mutex // held while a what-if is being answered
}

// running holds what the server shows once everything is created.
type running struct {
	assembly *assembly.Assembly
	cluster  *kube.Cluster
	folder   *assembly.Folder // nil without --plugin-dir
	tenants  *follow.Follower
	feeds    *feeds.Feeds // nil without --feeds
	// optional reads the objects that kube-scheduler needs no right to read.
	optional func(context.Context) ([]apiruntime.Object, []string)
}

func newWatched(p *program) *watched {
	w := &watched{version: p.version, level: new(slog.LevelVar), recorder: debughttp.NewRecorder(attemptsKept, nil)}
	var places []string
	for _, place := range plugin.Places() {
		places = append(places, string(place))
	}
	w.metrics = telemetry.New(p.version, w.state, places...)
	w.optional.metrics = w.metrics
	return w
}

// moved counts pods that enter a queue, by kube-scheduler's queue names, which count gated
// pods as unschedulable.
func (w *watched) moved(t queue.Transition) {
	parked := func(p queue.Place) bool { return p == queue.Unschedulable || p == queue.Gated }
	switch name := queueOf(t.To); {
	case !parked(t.To) && name != "":
		w.metrics.Queued(name, t.Event.Name())
	case parked(t.To) && !parked(t.From):
		w.metrics.Queued(queueOf(queue.Unschedulable), t.Event.Name())
	}
}

// queueOf returns kube-scheduler's name of the queue that a place belongs to, or "" for
// none.
func queueOf(place queue.Place) string {
	switch place {
	case queue.Active:
		return "active"
	case queue.Backoff, queue.ErrorBackoff:
		return "backoff"
	case queue.Unschedulable:
		return "unschedulable"
	case queue.Gated:
		return "gated"
	}
	return ""
}

// scrapeTime is how long the loop may take to report its state.
const scrapeTime = 5 * time.Second

// state asks the loop for its state.
func (w *watched) state() *telemetry.State {
	r := w.running.Load()
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	out := &telemetry.State{
		Pending:       map[string]int{"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0},
		Oldest:        map[string]time.Duration{"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0},
		Unschedulable: make(map[telemetry.PluginOf]int),
		Writes:        r.cluster.PendingWrites(),
		Failing:       failingOf(r.cluster.FailingWrites()), Watches: make(map[string]time.Duration),
	}
	for _, watch := range r.cluster.Watches() {
		out.Watches[watch.Kind] = watch.For
	}
	late, merged := r.cluster.UnwrittenEvents()
	out.Unwritten = map[string]int64{"late": late, "merged": merged}
	status := r.assembly.Status()
	out.Breakers, out.Guests = pluginsOf(status)
	out.Yanks = w.yanks.known(status)
	out.Trials = comparisons(r.assembly.Trials())
	out.Rollouts = rolloutsOf(r.tenants.Progress())
	if r.folder != nil {
		out.Folder = refusedOf(r.folder.Status())
	}
	s := r.assembly.Scheduler
	if err := s.Do(ctx, func() {
		pending, cached := s.Pending(), s.CacheCounts()
		out.Nodes, out.Pods, out.Assumed = cached.Nodes, cached.Pods, cached.Assumed
		out.Binding, out.Evicting = pending.Binding, pending.Preempting
		out.Events, out.Popped = s.InFlight()
		out.Kept = telemetry.Kept(s.Kept())
		for _, b := range s.Budgets() {
			out.Budgets = append(out.Budgets, telemetry.Budget(b))
		}
		open, counts := s.Debts()
		out.Debts = telemetry.Debts{
			Open: len(open), Opened: counts.Opened, Paid: counts.Paid, Decayed: counts.Decayed, Forgiven: counts.Forgiven, Void: counts.Void,
		}
		countPods(out, s.Queued(), time.Now())
	}); err != nil {
		return nil
	}
	return out
}

// countPods counts the pods that wait, and looks how long they do. While a pod is tried again, and bound, what rejected it before does not count.
func countPods(out *telemetry.State, pods iter.Seq2[queue.Place, *state.QueuedPod], now time.Time) {
	for place, pod := range pods {
		name := queueOf(place)
		if name == "" {
			continue
		}
		out.Pending[name]++
		since := pod.InitialAttempt
		if since.IsZero() {
			since = pod.Timestamp
		}
		out.Oldest[name] = max(out.Oldest[name], now.Sub(since))
		for _, plugin := range pod.Rejectors {
			out.Unschedulable[telemetry.PluginOf{Plugin: plugin, Profile: pod.Pod.Profile}]++
		}
	}
}

// failedWrite returns why a pod cannot be written.
func (w *watched) failedWrite(pod types.NamespacedName) *report.FailedWrite {
	if r := w.running.Load(); r != nil {
		return r.cluster.FailedWrite(pod)
	}
	return nil
}

// problems says what fails now.
func (w *watched) problems() (out []string) {
	for _, part := range w.parts() {
		if part.Failed {
			out = append(out, part.Failure.Note)
		}
	}
	return out
}

// failingOf converts failing writes to metrics.
func failingOf(writes []kube.FailingWrites) (out []telemetry.FailingWrites) {
	for i := range writes {
		f := &writes[i]
		out = append(out, telemetry.FailingWrites{
			Verb: f.Verb, Kind: f.Kind, Code: f.Code, Failures: f.Failures, Objects: f.Objects, Oldest: f.Oldest, Wholly: f.Wholly,
		})
	}
	return out
}

// where returns which queue or stage a pod is in.
func (w *watched) where(ctx context.Context, name types.NamespacedName) (out string, err error) {
	r := w.running.Load()
	if r == nil {
		return "", errors.New("the scheduler has not started yet")
	}
	s := r.assembly.Scheduler
	err = s.Do(ctx, func() {
		for place, pod := range s.Queued() {
			if pod.Pod.Namespace == name.Namespace && pod.Pod.Name == name.Name {
				out = place.String()
				if pod.GatedBy != "" {
					out = gated(pod.GatedBy, pod.GateReason)
				}
				if !pod.RetryAt.IsZero() {
					out += fmt.Sprintf(", and %s has it tried again at %s", pod.RetryBy, pod.RetryAt.UTC().Format(time.RFC3339))
				}
				return
			}
		}
	})
	if out == "" && r.cluster.KeepsPod(name) {
		out = "kept until the scheduler knows a plugin that was just attached"
	}
	for _, p := range s.WaitingPods() {
		if p.Pod.Namespace == name.Namespace && p.Pod.Name == name.Name {
			out = fmt.Sprintf("waiting at Permit for %v", p.Plugins)
		}
	}
	return out, err
}

// lookup returns a function that finds a pod of the cluster: in the informers' cache, or with
// the API server, because terminated pods are not cached.
func (w *watched) lookup(clients *kube.Clients) func(context.Context, types.NamespacedName) (*v1.Pod, error) {
	return func(ctx context.Context, name types.NamespacedName) (*v1.Pod, error) {
		if r := w.running.Load(); r != nil {
			if pod := r.cluster.Pod(name); pod != nil {
				return pod, nil
			}
		}
		return clients.Pod(ctx, name)
	}
}

// serve starts the servers; close stops them.
func (o *serveOptions) serve(
	ctx context.Context, w *watched, c *config.Scheduler, election *kube.Election, clients *kube.Clients, log *slog.Logger,
) (closeAll func(), err error) {
	configuration, err := c.Redacted()
	if err != nil {
		return nil, fmt.Errorf("encode the configuration for /configz: %w", err)
	}
	live, ready := w.checks(ctx, election)
	handler := debughttp.NewHandler(debughttp.Config{
		Live: live, Ready: ready,
		Metrics: w.metrics.Handler(), Resources: telemetry.ResourcesHandler(w.pods(election)), Configuration: configuration,
		Recorder: w.recorder, Where: w.where, FailedWrite: w.failedWrite, Lookup: w.lookup(clients),
		Plugins: w.plugins, Trials: func() any { return trials(w.trials()) },
		WhatIf: whatif.Handler(w.whatIf), Again: whatif.AgainHandler(w.again), Now: w.podNow, Source: w.source(), Leader: election.Leader,
		Profiling: c.EnableProfiling,
	})
	var servers []*debughttp.Server
	closeAll = func() {
		for _, s := range servers {
			if err := s.Close(context.WithoutCancel(ctx)); err != nil {
				log.Debug("server", "error", err)
			}
		}
	}
	fail := func(flag string, err error) (func(), error) {
		closeAll()
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	if o.port != 0 {
		guarded, asks, err := o.guard.guard(ctx, handler, clients)
		if err != nil {
			return nil, err
		}
		o.tls.ClientCertificates = asks
		config, err := o.tls.Serving(ctx)
		if err != nil {
			return nil, fmt.Errorf("configure TLS: %w (check --tls-cert-file, --tls-private-key-file, --tls-min-version and --tls-cipher-suites)", err)
		}
		s, err := debughttp.Serve("tcp", net.JoinHostPort(o.address, strconv.Itoa(o.port)), config, guarded, log)
		if err != nil {
			return fail("secure-port", err)
		}
		servers = append(servers, s)
	}
	socket := o.socket
	if socket == "" {
		var err error
		if socket, err = defaultSocket(); err == nil {
			err = os.MkdirAll(filepath.Dir(socket), 0o700)
		}
		if err != nil {
			log.Warn("cannot create the socket for berth explain; name another one with --debug-socket", "error", err)
			return closeAll, nil
		}
	}
	handler = debughttp.WithDebts(debughttp.WithLevel(handler, w.level, log), w.debts(election.Leader), log)
	listen := func() (*debughttp.Server, error) { return debughttp.Serve("unix", socket, nil, handler, log) }
	if o.socket != "" {
		ticker := time.NewTicker(partEvery)
		stop, others := w.keepSocket(ctx, socket, ticker.C, listen, log), closeAll
		return func() {
			ticker.Stop()
			stop()
			others()
		}, nil
	}
	s, err := listen()
	if err != nil { // another scheduler of this user uses it
		log.Warn("cannot create the socket for berth explain; name another one with --debug-socket", "error", err)
		return closeAll, nil
	}
	servers = append(servers, s)
	return closeAll, nil
}

// pods returns a function that lists the pods of the cluster, or none while this replica
// is not the leader, so that each pod is counted once, as with kube-scheduler.
func (w *watched) pods(election *kube.Election) func() []*v1.Pod {
	return func() []*v1.Pod {
		running := w.running.Load()
		if _, leads := election.Leader(); !leads || running == nil {
			return nil
		}
		return running.cluster.Pods()
	}
}

// both passes attempts to the recorder, the metrics, and what judges canaries.
type both struct{ *watched }

func (b both) Attempted(a *report.Attempt, name func(row uint32) string) {
	b.metrics.Attempted(a, name)
	b.recorder.Attempted(a, name)
	b.canaries.Attempted(a, name)
}

func (b both) Ended(e *report.Ending) {
	b.metrics.Ended(e)
	b.recorder.Ended(e)
	b.canaries.Ended(e)
}

// broken counts a plugin whose answers are not reused any more.
func (w *watched) broken(b pipeline.Broken) { w.metrics.Broken(b.Plugin.Name, b.Plugin.Digest) }
