package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins/deferredpodscheduling"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/tenancy/follow"
)

// simulateOptions holds the flags of berth simulate.
type simulateOptions struct {
	program          *program
	input            inputOptions
	config           string
	seed             int64
	start            string
	timed            bool // by a flag or a setting
	tieBreak         string
	attempts         int
	workers          int
	allowUnenforced  []string
	gates            gateOptions
	explain          string
	output           string
	report           string
	failOnUnschedule bool
	failOnFault      bool
	modules          moduleOptions
	reuse            reuseMemory
	feeds            string
	model            *load // of feeds whose source is a model
	record           recordOptions
}

func newSimulate(p *program) *cobra.Command {
	o := simulateOptions{program: p}
	cmd := &cobra.Command{
		Use:   "simulate (--cluster FILE|DIR ... | --trace openb --nodes FILE --pods FILE)",
		Short: "Schedule a cluster from files and explain the decisions",
		Long: `Simulate schedules the unbound pods of a cluster in memory, with the same queue,
cache and cycles as on a real cluster. It prints where the pods went, which pods
stayed pending and why, and what each plugin did. Time is virtual: the simulation
begins at the time of --start, and does not wait for backoffs and departures. The
same input and seed give the same placements.

Simulate really calls the HTTP extenders of the configuration, except their
bindVerb. The placements then also depend on their answers.

An interrupt ends the simulation and prints the results so far.

The exit status is 0; 1 if the simulation was interrupted, if every call of a module
ended in a fault, with --fail-on-unschedulable if pods stay pending, or with
--fail-on-fault if any call of a module ends in a fault; and 2 for input that cannot be used.`,
		Example: `  berth simulate --cluster cluster/ --explain team-a/web-0
  berth simulate --cluster nodes.yaml --cluster pods.yaml --config scheduler.yaml -o json
  berth simulate --trace openb --nodes n.csv --pods p.csv --inflate 1.3 --shuffle --attempts 1`,
		Args:    noArguments("--cluster, or with --nodes or --pods"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.timed = cmd.Flags().Changed("start")
			return simulate(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.input.cluster, "cluster", nil, "Kubernetes YAML or JSON: a `FILE`, or a folder of them; repeatable")
	f.BoolVar(&o.input.strict, "strict", false, "refuse objects that cannot be used, unknown fields, and pods of other schedulers, which are left out otherwise")
	f.StringVar(&o.input.trace, "trace", "", "import a cluster trace of this `FORMAT`: openb")
	f.StringVar(&o.input.nodes, "nodes", "", "node list of the trace, a CSV `FILE`")
	f.StringVar(&o.input.pods, "pods", "", "pod list of the trace, a CSV `FILE`")
	f.Float64Var(&o.input.inflate, "inflate", 0, "clone random pods of the trace until they request this `FACTOR` of all GPUs")
	f.BoolVar(&o.input.shuffle, "shuffle", false, "put the pods of the trace in random order")
	f.BoolVar(&o.input.departures, "departures", false, "let pods arrive and leave at the times of the trace")
	f.StringVar(&o.config, "config", "", "KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) `FILE`; kube-scheduler's defaults if not given")
	o.modules.harmless = true
	o.modules.flags(f)
	f.Int64Var(&o.seed, "seed", 42, "seed of all random choices")
	f.StringVar(&o.start, "start", sim.DefaultStart().Format(time.RFC3339), "`TIME` at which the simulation begins; plugins may read the time")
	f.StringVar(&o.tieBreak, "tie-break", "random", "`CHOICE` among nodes of equal score: random, or first in a seeded order of nodes")
	f.IntVar(&o.attempts, "attempts", 0, "maximum attempts for each pod; 0 for as many as can help")
	f.IntVar(&o.workers, "workers", 0, "goroutines that evaluate nodes; 0 for one per CPU; decisions do not depend on it")
	o.reuse.flag(f)
	o.gates.flag(f)
	f.StringVar(&o.feeds, "feeds", "",
		"`FILE` that declares feeds for plugins; their sources must be files, which are read once, or models of load")
	f.StringSliceVar(&o.allowUnenforced, "allow-unenforced", nil,
		"schedule pods although no plugin enforces these `FEATURES` of theirs: "+strings.Join(state.FeatureNames(), ", "))
	f.StringVar(&o.explain, "explain", "", "explain the last attempt for `NAMESPACE/POD` in full")
	f.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text or json")
	f.StringVar(&o.report, "report", "", "write the GPU allocation after each pod of a trace as CSV to this `FILE`; needs --attempts 1")
	f.StringVar(&o.record.to, "record", "", "write a recording, which berth replay repeats, to this `FILE`")
	o.record.flags(f)
	f.BoolVar(&o.failOnUnschedule, "fail-on-unschedulable", false, "exit with status 1 when pods stay pending")
	f.BoolVar(&o.failOnFault, "fail-on-fault", false, "exit with status 1 when a call of a module ends in a fault")
	return cmd
}

// maxWorkers is more than any cluster has blocks of nodes.
const maxWorkers = 256

func simulate(ctx context.Context, o simulateOptions, stdout, stderr io.Writer) error {
	o.modules.loaded = func(m *module.Loaded, _ *module.Reference) {
		if old := stale(m.Path, m.Manifest.Name); old != "" {
			fmt.Fprintf(stderr, "warning: %s\n", old)
		}
		if !o.timed && slices.Contains(m.Manifest.Reads.Pod, "now") {
			fmt.Fprintf(stderr, "warning: %s reads the time, and the simulation begins at %s; --start sets another time\n", m.Path, o.start)
		}
	}
	modules, err := o.modules.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	c, tenants, typical, err := o.simulation(ctx, modules, stderr)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &failure{fmt.Errorf("stopped while reading the input: %w", context.Cause(ctx))}
	}
	progress := newProgress(stderr, len(c.Arrivals))
	c.Progress = progress.set
	report, err := newReport(o.report, &c, typical)
	if err != nil {
		return err
	}
	recording, err := o.record.toFile(stderr)
	if err != nil {
		return err
	}
	c.Recorder, c.Assembly.RecordReads = recording.recorder(), o.record.reads
	s, err := sim.New(c)
	if err != nil {
		return errors.Join(err, recording.close())
	}
	refused := s.Refusals()
	result, stopped := s.Run(ctx)
	progress.close()
	result.Load = o.model.result()
	result.Attached = attachedObjects(tenants, refused, follow.Faults(s.Status()))
	unclosed := recording.close()
	if err := report.write(); err != nil {
		return &failure{errors.Join(err, unclosed)}
	}
	if err := o.print(stdout, result, c.Explain); err != nil {
		return &failure{errors.Join(fmt.Errorf("print the result: %w", err), unclosed)}
	}
	useless := slices.IndexFunc(result.Plugins, func(u sim.PluginUsage) bool { return u.Faults > 0 && u.Answered == 0 })
	switch {
	case unclosed != nil:
		return &failure{unclosed}
	case stopped != nil:
		return &failure{fmt.Errorf("%w; the output has the results so far", stopped)}
	case useless >= 0:
		u := result.Plugins[useless]
		return &failure{fmt.Errorf("every call of the plugin %s ended in a fault, so it decided nothing; the first: %s", u.Name, u.FirstFault)}
	case recording.isShort(), o.failOnUnschedule && result.Summary.Unschedulable > 0,
		o.failOnFault && slices.ContainsFunc(result.Plugins, func(u sim.PluginUsage) bool { return u.Faults > 0 }):
		return &failure{errSilent}
	}
	return nil
}

func (o *simulateOptions) print(w io.Writer, r *sim.Result, explain types.NamespacedName) error {
	if o.output == "json" {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return render(w, width(w), r, explain)
}

// simulation checks the flags and reads all input. It also returns the state of the objects
// that attach plugins, and the typical pods of a trace.
func (o *simulateOptions) simulation(ctx context.Context, modules *assembly.Modules, stderr io.Writer) (sim.Config, *tenancy.Result, []input.TypicalPod, error) {
	var errs []error
	fail := func(flag string, err error) {
		errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
	}
	a := o.program.addTo(assembly.Config{Seed: uint64(o.seed), Workers: o.workers, Modules: modules})
	var err error
	if a.TieBreak, err = cycle.ParseTieBreak(o.tieBreak); err != nil {
		fail("tie-break", fmt.Errorf("%q is neither random nor first", o.tieBreak))
	}
	if a.Reuse, err = o.reuse.config(); err != nil {
		errs = append(errs, err)
	}
	if o.output != "text" && o.output != "json" {
		fail("output", fmt.Errorf("%q is neither text nor json", o.output))
	}
	if o.workers < 0 || o.workers > maxWorkers {
		fail("workers", fmt.Errorf("%d is not between 0 and %d; 0 is one per CPU", o.workers, maxWorkers))
	}
	if o.attempts < 0 {
		fail("attempts", fmt.Errorf("%d is negative; 0 is as many as can help", o.attempts))
	}
	warnings, err := o.gates.parse()
	if err != nil {
		errs = append(errs, err)
	}
	warn(plainly(stderr), warnings)
	a.Gates = o.gates.gates
	for _, name := range o.allowUnenforced {
		f, err := parseFeature(name)
		if err != nil {
			fail("allow-unenforced", err)
		}
		a.AllowUnenforced |= f
	}
	log, err := o.modules.logger(stderr)
	if err != nil {
		errs = append(errs, err)
	}
	start, err := time.Parse(time.RFC3339, o.start)
	if err != nil || start.Unix() < 0 {
		fail("start", fmt.Errorf("%q is not a time since 1970 such as 2026-12-01T14:00:00Z", o.start))
	}
	explain, err := parseExplain(o.explain)
	if err != nil {
		fail("explain", err)
	}
	if err := o.input.check(); err != nil {
		errs = append(errs, err)
	}
	if err := o.checkReport(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return sim.Config{}, nil, nil, errors.Join(errs...)
	}
	scheduler, warnings, err := o.modules.load(ctx, "config", o.config, assembly.Catalog(o.program.names...).WithGates(o.gates.gates), modules)
	if err != nil {
		return sim.Config{}, nil, nil, err
	}
	a.Scheduler = scheduler
	c := sim.Config{Assembly: a, Attempts: o.attempts, Flush: true, Start: start.UTC(), Explain: explain, Log: log}
	objects, typical, err := o.input.load(ctx, &c, o.seed)
	if err != nil {
		return sim.Config{}, nil, nil, err
	}
	if o.model, err = o.load(ctx, &c); err != nil {
		return sim.Config{}, nil, nil, err
	}
	others := ""
	if !o.input.strict {
		others = leaveOthers(&c, scheduler)
	}
	tenants := resolve(objects, modules, scheduler)
	c.Assembly.Attached = follow.Attachments(tenants)
	read, err := readObjects(ctx, stderr, o.input.cluster, objects, scheduler, c.Assembly.Attached)
	if err := stopped(ctx, err); err != nil {
		return sim.Config{}, nil, nil, err
	}
	c.Feeds = append(c.Feeds, read...)
	if err := checkExplain(&c); err != nil {
		return sim.Config{}, nil, nil, err
	}
	warn(plainly(stderr), warnings)
	for i := range scheduler.Extenders {
		if scheduler.Extenders[i].BindVerb != "" {
			fmt.Fprintf(stderr, "warning: %s: extenders[%d].bindVerb is not called, because a simulation does not bind pods of a real cluster\n", o.config, i)
		}
	}
	leftOut(stderr, objects.LeftOut)
	doubts(stderr, objects.Warnings)
	if others != "" {
		fmt.Fprintf(stderr, "warning: %s\n", others)
	}
	return c, tenants, typical, nil
}

func parseExplain(s string) (types.NamespacedName, error) {
	if s == "" {
		return types.NamespacedName{}, nil
	}
	namespace, name, ok := strings.Cut(s, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("%q is not NAMESPACE/POD", s)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// checkExplain rejects a pod that the simulation does not schedule.
func checkExplain(c *sim.Config) error {
	if c.Explain.Name == "" {
		return nil
	}
	elsewhere := ""
	for _, a := range c.Arrivals {
		switch {
		case a.Pod.Name != c.Explain.Name:
		case a.Pod.Namespace == c.Explain.Namespace:
			return nil
		case elsewhere == "":
			elsewhere = a.Pod.Namespace
		}
	}
	for _, pod := range c.Bound {
		switch {
		case pod.Namespace != c.Explain.Namespace || pod.Name != c.Explain.Name:
		case !pod.ResizeDeferred():
			return fmt.Errorf("--explain: pod %s is already on node %s, so it is not scheduled", c.Explain, pod.NodeName())
		case !triesResize(c, pod):
			return fmt.Errorf("--explain: pod %s is already on node %s, where a resize in place waits until the kubelet has room: "+
				"a scheduler makes room with --feature-gates %s=true and the plugin %s in profile %s",
				c.Explain, pod.NodeName(), config.ResizePreemption, deferredpodscheduling.Name, pod.Profile)
		default:
			return nil
		}
	}
	if elsewhere != "" {
		return fmt.Errorf("--explain: the input has no pod %s: did you mean %s/%s?", c.Explain, elsewhere, c.Explain.Name)
	}
	return fmt.Errorf("--explain: the input has no pod %s: write NAMESPACE/POD of a pod that has no node and has not terminated", c.Explain)
}

// triesResize reports whether a pod on a node is tried for its resize in place.
func triesResize(c *sim.Config, pod *state.Pod) bool {
	return c.Assembly.Gates.On(config.ResizePreemption) && slices.ContainsFunc(c.Assembly.Scheduler.Profiles, func(p config.Profile) bool {
		return p.SchedulerName == pod.Profile &&
			slices.ContainsFunc(p.Points["permit"], func(ref config.PluginRef) bool { return ref.Name == deferredpodscheduling.Name })
	})
}

// plainly returns a function that prints warnings as lines.
func plainly(w io.Writer) func(text string) {
	return func(text string) { fmt.Fprintf(w, "warning: %s\n", text) }
}

// warn reports warnings, and joins those about the default profile.
func warn(tell func(text string), warnings []config.Warning) {
	var missing []string
	for _, warning := range warnings {
		if warning.ByDefault {
			missing = append(missing, warning.Plugin)
			continue
		}
		tell(warning.String())
	}
	if len(missing) > 0 {
		tell("not implemented (pods that need them stay pending): " + strings.Join(missing, ", "))
	}
}
