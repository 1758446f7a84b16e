// Command oracle compares Berth with kube-scheduler v1.37 on generated clusters,
// and fails on a difference that docs/differences.md does not list.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/test/internal/compare"
	"github.com/berth-scheduler/berth/test/internal/oracle"
	"github.com/berth-scheduler/berth/test/internal/upstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("oracle", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "draws the cases")
	count := flags.Int("count", 0, "cases of each subject; 0 for as many as the budget allows, or as -least needs")
	budget := flags.Duration("budget", 0, "how long cases are begun, and longer for subjects that -least needs; 0 for no limit")
	only := flags.String("only", "", "subjects, separated by commas; all if empty")
	least := flags.Int("least", 0, "verdicts on (pod, node) pairs, and scores, that each plugin must be compared in")
	first := flags.Bool("first", false, "stop at the first difference")
	found := flags.String("found", "found", "folder for shrunk cases that differ")
	kept := flags.String("kept", "testdata", "folder of files of cases that are run first")
	reasons := flags.Bool("reasons", false, "report how often each reason was met")
	gates := flags.String("gates", "", "feature gates of kube-scheduler, as in TaintTolerationComparisonOperators=true")
	page := flags.String("differences", "../docs/differences.md", "page that lists differences")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *count == 0 && *budget == 0 && *least == 0 {
		return errors.New("give -count, -budget or -least")
	}
	if err := upstream.SetGates(*gates); err != nil {
		return fmt.Errorf("-gates: %w", err)
	}
	text, err := os.ReadFile(*page)
	if err != nil {
		return err
	}
	if err := compare.CheckListed(string(text)); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(*kept, "*", "*.yaml"))
	if err != nil {
		return err
	}
	subjects := oracle.Subjects(*seed)
	if *only != "" {
		names := strings.Split(*only, ",")
		subjects = slices.DeleteFunc(subjects, func(s oracle.Subject) bool { return !slices.Contains(names, s.Name) })
	}
	debug.SetGCPercent(400)        // otherwise most of the time goes into collecting the garbage of cases
	klog.SetLogger(logr.Discard()) // failures of kube-scheduler are results here
	began := time.Now()
	results := oracle.Run(ctx, oracle.Config{
		Seed: *seed, Count: *count, Budget: *budget, Least: *least, First: *first, Workers: runtime.GOMAXPROCS(0), Found: *found, Kept: files,
	}, subjects)
	if err := oracle.Report(os.Stdout, results, *reasons); err != nil {
		return err
	}
	fmt.Printf("seed %d, %d kept cases, %v\n", *seed, len(files), time.Since(began).Round(time.Second))
	return verdict(results, *least)
}

func verdict(results []*oracle.Result, least int) error {
	var problems []string
	for _, r := range results {
		if n := r.Counts.Different - r.Counts.Listed; n > 0 {
			problems = append(problems, fmt.Sprintf("%s differs %d times", r.Name, n))
		}
		if len(r.Errors) > 0 {
			problems = append(problems, fmt.Sprintf("cases of %s cannot be run", r.Name))
		}
		if r.Counted && r.Answers < least {
			problems = append(problems, fmt.Sprintf("%s was compared in %d answers only, want %d: give it more time or cases", r.Name, r.Answers, least))
		}
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
