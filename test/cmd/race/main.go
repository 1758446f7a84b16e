// Command race measures Berth and kube-scheduler v1.37 side by side on a real API
// server, and writes a table in Markdown.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/race"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "race:", err)
		os.Exit(1)
	}
}

type options struct {
	workloads, modes, nodes, schedulers, schedulerConfig, berthFlags, plugins, withFlags, profiles, out string
	repetitions, pods, before                                                                           int
	patience, whatIf                                                                                    time.Duration
}

func run(ctx context.Context, args []string) (err error) {
	var names []string
	for _, w := range workload.All() {
		names = append(names, w.Name)
	}
	var o options
	flags := flag.NewFlagSet("race", flag.ContinueOnError)
	flags.StringVar(&o.workloads, "workloads", strings.Join(names, ","), "kinds of pods")
	flags.StringVar(&o.modes, "modes", "stream,backlog", "how pods come: a stream on 1,000 nodes, a backlog on 5,000")
	flags.StringVar(&o.nodes, "nodes", "", "numbers of nodes instead of these")
	flags.StringVar(&o.schedulers, "schedulers", "kube-scheduler,berth", "who takes part; berth+plugins is Berth with -plugins, -with-flags or -what-if")
	flags.StringVar(&o.plugins, "plugins", "", "`MODULES` for --plugin of berth+plugins, with blanks between them")
	flags.StringVar(&o.withFlags, "with-flags", "", "`FLAGS` of berth+plugins beside those of berth, with blanks between them")
	flags.DurationVar(&o.whatIf, "what-if", 0, "ask berth+plugins where 100 pods would go, at this interval")
	flags.StringVar(&o.profiles, "profiles", "", "keep CPU profiles of berth+plugins in this `FOLDER`")
	flags.StringVar(&o.schedulerConfig, "config", "", "KubeSchedulerConfiguration `FILE` for all; the defaults if not given")
	flags.StringVar(&o.berthFlags, "berth-flags", "", "`FLAGS` of berth run beside those of the race, with blanks between them")
	flags.IntVar(&o.repetitions, "repetitions", 3, "of each; the table has the medians")
	flags.IntVar(&o.pods, "pods", 0, "pods that are measured; 2,000 in a stream and 3,000 in a backlog if not given")
	flags.IntVar(&o.before, "before", 1000, "pods that are placed before a stream")
	flags.DurationVar(&o.patience, "patience", 10*time.Minute, "how long one run may take")
	flags.StringVar(&o.out, "out", "", "`FILE` for the table, besides the output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := o.config()
	if err != nil {
		return err
	}
	module, err := moduleDir()
	if err != nil {
		return err
	}
	binaries, err := cluster.Build(ctx, module, "", os.Stderr)
	if err != nil {
		return err
	}
	c, err := cluster.Start(ctx, cluster.Config{Binaries: binaries, APIServerFlags: []string{"--enable-priority-and-fairness=false"}})
	if err != nil {
		return err
	}
	defer func() {
		if stopped := c.Stop(); err == nil {
			err = errors.Join(stopped, c.Remove())
		} else {
			err = errors.Join(err, stopped, fmt.Errorf("logs are in %s", c.Dir()))
		}
	}()
	results, err := race.Run(ctx, c, config)
	// Keep what was measured before a failure.
	return errors.Join(err, o.write(results))
}

// config expands the lists into legs, with legs of the same nodes next to each other.
func (o *options) config() (race.Config, error) {
	c := race.Config{Repetitions: o.repetitions, Patience: o.patience, Progress: os.Stderr, BerthFlags: strings.Fields(o.berthFlags), WhatIf: o.whatIf, Profiles: o.profiles}
	for _, name := range strings.Split(o.schedulers, ",") {
		c.Schedulers = append(c.Schedulers, cluster.Program(name))
	}
	for _, module := range strings.Fields(o.plugins) {
		c.PluginFlags = append(c.PluginFlags, "--plugin="+module)
	}
	c.PluginFlags = append(c.PluginFlags, strings.Fields(o.withFlags)...)
	if with := slices.Contains(c.Schedulers, race.WithPlugins); with != (len(c.PluginFlags) > 0 || c.WhatIf > 0) {
		return race.Config{}, fmt.Errorf("-plugins %s, -with-flags %s, -what-if %v and -schedulers %s: %s needs modules, flags or questions, and these need it", o.plugins, o.withFlags, o.whatIf, o.schedulers, race.WithPlugins)
	}
	if o.schedulerConfig != "" {
		text, err := os.ReadFile(o.schedulerConfig)
		if err != nil {
			return race.Config{}, err
		}
		c.SchedulerConfig = string(text)
	}
	for _, mode := range strings.Split(o.modes, ",") {
		leg := race.Leg{Mode: race.Mode(mode), Pods: o.pods}
		nodes, pods := "", 0
		switch leg.Mode {
		case race.Stream:
			nodes, pods, leg.Before = "1000", 2000, o.before
		case race.Backlog:
			nodes, pods = "5000", 3000
		default:
			return race.Config{}, fmt.Errorf("-modes %s: want stream or backlog", mode)
		}
		if o.nodes != "" {
			nodes = o.nodes
		}
		if leg.Pods == 0 {
			leg.Pods = pods
		}
		for _, number := range strings.Split(nodes, ",") {
			if _, err := fmt.Sscanf(number, "%d", &leg.Nodes); err != nil || leg.Nodes < 1 {
				return race.Config{}, fmt.Errorf("-nodes %s: want numbers", o.nodes)
			}
			for _, name := range strings.Split(o.workloads, ",") {
				var err error
				if leg.Workload, err = workload.ByName(name); err != nil {
					return race.Config{}, err
				}
				c.Legs = append(c.Legs, leg)
			}
		}
	}
	return c, nil
}

func (o *options) write(results []race.Result) error {
	if len(results) == 0 {
		return nil
	}
	out := io.Writer(os.Stdout)
	if o.out != "" {
		file, err := os.Create(o.out)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // closed below; this is for failures
		out = io.MultiWriter(os.Stdout, file)
		if err := o.table(out, results); err != nil {
			return err
		}
		return file.Close()
	}
	return o.table(out, results)
}

func (o *options) table(out io.Writer, results []race.Result) error {
	if _, err := fmt.Fprintf(out, "Medians of %d runs, on %s/%s with %d cores, %s:\n\n",
		o.repetitions, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()); err != nil {
		return err
	}
	if err := race.WriteTable(out, results); err != nil {
		return err
	}
	return race.WritePairs(out, results)
}

// moduleDir returns the folder of test/go.mod, the current one or one above it.
func moduleDir() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "cmd", "race", "main.go")); missing == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("run it in the folder test/ of the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
