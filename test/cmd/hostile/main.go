// Command hostile runs the corpus of hostile guests against Berth, prints the outcome of each
// and the bounds that were checked, and fails if a bound is exceeded. With -beside it measures
// on a real API server how they affect pods that they do not apply to.
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
	"regexp"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/berth-scheduler/berth/test/internal/attack"
	"github.com/berth-scheduler/berth/test/internal/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("hostile", flag.ContinueOnError)
	root := flags.String("root", "..", "`DIR` of Berth's go.mod")
	berth := flags.String("berth", "../bin/berth", "the `PROGRAM` that is attacked")
	only := flags.String("only", "", "attacks whose names match this `EXPRESSION`; all if not given")
	budget := flags.Duration("budget", 0, "stop after this `TIME` of attacks; 0 runs all. Attacks that were found from outside come first")
	patience := flags.Duration("patience", time.Minute, "`TIME` after which a run counts as one that does not end")
	beside := flags.Bool("beside", false, "run them with nine good plugins in berth run, and measure attempts for pods that they do not apply to")
	b := attack.Bench{Progress: os.Stderr}
	flags.IntVar(&b.Pairs, "pairs", 5,
		"with -beside: how often it is measured without and with each attack; up to four times more while attempts take too long")
	flags.IntVar(&b.Calm, "calm", 300, "with -beside: pods that are measured, each time")
	flags.IntVar(&b.Attacked, "attacked", 40, "with -beside: pods that one of the attacks applies to, each time")
	flags.IntVar(&b.Together, "together", 8, "with -beside: `NUMBER` of attacks that run at once, each on pods of its own; those that are not bounded together are measured again in halves")
	nodes := flags.Int("nodes", 500, "with -beside: nodes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	dir, err := os.MkdirTemp("", "hostile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder that is left is harmless
	attacks, err := attack.Corpus(ctx, *root, filepath.Join(dir, "corpus"))
	if err != nil {
		return err
	}
	attacks = slices.DeleteFunc(attacks, func(a attack.Attack) bool { return !match.MatchString(a.Name) })
	if len(attacks) == 0 {
		return fmt.Errorf("-only %s: no attack has such a name", *only)
	}
	began := time.Now()
	over := func() bool { return ctx.Err() != nil || *budget > 0 && time.Since(began) > *budget }
	if *beside {
		attacks = slices.DeleteFunc(attacks, func(a attack.Attack) bool { return a.As != "" }) // they have a cluster of their own
		b.Corpus, b.Dir = filepath.Join(dir, "corpus"), dir
		return runBeside(ctx, &b, *root, attacks, *nodes, over, out)
	}
	s := &attack.Simulator{Berth: *berth, Dir: dir, Patience: *patience}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ATTACK\tENDED\tMEMORY\tBOUND\tLOG\tBOUND\tTIME\tHOLDS")
	var problems []error
	tried, left := 0, 0
	for _, a := range attacks {
		if over() {
			left++
			continue
		}
		o, err := s.Run(ctx, a)
		if err != nil {
			return errors.Join(append(problems, err)...)
		}
		tried++
		holds := "yes"
		if len(o.Unbounded) > 0 {
			holds = "NO"
		}
		fmt.Fprintf(t, "%s\t%s\t%d MiB\t%d MiB\t%d KiB\t%d KiB\t%v\t%s\n", a.Name, o.Ended,
			max(o.Memory, 0)>>20, o.Attack.MemoryBound()>>20, (o.Log+1023)>>10, o.LogBound()>>10, o.Took.Round(10*time.Millisecond), holds)
		for _, u := range o.Unbounded {
			problems = append(problems, fmt.Errorf("%s (%s): %s", a.Name, a.About, u))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d attacks, %d bounds that did not hold%s\n", tried, len(problems), notTried(left))
	return errors.Join(problems...)
}

func runBeside(ctx context.Context, b *attack.Bench, root string, attacks []attack.Attack, nodes int, over func() bool, out io.Writer) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	binaries, err := cluster.Build(ctx, filepath.Join(root, "test"), "", os.Stderr)
	if err != nil {
		return err
	}
	if b.Cluster, err = cluster.Start(ctx, cluster.Config{Binaries: binaries, APIServerFlags: []string{"--enable-priority-and-fairness=false"}}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Cluster.Stop(), b.Cluster.Remove()) }()
	if err := b.Prepare(ctx, nodes); err != nil {
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ATTACK\tBESIDE\tFAULTS\tP99 WITHOUT\tWITH\tRATIO\tPLACED WITHOUT\tWITH\tATTEMPTS\tMEMORY\tLOG\tHOLDS")
	var problems []error
	tried, refused := 0, 0
	done := func(r attack.Beside) {
		tried++
		if r.Refused {
			refused++
			return
		}
		holds := "yes"
		if !r.Bounded() {
			holds = "NO"
			problems = append(problems, fmt.Errorf("%s (%s) is not bounded", r.Attack.Name, r.Attack.About))
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%v\t%v\t%.2f\t%v\t%v\t%.2f\t%d MiB\t%d KiB\t%s\n", r.Attack.Name, r.Beside, r.Faults,
			r.Without.Round(time.Microsecond), r.With.Round(time.Microsecond), float64(r.With)/float64(r.Without),
			r.WaitWithout.Round(time.Millisecond), r.WaitWith.Round(time.Millisecond), r.Attempts, max(r.Memory, 0)>>20, r.Log>>10, holds)
	}
	for len(attacks) > 0 && !over() {
		n := 1 // an attack with a crowd runs alone
		for n < min(len(attacks), b.Together) && attacks[0].Crowd+attacks[n].Crowd == 0 {
			n++
		}
		group := attacks[:n]
		attacks = attacks[n:]
		if err := b.Run(ctx, group, done); err != nil {
			problems = append(problems, err)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d attacks, of which %d are refused when they are loaded; %d are not bounded%s\n",
		tried, refused, len(problems), notTried(len(attacks)))
	return errors.Join(problems...)
}

func notTried(left int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("; %d attacks not tried, since the time was over", left)
}
