// Command mutants shows that the oracle finds mistakes: it builds the oracle with one
// change of Berth's sources after the other, which never touch the sources
// themselves, and wants each to be reported as a difference. Mistakes in equivalence are for
// tests of the main module to find.
package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

//go:embed *.yaml
var lists embed.FS

// mutant is one bug.
type mutant struct{ mutate.Change }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	top := flags.String("top", "..", "the top of the repository")
	count := flags.Int("count", 400, "cases of the subject for each mistake; 0 for 100,000 answers, the least that CI compares")
	tests := flags.Bool("tests", false, "tell which test of hostplugins finds the mistake, too")
	only := flags.String("only", "", "subjects, separated by commas; all if empty")
	name := flags.String("list", "mutants.yaml", "the list of mistakes, a file beside this program's source")
	if err := flags.Parse(args); err != nil {
		return err
	}
	list, err := lists.ReadFile(*name)
	if err != nil {
		return fmt.Errorf("-list: %w", err)
	}
	mutants, err := mutate.Read(list)
	if err != nil {
		return fmt.Errorf("%s: %w", *name, err)
	}
	if *only != "" {
		names := strings.Split(*only, ",")
		mutants = slices.DeleteFunc(mutants, func(c mutate.Change) bool { return !slices.Contains(names, c.Subject) })
	}
	root, err := filepath.Abs(*top)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	fmt.Println("| subject | mistake | found as |\n|---|---|---|")
	var missed []string
	for _, c := range mutants {
		m := mutant{c}
		found, err := m.try(ctx, root, folder, *count)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", m.Subject, m.Mistake, err)
		}
		if found == "" {
			found = "**not found**"
			missed = append(missed, m.Subject+": "+m.Mistake)
		}
		if *tests {
			test, err := m.byPlugins(ctx, root, folder)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", m.Subject, m.Mistake, err)
			}
			found += "; by hostplugins: " + cmp.Or(test, "no test")
		}
		fmt.Printf("| %s | %s (`%s`) | %s |\n", m.Subject, m.Mistake, m.File, found)
	}
	if len(missed) > 0 {
		return errors.New("not found: " + strings.Join(missed, "; "))
	}
	return nil
}

// difference matches the line of a report about a case that differs, with the kind of
// difference and the case.
var difference = regexp.MustCompile(`(?m)^case (-?\d+): \S+ (.*?) \(`)

// try builds the oracle with the bug, runs the subject, and returns how the bug was found;
// empty if it was not.
func (m mutant) try(ctx context.Context, root, folder string, count int) (string, error) {
	overlay, err := m.Overlay(root, folder)
	if err != nil {
		return "", err
	}
	if m.Subject == tested {
		return byTests(ctx, root, overlay)
	}
	binary := filepath.Join(folder, "oracle")
	if out, err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", binary, "./cmd/oracle").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"-only", m.Subject, "-count", fmt.Sprint(count)}
	if count == 0 {
		args = append(args, "-least", "100000")
	}
	cmd := exec.CommandContext(ctx, binary, append(args, "-first", "-found", "")...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return "", err
	}
	first := difference.FindStringSubmatch(stdout.String())
	switch {
	case err == nil:
		return "", nil
	case first == nil:
		return "", fmt.Errorf("the oracle failed for another reason: %s", stderr.String())
	}
	return fmt.Sprintf("%s, in case %s", first[2], first[1]), nil
}

// tested is the subject of mistakes in what ends a kept answer. The oracle has no other side
// for that: tests compare decisions with kept answers and without.
const tested = "equivalence"

// finders returns those tests, the fastest first.
func finders() [][]string {
	return [][]string{
		{"^TestAlike$", "./runtime/cycle", "-rapid.nofailfile", "-rapid.checks=3000"},
		{"^(TestReuse|TestClassBeforeOthers)$", "./runtime/pipeline"},
		{"^(TestShared|TestPlaced)$", "./runtime/equivalence", "-rapid.nofailfile", "-rapid.checks=2000"},
		{"^TestReuse$", "./hostplugins", "-rapid.nofailfile"},
		{"^Test(Reuse|RestReuseReloading)$", "./runtime/sim", "-rapid.nofailfile"},
	}
}

// byTests runs the tests with the mistake, and returns which one found it.
func byTests(ctx context.Context, root, overlay string) (string, error) {
	for _, finder := range finders() {
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-overlay", overlay, "-vet=off", "-run"}, finder...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err == nil:
		case bytes.Contains(out, []byte("[build failed]")):
			return "", fmt.Errorf("build: %w\n%s", err, out)
		default:
			return strings.Trim(finder[0], "^$") + " of " + finder[1], nil
		}
	}
	return "", nil
}

// byPlugins runs the tests of hostplugins, and returns the first that found the mistake; empty
// if none did.
func (m mutant) byPlugins(ctx context.Context, root, folder string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", filepath.Join(folder, "overlay.json"), "-vet=off", "-failfast",
		"./hostplugins", "./hostplugins/internal/...", "./"+filepath.ToSlash(filepath.Dir(m.File)))
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	test := failed.FindSubmatch(out)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return "", nil
	case test == nil:
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return string(test[1]), nil
}

// failed matches the line of the first test that failed.
var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
