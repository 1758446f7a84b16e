// Command schedulerperf runs upstream's benchmarks of schedulers with kube-scheduler and with berth run, and
// writes docs/scheduler-perf.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/berth-scheduler/berth/test/internal/schedulerperf"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "schedulerperf:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("schedulerperf", flag.ContinueOnError)
	only := flags.String("only", "", "packages, test cases or workloads, separated by commas; all if empty")
	each := flags.Bool("one-of-each", false, "run one workload of each test case, with a threshold if there is one")
	scale := flags.Float64("scale", 1, "`factor` of the numbers of nodes and pods")
	targets := flags.Bool("targets", true, "fail if a target is missed, not only if a workload cannot be measured")
	out := flags.String("out", "", "`file` of the page; none if empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *scale <= 0 || *scale > 1 {
		return fmt.Errorf("-scale: %v is not above 0 and at most 1", *scale)
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	config := schedulerperf.Config{ModuleDir: dir, OneOfEach: *each, Scale: *scale, Out: os.Stdout}
	if *only != "" {
		config.Only = strings.Split(*only, ",")
	}
	report, err := schedulerperf.Run(ctx, config)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s\nleft out:\n%s", report.Table(), report.LeftOut())
	if *out != "" && len(report.Rows) > 0 && ctx.Err() == nil { // a page is of a whole run
		err = write(report, *out)
	}
	return errors.Join(err, context.Cause(ctx), report.Verdict(*targets))
}

func write(report *schedulerperf.Report, name string) error {
	var b strings.Builder
	if err := report.WritePage(&b); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(b.String()), 0o600)
}
