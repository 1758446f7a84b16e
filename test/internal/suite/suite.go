// Package suite runs kube-scheduler's own integration tests with a scheduler that is a process, and compares
// the outcome of each case with a file.
package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/test/internal/outside"
)

// patterns are the packages under test/integration that start a scheduler.
func patterns() []string {
	return []string{"scheduler/...", "volumescheduling", "daemonset", "dra/..."}
}

// tries is how often a case runs at most, and mostFlaky how many may need more than one.
const (
	tries     = 3
	mostFlaky = 3
)

// patience is how long a package may take.
const patience = "40m"

// unenforced is the row of the page about pods that use what no plugin enforces, and left are the features
// that a second run leaves to others.
const (
	unenforced = "pod uses a feature that no enabled plugin enforces"
	left       = "volume-claims"
)

// Config says what to run.
type Config struct {
	// ModuleDir is the folder of test/go.mod.
	ModuleDir string
	// Scheduler is outside.Berth or outside.KubeScheduler.
	Scheduler string
	// Only are packages, relative to test/integration; all if empty.
	Only []string
	// Run is a pattern of cases, as of go test -run; with it, missing cases are not reported.
	Run string
	// Record writes the outcomes into the file of expected results.
	Record bool
	// Out gets the progress and the table.
	Out io.Writer
}

// suite is a run.
type suite struct {
	Config
	tests    *outside.Tests
	skips    []skip
	expected expectations
	reports  []*report
}

// Run builds the tests, runs them, and prints a table.
//
// # Errors
//
// Besides failures to build and run: cases whose outcome is not the expected one, with their names.
func Run(ctx context.Context, config Config) error {
	s := &suite{Config: config}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	packages, err := s.packages(ctx)
	if err != nil {
		return err
	}
	for _, pkg := range packages {
		if err := s.run(ctx, pkg); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
		if s.Record {
			if err := s.record(s.reports[len(s.reports)-1]); err != nil {
				return err
			}
		}
	}
	s.table()
	if s.Record {
		return nil
	}
	if err := s.verdict(); err != nil {
		return fmt.Errorf("%w\nlogs are in %s", err, s.tests.Logs)
	}
	return os.RemoveAll(s.tests.Logs)
}

// record reads the file again: another run may have written it meanwhile.
func (s *suite) record(r *report) error {
	name := filepath.Join(s.ModuleDir, expectedFile)
	expected, err := readExpected(name)
	if err != nil {
		return err
	}
	expected.record(r, s.Scheduler)
	return expected.write(name)
}

func (s *suite) prepare(ctx context.Context) error {
	var err error
	if s.skips, err = readSkips(filepath.Join(s.ModuleDir, skipsFile)); err != nil {
		return err
	}
	if s.expected, err = readExpected(filepath.Join(s.ModuleDir, expectedFile)); err != nil {
		return err
	}
	differences, err := os.ReadFile(filepath.Join(s.ModuleDir, page))
	if err != nil {
		return err
	}
	if err := s.expected.check(string(differences)); err != nil && !s.Record {
		return err
	}
	s.tests, err = outside.New(ctx, s.ModuleDir, s.Scheduler, s.Out)
	return err
}

// packages are those to run, by their paths under test/integration.
func (s *suite) packages(ctx context.Context) ([]string, error) {
	var in []string
	for _, p := range patterns() {
		in = append(in, outside.Packages+p)
	}
	out, err := s.tests.List(ctx, "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", in...)
	if err != nil {
		return nil, err
	}
	var all, run []string
	for _, pkg := range strings.Fields(out) {
		pkg = strings.TrimPrefix(pkg, outside.Packages)
		all = append(all, pkg)
		whole := slices.ContainsFunc(s.skips, func(k skip) bool { return k.pkg == pkg && k.cases == nil })
		if !whole && (len(s.Only) == 0 || slices.Contains(s.Only, pkg)) {
			run = append(run, pkg)
		}
	}
	for _, pkg := range s.Only {
		if !slices.Contains(run, pkg) {
			return nil, fmt.Errorf("%q is no package with cases that apply; there are %s", pkg, strings.Join(all, ", "))
		}
	}
	return run, nil
}

// run runs a package, and cases that fail unexpectedly again.
func (s *suite) run(ctx context.Context, pkg string) error {
	start := time.Now()
	program, err := s.tests.Build(ctx, pkg)
	if err != nil {
		return err
	}
	built := time.Now()
	var skipped []string
	for _, k := range s.skips {
		if k.pkg == pkg {
			skipped = append(skipped, k.text)
		}
	}
	out, err := s.execute(ctx, pkg, program, s.Run, strings.Join(skipped, "|"))
	if err != nil {
		return err
	}
	r := &report{pkg: pkg}
	if r.cases, err = parse(out); err != nil {
		return err
	}
	if len(r.cases) == 0 {
		return fmt.Errorf("no case ran:\n%s", out[max(0, len(out)-2000):])
	}
	if err := s.again(ctx, program, r); err != nil {
		return err
	}
	r.took = time.Since(built)
	expected := s.expected[pkg]
	if s.Run != "" {
		expected = make(map[string]expectation)
		for name := range r.cases {
			if e, ok := s.expected[pkg][name]; ok {
				expected[name] = e
			}
		}
	}
	r.judge(expected, s.Scheduler)
	if err := s.leave(ctx, program, r, expected); err != nil {
		return err
	}
	s.reports = append(s.reports, r)
	fmt.Fprintf(s.Out, "%s: %d cases, built in %.0f s, ran in %.0f s\n", pkg, len(r.cases), built.Sub(start).Seconds(), r.took.Seconds())
	return nil
}

// execute runs the tests that match run, but not skip, and returns what they print.
func (s *suite) execute(ctx context.Context, pkg, program, run, skip string, flags ...string) ([]byte, error) {
	args := []string{"-test.v=test2json", "-test.timeout=" + patience}
	if run != "" {
		args = append(args, "-test.run="+run)
	}
	if skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	return s.tests.Execute(ctx, outside.Run{Package: pkg, Program: program, Args: args, Flags: flags})
}

// again runs cases that failed unexpectedly twice more.
func (s *suite) again(ctx context.Context, program string, r *report) error {
	for name, c := range r.cases {
		if e, ok := s.expected[r.pkg][name]; c.result == pass || ok && e.of(s.Scheduler) == fail {
			continue
		}
		for try := 1; try < tries; try++ {
			out, err := s.execute(ctx, r.pkg, program, outside.Exactly(name), "")
			if err != nil {
				return err
			}
			cases, err := parse(out)
			if err != nil {
				return err
			}
			if again, ok := cases[name]; ok && again.result == pass {
				c.result = pass
				r.cases[name] = c
				r.flaky = append(r.flaky, name)
				break
			}
		}
	}
	slices.Sort(r.flaky)
	return nil
}

// leave runs the cases that Berth fails because nobody enforces what pods ask for a second time, with that
// left to others. Then they must pass.
func (s *suite) leave(ctx context.Context, program string, r *report, expected map[string]expectation) error {
	if s.Scheduler != outside.Berth {
		return nil
	}
	var names []string
	for name, e := range expected {
		if e.why == unenforced {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		out, err := s.execute(ctx, r.pkg, program, outside.Exactly(name), "", "--allow-unenforced="+left)
		if err != nil {
			return err
		}
		cases, err := parse(out)
		if err != nil {
			return err
		}
		r.left.cases++
		if c, ok := cases[name]; ok && c.result == pass {
			r.left.passed++
			continue
		}
		r.problems = append(r.problems, fmt.Sprintf("%s: fails with %s left to others", name, left))
	}
	return nil
}

// verdict is an error with all that was not expected.
func (s *suite) verdict() error {
	var errs []error
	flaky := 0
	for _, r := range s.reports {
		flaky += len(r.flaky)
		for _, p := range r.problems {
			errs = append(errs, fmt.Errorf("%s %s", r.pkg, p))
		}
	}
	if flaky > mostFlaky {
		errs = append(errs, fmt.Errorf("%d cases are flaky, more than %d", flaky, mostFlaky))
	}
	return errors.Join(errs...)
}
