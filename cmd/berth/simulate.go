package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// simulateOptions is the flags of berth simulate.
type simulateOptions struct {
	input            inputOptions
	config           string
	seed             int64
	tieBreak         string
	attempts         int
	workers          int
	allowUnenforced  []string
	explain          string
	output           string
	report           string
	failOnUnschedule bool
	modules          moduleOptions
}

func newSimulate() *cobra.Command {
	var o simulateOptions
	cmd := &cobra.Command{
		Use:   "simulate (--cluster FILE|DIR ... | --trace openb --nodes FILE --pods FILE)",
		Short: "Schedule a cluster from files and tell what was decided and why",
		Long: `Simulate schedules the unbound pods of a cluster in memory, with the same
queue, cache and cycles as on a real cluster, and prints where they went, what
stayed pending and why, and what each plugin did. Time is virtual: backoffs and
departures take none. The same input and seed give the same placements.

HTTP extenders of the configuration are asked for real, but for bindVerb; the
placements then depend on their answers too.

An interrupt ends the simulation and prints what was done until then.

The exit status is 0, or 1 if the simulation was interrupted or, with
--fail-on-unschedulable, if pods stay pending, or 2 for input that cannot be used.`,
		Example: `  berth simulate --cluster cluster/ --explain team-a/web-0
  berth simulate --cluster nodes.yaml --cluster pods.yaml --config scheduler.yaml -o json
  berth simulate --trace openb --nodes n.csv --pods p.csv --inflate 1.3 --shuffle --attempts 1`,
		Args:    noFiles,
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return simulate(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.input.cluster, "cluster", nil, "Kubernetes YAML or JSON: a `FILE`, or a folder of them; repeatable")
	f.StringVar(&o.input.trace, "trace", "", "import a cluster trace of this `FORMAT`: openb")
	f.StringVar(&o.input.nodes, "nodes", "", "node list of the trace, a CSV `FILE`")
	f.StringVar(&o.input.pods, "pods", "", "pod list of the trace, a CSV `FILE`")
	f.Float64Var(&o.input.inflate, "inflate", 0, "clone random pods of the trace until the demand for GPUs is this `FACTOR` of what there is")
	f.BoolVar(&o.input.shuffle, "shuffle", false, "put the pods of the trace in random order")
	f.BoolVar(&o.input.departures, "departures", false, "let pods arrive and leave at the times of the trace")
	f.StringVar(&o.config, "config", "", "KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) `FILE`; kube-scheduler's defaults if not given")
	o.modules.harmless = true
	o.modules.flags(f)
	f.Int64Var(&o.seed, "seed", 42, "seed of all randomness")
	f.StringVar(&o.tieBreak, "tie-break", "random", "`CHOICE` among nodes of equal score: random, or first in a seeded order of nodes")
	f.IntVar(&o.attempts, "attempts", 0, "tries for each pod before it is given up; 0 for as many as can help")
	f.IntVar(&o.workers, "workers", 0, "goroutines that evaluate nodes; 0 for one a CPU; decisions do not depend on it")
	f.StringSliceVar(&o.allowUnenforced, "allow-unenforced", nil,
		"place pods although no plugin enforces these `FEATURES` that they ask for: "+strings.Join(state.FeatureNames(), ", "))
	f.StringVar(&o.explain, "explain", "", "tell in full how the last try of `NAMESPACE/POD` went")
	f.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text or json")
	f.StringVar(&o.report, "report", "", "write how the GPUs of a trace's cluster fill up as CSV to this `FILE`; needs --attempts 1")
	f.BoolVar(&o.failOnUnschedule, "fail-on-unschedulable", false, "exit with status 1 when pods stay pending")
	return cmd
}

// maxWorkers is more than there are blocks of nodes in any cluster.
const maxWorkers = 256

// noFiles refuses arguments, which are files most likely.
func noFiles(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("simulate takes no arguments: name %s with --cluster, or with --nodes or --pods", args[0])
	}
	return nil
}

func simulate(ctx context.Context, o simulateOptions, stdout, stderr io.Writer) error {
	modules, err := o.modules.open()
	if err != nil {
		return err
	}
	defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
	c, typical, err := o.simulation(ctx, modules, stderr)
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
	s, err := sim.New(c)
	if err != nil {
		return err
	}
	result, stopped := s.Run(ctx)
	progress.close()
	if err := report.write(); err != nil {
		return &failure{err}
	}
	if err := o.print(stdout, result, c.Explain); err != nil {
		return &failure{fmt.Errorf("print the result: %w", err)}
	}
	switch {
	case stopped != nil:
		return &failure{fmt.Errorf("%w; the result shows what was done until then", stopped)}
	case o.failOnUnschedule && result.Summary.Unschedulable > 0:
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

// simulation checks the flags and reads all input, with the typical pods of a trace.
func (o *simulateOptions) simulation(ctx context.Context, modules *assembly.Modules, stderr io.Writer) (sim.Config, []input.TypicalPod, error) {
	var errs []error
	fail := func(flag string, err error) {
		errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
	}
	a := assembly.Config{Seed: uint64(o.seed), Workers: o.workers, Modules: modules}
	var err error
	if a.TieBreak, err = cycle.ParseTieBreak(o.tieBreak); err != nil {
		fail("tie-break", fmt.Errorf("%q is neither random nor first", o.tieBreak))
	}
	if o.output != "text" && o.output != "json" {
		fail("output", fmt.Errorf("%q is neither text nor json", o.output))
	}
	if o.workers < 0 || o.workers > maxWorkers {
		fail("workers", fmt.Errorf("%d is not 0 to %d; 0 stands for one a CPU", o.workers, maxWorkers))
	}
	if o.attempts < 0 {
		fail("attempts", fmt.Errorf("%d is negative; 0 stands for as many as can help", o.attempts))
	}
	for _, name := range o.allowUnenforced {
		f, ok := state.ParseFeature(name)
		if !ok {
			fail("allow-unenforced", fmt.Errorf("%q is not a feature; features are %s", name, strings.Join(state.FeatureNames(), ", ")))
		}
		a.AllowUnenforced |= f
	}
	log, err := o.modules.logger(stderr)
	if err != nil {
		errs = append(errs, err)
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
		return sim.Config{}, nil, errors.Join(errs...)
	}
	scheduler, warnings, err := config.Load(o.config, modules.Catalog())
	if err != nil {
		return sim.Config{}, nil, unreadable(err, "config", o.config)
	}
	if err := o.modules.enable(modules, scheduler); err != nil {
		return sim.Config{}, nil, err
	}
	a.Scheduler = scheduler
	c := sim.Config{Assembly: a, Attempts: o.attempts, Explain: explain, Log: log}
	doubts, typical, err := o.input.load(ctx, &c, o.seed)
	if err != nil {
		return sim.Config{}, nil, err
	}
	if err := checkExplain(&c); err != nil {
		return sim.Config{}, nil, err
	}
	warn(plainly(stderr), warnings)
	for i := range scheduler.Extenders {
		if scheduler.Extenders[i].BindVerb != "" {
			fmt.Fprintf(stderr, "warning: %s: extenders[%d].bindVerb: it is not called, for a simulation binds nothing in a real cluster\n", o.config, i)
		}
	}
	for _, doubt := range doubts {
		fmt.Fprintf(stderr, "warning: %s\n", doubt)
	}
	return c, typical, nil
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

// checkExplain refuses the name of a pod that is not to be scheduled.
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
		if pod.Namespace == c.Explain.Namespace && pod.Name == c.Explain.Name {
			return fmt.Errorf("--explain: pod %s is on node %s already, so nothing is decided about it", c.Explain, pod.Spec.NodeName)
		}
	}
	if elsewhere != "" {
		return fmt.Errorf("--explain: there is no pod %s in the input: did you mean %s/%s?", c.Explain, elsewhere, c.Explain.Name)
	}
	return fmt.Errorf("--explain: there is no pod %s in the input: write NAMESPACE/POD of a pod that has neither a node nor ended", c.Explain)
}

// plainly prints warnings as lines.
func plainly(w io.Writer) func(text string) {
	return func(text string) { fmt.Fprintf(w, "warning: %s\n", text) }
}

// warn tells warnings, those about the default profile in one.
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
		tell("implemented in part only (pods that need the rest stay pending): " + strings.Join(missing, ", "))
	}
}
