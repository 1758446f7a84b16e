// Command kitmutants shows that the conformance kit finds mistakes: it makes one mistake after
// the other in plugins, in the SDKs of four languages and in the host, and wants each to
// be found by berth plugin conformance, by berth plugin test, or by the cases that a host must
// pass. The sources themselves are not touched.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

//go:embed mutants.yaml
var list []byte

type options struct {
	top, berth string
	seed       uint64
	budget     time.Duration
	only       string
	match      string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kitmutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("kitmutants", flag.ContinueOnError)
	flags.StringVar(&o.top, "top", "..", "the top of the repository")
	flags.StringVar(&o.berth, "berth", "../bin/berth", "the program berth")
	flags.Uint64Var(&o.seed, "seed", 1, "of the sample")
	flags.DurationVar(&o.budget, "budget", 0,
		"make mistakes in the seed's order until this time is over; all of them in the list's order if 0")
	flags.StringVar(&o.only, "only", "", "subjects, separated by commas; all if empty")
	flags.StringVar(&o.match, "match", "", "only mistakes whose text this regular expression matches")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.top, err = filepath.Abs(o.top); err == nil {
		o.berth, err = filepath.Abs(o.berth)
	}
	if err != nil {
		return err
	}
	w, err := newWork(&o)
	if err != nil {
		return err
	}
	defer w.close()
	names := subjects()
	if o.only != "" {
		names = strings.Split(o.only, ",")
	}
	changes, err := mutate.Read(list)
	if err != nil {
		return err
	}
	match, err := regexp.Compile(o.match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	changes = slices.DeleteFunc(changes, func(c mutate.Change) bool {
		return !slices.Contains(names, c.Subject) || !match.MatchString(c.Mistake)
	})
	return w.table(ctx, changes, stdout)
}

// table makes the mistakes and prints a table of what found them.
func (w *work) table(ctx context.Context, changes []mutate.Change, stdout io.Writer) error {
	for _, c := range changes { // before the first mistake is made, so that nobody waits for a toolchain that is not there
		if c.Subject == host {
			continue
		}
		if _, err := w.rightOne(ctx, languageOf(c.Subject), &guests(languageOf(c.Subject))[0]); err != nil {
			return err
		}
	}
	var deadline time.Time
	if w.budget > 0 {
		deadline = time.Now().Add(w.budget)
		rand.New(rand.NewPCG(w.seed, 0)).Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		fmt.Fprintf(stdout, "a sample of %d mistakes, until %s are over: -seed %d\n\n", len(changes), w.budget, w.seed)
	}
	fmt.Fprint(stdout, "| in | mistake | found by |\n|---|---|---|\n")
	var missed []string
	made, sums := 0, map[string]int{}
	for _, c := range changes {
		if !deadline.IsZero() && time.Now().After(deadline) {
			break
		}
		found, err := w.find(ctx, &c)
		switch {
		case errors.Is(err, errBuild):
			missed = append(missed, fmt.Sprintf("%s: %s: %v", c.Subject, c.Mistake, err))
		case err != nil:
			return fmt.Errorf("%s: %s: %w", c.Subject, c.Mistake, err)
		case !found.changed:
			missed = append(missed, fmt.Sprintf("%s: %s: no plugin has this code: choose another mistake", c.Subject, c.Mistake))
		case found.by == "":
			missed = append(missed, c.Subject+": "+c.Mistake)
		}
		made++
		by, _, _ := strings.Cut(found.String(), ":")
		sums[by]++
		row(stdout, &c, found.String())
	}
	fmt.Fprintf(stdout, "\n%d mistakes", made)
	for _, by := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(stdout, ", %s %d", by, sums[by])
	}
	fmt.Fprintln(stdout)
	if len(missed) > 0 {
		return errors.New("not found: " + strings.Join(missed, "; "))
	}
	return nil
}

func row(stdout io.Writer, c *mutate.Change, found string) {
	fmt.Fprintf(stdout, "| %s | %s (`%s`) | %s |\n", c.Subject, escape(c.Mistake), c.File, escape(found))
}

// escape writes a text into a cell.
func escape(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`)
}
