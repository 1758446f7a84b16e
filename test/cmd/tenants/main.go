// Command tenants measures what plugins of tenants cost: 200 of them for 50 namespaces on 1,000
// nodes, of which 20 are active. It runs the scheduler in memory, with a registry of its own and
// without an API server.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/berth-scheduler/berth/test/internal/tenants"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var c tenants.Config
	flag.StringVar(&c.Module, "module", "../bin/plugins/tenant-pool.wasm", "the module of all plugins, as make examples builds it")
	flag.StringVar(&c.Profile, "heap", "", "write a profile of the heap with idle plugins to this file")
	flag.IntVar(&c.Tenants, "tenants", 50, "namespaces")
	flag.IntVar(&c.Plugins, "plugins", 4, "plugins of each namespace")
	flag.IntVar(&c.Active, "active", 5, "namespaces that have pods")
	flag.IntVar(&c.Nodes, "nodes", 1000, "nodes")
	flag.IntVar(&c.Pods, "pods", 2000, "pods of each measurement")
	flag.IntVar(&c.Repetitions, "repetitions", 5, "how often the CPU time is measured; the median counts")
	beside := flag.Bool("beside", false, "measure instead what a hostile tenant, or a trial, does to the pods of another one")
	flag.Func("only", "with -beside: only the lines that match `EXPRESSION`", func(s string) (err error) { c.Only, err = regexp.Compile(s); return err })
	root := flag.String("root", "..", "the folder of Berth's go.mod")
	flag.Parse()
	write := write
	if *beside {
		write = func(ctx context.Context, w io.Writer, c tenants.Config) error { return writeBeside(ctx, w, c, *root) }
	}
	err := write(ctx, os.Stdout, c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, w io.Writer, c tenants.Config) error {
	r, err := tenants.Measure(ctx, c)
	if err != nil {
		return err
	}
	const mebi = 1 << 20
	_, err = fmt.Fprintf(w, `plugins                                    %d of %d namespaces, on %d nodes
compile the module once                    %v
start all plugins, once it is compiled     %v
memory of the process before               %d MiB
one idle plugin                            %.2f MiB
memory with %d active plugins              %d MiB
from a new object to the first pod judged  %v
others meanwhile                           waited %v at most for an attempt, which took %v at most
others without a new object                waited %v at most for an attempt, which took %v at most
CPU per pod, with its own plugins only     %v
CPU per pod, with all plugins              %v, %.2f times
`, c.Tenants*c.Plugins, c.Tenants, c.Nodes, r.Compile.Round(time.Millisecond), r.Start.Round(time.Millisecond), r.Before/mebi,
		float64(r.Idle)/mebi, c.Active*c.Plugins, r.Active/mebi, r.Judged.Round(time.Millisecond),
		r.Pause.Round(time.Microsecond), r.Try.Round(time.Microsecond), r.CalmPause.Round(time.Microsecond), r.CalmTry.Round(time.Microsecond),
		r.Own.Round(time.Microsecond/10), r.All.Round(time.Microsecond/10), float64(r.All)/float64(r.Own))
	return err
}

func writeBeside(ctx context.Context, w io.Writer, c tenants.Config, root string) error {
	all, err := tenants.MeasureBeside(ctx, c, root)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "P99 OF A TENANT, WHILE\tATTEMPT\tWITHOUT\tRATIO\tDECIDED AFTER\tWITHOUT\tRATIO\tLONGEST WAIT\tWITHOUT\tFAULTS")
	for i := range all {
		b := &all[i]
		fmt.Fprintf(t, "%s\t%v\t%v\t%.2f\t%v\t%v\t%.2f\t%v\t%v\t%d\n", b.What, b.With.Try.Round(time.Microsecond), b.Without.Try.Round(time.Microsecond), b.Try,
			b.With.Decided.Round(time.Microsecond), b.Without.Decided.Round(time.Microsecond), b.Decided,
			b.With.Pause.Round(time.Microsecond), b.Without.Pause.Round(time.Microsecond), b.Faults)
	}
	return t.Flush()
}
