// Command upstream runs kube-scheduler's integration tests against a scheduler that is a process, and
// compares the outcome of each case with cmd/upstream/expected.txt.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/berth-scheduler/berth/test/internal/outside"
	"github.com/berth-scheduler/berth/test/internal/suite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	scheduler := flags.String("scheduler", outside.Berth, outside.Berth+" or "+outside.KubeScheduler)
	only := flags.String("only", "", "packages under test/integration, separated by commas; all if empty")
	pattern := flags.String("run", "", "a pattern of cases, as of go test -run; all if empty")
	record := flags.Bool("record", false, "write the outcomes into the file of expected results")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *scheduler != outside.Berth && *scheduler != outside.KubeScheduler {
		return fmt.Errorf("-scheduler: %q is neither %s nor %s", *scheduler, outside.Berth, outside.KubeScheduler)
	}
	if *record && *pattern != "" {
		return fmt.Errorf("-record writes whole packages: leave -run out")
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	config := suite.Config{ModuleDir: dir, Scheduler: *scheduler, Run: *pattern, Record: *record, Out: os.Stdout}
	if *only != "" {
		config.Only = strings.Split(*only, ",")
	}
	return suite.Run(ctx, config)
}
