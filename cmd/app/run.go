package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/feeds"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// Values of --events.
const (
	eventsAll      = "all"
	eventsFailures = "failures"
)

// mostHeldWrites is the largest --held-pod-writes: more of these writes would delay others. heldWritesOfTenants applies without the
// flag, to pods that wait for an attached plugin or a feed: kube-scheduler has no such pods, and their owners cannot see the scheduler's log.
const (
	mostHeldWrites      = 1000
	heldWritesOfTenants = 10
)

// runOptions holds the flags of berth run.
type runOptions struct {
	program     *program
	config      string
	feeds       string
	declared    []feeds.Feed // of feeds
	argument    bool         // config is not from its flag
	index       string
	connection  connectionOptions
	leader      leaderOptions
	gates       gateOptions
	modules     moduleOptions
	reuse       reuseMemory
	trialShare  float64
	serve       serveOptions
	logging     loggingOptions
	pluginDir   string
	writeTo     string
	seed        int64
	drain       time.Duration
	events      string
	heldWrites  int
	unscheduled time.Duration
	unenforced  []string
	disable     []string
	stopped     tenancy.Stopped // what disable says
	record      recordOptions
}

func newRun(p *program) *cobra.Command {
	o := runOptions{program: p}
	cmd := &cobra.Command{
		Use:   "run [--config FILE] [--kubeconfig FILE]",
		Short: "Schedule the pods of a Kubernetes cluster",
		Long: `Run schedules the pods of a cluster as kube-scheduler does, with the same
configuration file, flags, events and conditions. Name plugin modules in the
configuration or with --plugin, or put them into the folder of --plugin-dir, which
Berth watches.

After an interrupt, run finishes the bindings in progress and exits; a second
interrupt exits at once. The exit status is 0 after an interrupt, 1 if the lease
was lost, and 2 for input that cannot be used.`,
		Example: `  berth run --kubeconfig ~/.kube/config --config berth.yaml --leader-elect=false
  berth run --config /etc/kubernetes/scheduler.yaml --plugin-dir /etc/berth/plugins`,
		Args:    noArguments(""),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	o.flags(cmd.Flags())
	cmd.Flags().StringVar(&o.writeTo, "write-config-to", "", "write the configuration with all defaults and flags to this `FILE` and exit")
	return cmd
}

func (o *runOptions) flags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.config, "config", "", "KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) `FILE`; kube-scheduler's defaults if not given")
	o.connection.flags(f)
	o.leader.flags(f)
	o.gates.flag(f)
	o.serve.flags(f)
	o.modules.flags(f)
	f.StringVar(&o.index, "index", "", "`REFERENCE` of an index of plugins, as in ghcr.io/team/index, with --verification-policy; report modules in use that it yanks")
	o.reuse.flag(f)
	f.Float64Var(&o.trialShare, "shadow-share", assembly.DefaultTrialShare, "the part of the scheduler's time that plugins in shadow may take, above 0 and up to 1 for no limit")
	o.logging.flags(f)
	refuseOthers(f)
	f.StringSliceVar(&o.disable, "disable-plugins", nil, "do not run these `PLUGINS` of the API: NAME of a SchedulerPlugin, NAMESPACE/NAME of a TenantPlugin, or all; with =Hold their pods wait, and with =Release they do not")
	f.StringVar(&o.feeds, "feeds", "", "`FILE` that declares feeds: numbers about nodes, such as their load, that Berth fetches for plugins")
	f.StringVar(&o.pluginDir, "plugin-dir", "", "add the modules of this `DIR` to every profile, and reload them when they change")
	f.Int64Var(&o.seed, "seed", 0, "seed of all random choices; 0 for a random seed, which is logged")
	f.DurationVar(&o.unscheduled, "pod-max-in-unschedulable-pods-duration", 5*time.Minute, "how long a pod may stay unschedulable before it is retried without an event")
	f.DurationVar(&o.drain, "shutdown-grace-period", 10*time.Second,
		"time limit for ending the writes in flight, and then for writing events, before exit")
	f.StringSliceVar(&o.unenforced, "allow-unenforced", nil, "`FEATURES` that pods may use although no enabled plugin enforces them, in every profile: "+strings.Join(state.FeatureNames(), ", "))
	f.StringVar(&o.record.to, "record", "", "write a recording, which berth replay repeats, to a new file in this `DIR`")
	f.StringVar(&o.record.size, "record-size", "1Gi", "maximum size of the recordings in that folder, as a `QUANTITY`; the oldest are removed")
	o.record.flags(f)
	f.IntVar(&o.heldWrites, "held-pod-writes", 0, "how many pods a second may get a condition that says why a PreEnqueue plugin "+
		"holds them back; 0 for ten, and only pods that wait for a feed, or for an attached plugin that does not run")
	f.StringVar(&o.events, "events", eventsAll, "`WHICH` events to write: all, or failures to leave out events of placed pods")
}

// check validates the flags, and returns the logger and its level.
func (o *runOptions) check(level *slog.LevelVar, stderr io.Writer) (*slog.Logger, error) {
	if err := o.logging.apply(&o.modules); err != nil {
		return nil, err
	}
	if err := o.modules.setLevel(level); err != nil {
		return nil, err
	}
	var err error
	if o.declared, err = loadFeeds(context.Background(), o.feeds); err != nil {
		return nil, err
	}
	if _, err = o.newFeeds(nil, nil, nil); err != nil {
		return nil, err
	}
	if o.stopped, err = tenancy.ParseStopped(o.disable); err != nil {
		return nil, fmt.Errorf("--disable-plugins: %w", err)
	}
	return newLogger(stderr, level, o.modules.json), o.serve.check()
}

// run checks the input before anything starts.
func (o *runOptions) run(ctx context.Context, stderr io.Writer) (err error) {
	w := newWatched(o.program)
	alone, err := o.check(w.level, stderr)
	if err != nil {
		return err
	}
	log := slog.New(withoutRepeats(alone.Handler(), slog.LevelWarn, nil))
	defer func() { err = o.logEnd(ctx, alone, err) }()
	if o.events != eventsAll && o.events != eventsFailures {
		return fmt.Errorf("--events: %q is neither %s nor %s", o.events, eventsAll, eventsFailures)
	}
	if o.heldWrites < 0 || o.heldWrites > mostHeldWrites {
		return fmt.Errorf("--held-pod-writes: %d is not between 0 and %d", o.heldWrites, mostHeldWrites)
	}
	if _, err := o.reuse.config(); err != nil {
		return err
	}
	if some := o.trialShare > 0 && o.trialShare <= 1; !some {
		return fmt.Errorf("--shadow-share: %v is not above 0 and up to 1: to run no plugin in shadow, set its mode to Disabled", o.trialShare)
	}
	reach := kube.NewReach()
	klog.SetSlogLogger(slog.New(withoutRepeats(alone.Handler(), slog.LevelDebug, reach.Says)).With("by", "client-go"))
	if w.yanks, err = o.newYanks(ctx, &w.optional); err != nil {
		return err
	}
	var digests []string
	o.modules.loaded = func(l *module.Loaded, _ *module.Reference) { digests = append(digests, l.Digest) }
	o.modules.to, o.modules.cacheOptional = log, true
	modules, err := o.modules.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	more, err := o.gates.parse()
	if err != nil {
		return err
	}
	scheduler, warnings, err := o.load(ctx, modules)
	if err != nil {
		return err
	}
	tell := func(text string) { log.Warn(text) } // whatever parses the log expects nothing else on stderr
	if o.writeTo != "" && !o.modules.json {
		tell = plainly(stderr)
	}
	warn(tell, append(warnings, more...))
	if o.writeTo != "" {
		return o.program.writeConfig(o.writeTo, scheduler, modules)
	}
	warnAlone(tell, scheduler)
	warnOpen(tell, "plugin-dir", o.pluginDir, "add plugins", true)
	warnOpen(tell, "record", o.record.to, "replace recordings", false)
	w.yanks.begin(ctx, digests, tell)
	if dir := o.modules.cache; dir != "" && dir != noCache {
		ticker := time.NewTicker(partEvery)
		defer ticker.Stop()
		w.followCache(ctx, dir, ticker.C, log)
	}
	saveMemory(ctx)
	connection := kube.Connection{ClientConnectionConfiguration: scheduler.ClientConnection, Master: o.connection.master, Reach: reach}
	if o.seed == 0 {
		o.seed = rand.Int64()
	}
	return rounds(ctx, log, sleep, func(ctx context.Context, suspects *suspects) error {
		clients, err := connection.Connect(ctx, scheduler.LeaderElection)
		if err != nil {
			return err
		}
		w.suspects = suspects
		return o.schedule(ctx, scheduler, modules, clients, w, log)
	})
}

// logEnd logs the error with which the scheduler ends, as whatever parses the log expects. Input that is refused before anything starts
// is printed for a person, unless the log is JSON.
func (o *runOptions) logEnd(ctx context.Context, log *slog.Logger, err error) error {
	if err == nil || !log.Enabled(ctx, slog.LevelError) || !o.modules.json && !errors.As(err, new(*failure)) {
		return err
	}
	log.Error("berth ends", "error", err)
	return errors.Join(err, errSilent)
}

// load reads the configuration, and adds flags and the modules of --plugin.
func (o *runOptions) load(ctx context.Context, modules *assembly.Modules) (*config.Scheduler, []config.Warning, error) {
	flag := "config"
	if o.argument {
		flag = ""
	}
	scheduler, warnings, err := o.modules.load(ctx, flag, o.config, assembly.Catalog(o.program.names...).WithGates(o.gates.gates), modules)
	if err != nil {
		return nil, nil, err
	}
	if err := allowUnenforced(scheduler, o.unenforced); err != nil {
		return nil, nil, err
	}
	warnings = append(warnings, leftToOthers(scheduler)...)
	o.leader.apply(scheduler)
	o.connection.apply(scheduler)
	o.serve.apply(scheduler)
	return scheduler, warnings, scheduler.CheckOverrides()
}

// warnAlone prints a warning if this scheduler and kube-scheduler could schedule the same
// pods.
func warnAlone(tell func(text string), s *config.Scheduler) {
	for i := range s.Profiles {
		if name := s.Profiles[i].SchedulerName; name == v1.DefaultSchedulerName && !*s.LeaderElection.LeaderElect {
			tell("leader election is off and a profile is named " + name + ": if kube-scheduler also runs, both schedule the same pods " +
				"(give the profile another schedulerName, or turn leader election on)")
		}
	}
}

// schedule connects the scheduler to the cluster and runs it.
func (o *runOptions) schedule(ctx context.Context, s *config.Scheduler, modules *assembly.Modules, clients *kube.Clients, w *watched, log *slog.Logger) error {
	var profiles []string
	for i := range s.Profiles {
		profiles = append(profiles, s.Profiles[i].SchedulerName)
	}
	told := kube.Config{Profiles: profiles, Quiet: o.events == eventsFailures, HeldWrites: o.heldWrites,
		CompareTolerations: o.gates.gates.On(config.TolerationOperators)}
	if told.HeldWrites == 0 {
		told.HeldWrites, told.HeldBy = heldWritesOfTenants, []string{assembly.HoldName, assembly.RequireName}
	}
	cluster, err := kube.New(told,
		kube.Deps{Client: clients.Main, Plugins: clients.Plugins, KubeConfig: clients.REST, Events: clients.Events, Covered: clients.Covered,
			Reach: clients.Reach, Requests: clients.Requests, Pace: clients.Pace, Observer: w.metrics, Log: log, Panicked: w.panicked})
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.drain)
		defer cancel()
		cluster.Close(last)
	}()
	kept, err := o.reuse.config()
	if err != nil {
		return err
	}
	fetched, err := o.newFeeds(clients, cluster.NodeObject, log)
	if err != nil {
		return err
	}
	recording, err := o.record.toFolder(log, w)
	if err != nil {
		return err
	}
	defer func() {
		if err := recording.close(); err != nil {
			log.Error("the recording could not be closed", "error", err)
		}
	}()
	views := kube.NewObjectViews(clients)
	a, err := assembly.New(
		o.program.addTo(assembly.Config{Scheduler: s, Gates: o.gates.gates, Modules: modules, Seed: uint64(o.seed),
			MaxUnschedulable: o.unscheduled, Reuse: kept, TrialShare: o.trialShare, RecordReads: o.record.reads, Feeds: feeds.IDs(o.declared)}),
		assembly.Deps{
			Binder: cluster, Evictor: cluster, Patcher: cluster, Outlet: cluster,
			Recorder: recording.recorder(), Follow: views.Set, Objects: cluster, Budgets: cluster.Budgets(), Storage: cluster.Storage(), Devices: cluster.Devices(), Services: cluster.Services(), Controllers: cluster.Controllers(),
			Observer: both{w}, Moved: w.moved, Gated: cluster.Gated, Handled: w.metrics.Handled, Worked: w.metrics.Worked, Broken: w.broken,
			Framework: o.program.hosts(cluster.Framework), Log: log,
			Panicked: w.panicked, Suspects: w.suspects, Fault: w.fault, MaxUnsent: clients.PerSecond(),
		})
	if err != nil {
		return err
	}
	defer a.Close()
	var folder *assembly.Folder
	if o.pluginDir != "" {
		if folder, err = a.Watch(ctx, assembly.FolderConfig{Dir: o.pluginDir}); err != nil {
			return fmt.Errorf("--plugin-dir: %w", err)
		}
	}
	tenants, stop := followPlugins(ctx, a, s, o.stopped, modules, cluster, w, log)
	defer stop()
	election, err := kube.NewElection(s.LeaderElection, clients, cluster)
	if err != nil {
		return err
	}
	defer w.followFeeds(ctx, fetched, a.Scheduler)()
	defer w.followObjects(ctx, views, a.Scheduler, log)()
	w.running.Store(&running{assembly: a, cluster: cluster, folder: folder, tenants: tenants, feeds: fetched,
		optional: func(ctx context.Context) ([]runtime.Object, []string) { return kube.Optional(ctx, clients.Reviews) }})
	if w.yanks != nil {
		go w.yanks.follow(ctx, indexEvery, partEvery, a.Status, log)
	}
	closeServers, err := o.serve.serve(ctx, w, s, election, clients, log)
	if err != nil {
		return err
	}
	defer closeServers()
	identity := election.Identity()
	if identity == "" {
		identity = "none: leader election is off"
	}
	log.Info("berth starts", "version", o.program.version, "apiServer", clients.REST.Host, "profiles", profiles, "seed", o.seed,
		"identity", identity, "featureGates", o.gates.gates.String())
	defer context.AfterFunc(ctx, func() { log.Info("berth was told to stop", "by", context.Cause(ctx)) })()
	err = cluster.Run(ctx, kube.RunConfig{
		DelayCacheUntilActive: s.DelayCacheUntilActive, Grace: o.drain, Parts: w.parts,
		Before: func(ctx context.Context) error {
			if err := tenants.Sync(ctx); err != nil { // no pod is placed without the plugins that it has to wait for
				return cmp.Or(ctx.Err(), err)
			}
			tellStopped(log, o.stopped, tenants.Result())
			return ctx.Err()
		}, Beside: tenants.Report,
		Leading:    func() { log.Info("this replica leads") },
		Scheduling: func() { log.Info("the caches are synced; scheduling starts") },
	}, a.Scheduler, election)
	if err != nil {
		return &failure{err}
	}
	log.Info("berth ends")
	return nil
}
