// Package suite runs kube-scheduler's own integration tests, of the module k8s.io/kubernetes that
// test/go.mod pins, with a scheduler that is a process: kube-scheduler or berth run. A tree of links to
// the module, with the small patch of testdata/patch, starts it where the tests start theirs. What the
// tests wait for in the scheduler's cache, they find in one that the patch leaves running.
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

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// tests is the folder of the tests in the module, and patterns are those that start a scheduler.
const tests = kubernetes + "/test/integration/"

func patterns() []string { return []string{"scheduler/...", "volumescheduling", "daemonset"} }

// tries is how often a case runs at most, and mostFlaky how many may need more than one.
const (
	tries     = 3
	mostFlaky = 3
)

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
	// Scheduler is Berth or KubeScheduler.
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
	tree     tree
	dir      string // of logs
	skips    []skip
	expected expectations
	env      []string // of test programs, without the command of the scheduler
	command  string
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
		return fmt.Errorf("%w\nlogs are in %s", err, s.dir)
	}
	return os.RemoveAll(s.dir)
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
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	cache = filepath.Join(cache, "berth", "upstream")
	if s.tree, err = makeTree(ctx, s.ModuleDir, cache); err != nil {
		return err
	}
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
	binaries, err := cluster.Build(ctx, s.ModuleDir, "", s.Out)
	if err != nil {
		return err
	}
	s.command = binaries.Berth + " run"
	if s.Scheduler == KubeScheduler {
		s.command = binaries.KubeScheduler
		s.env = append(s.env, "UPSTREAM_GATES=yes")
	}
	parent := filepath.Join(filepath.Dir(s.ModuleDir), "bin", "upstream")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp(parent, s.Scheduler+"-"); err != nil {
		return err
	}
	s.env = append(os.Environ(), append(s.env,
		"UPSTREAM_FOLDER="+s.dir,
		"PATH="+filepath.Dir(binaries.Etcd)+string(os.PathListSeparator)+os.Getenv("PATH"))...)
	return nil
}

// packages are those to run, by their paths under test/integration.
func (s *suite) packages(ctx context.Context) ([]string, error) {
	args := []string{"-modfile=" + s.tree.modfile, "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	for _, p := range patterns() {
		args = append(args, tests+p)
	}
	out, err := cluster.GoList(ctx, s.ModuleDir, args...)
	if err != nil {
		return nil, err
	}
	var all, run []string
	for _, pkg := range strings.Fields(out) {
		pkg = strings.TrimPrefix(pkg, tests)
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
	program, err := s.build(ctx, pkg)
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
	out, err := s.execute(ctx, pkg, program, s.command, s.Run, strings.Join(skipped, "|"))
	if err != nil {
		return err
	}
	r := &report{pkg: pkg}
	if r.cases, err = parse(out); err != nil {
		return err
	}
	if len(r.cases) == 0 {
		return fmt.Errorf("no case ran:\n%s", tail(out))
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

// again runs cases that failed unexpectedly twice more.
func (s *suite) again(ctx context.Context, program string, r *report) error {
	for name, c := range r.cases {
		if e, ok := s.expected[r.pkg][name]; c.result == pass || ok && e.of(s.Scheduler) == fail {
			continue
		}
		for try := 1; try < tries; try++ {
			out, err := s.execute(ctx, r.pkg, program, s.command, exactly(name), "")
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
	if s.Scheduler != Berth {
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
		out, err := s.execute(ctx, r.pkg, program, s.command+" --allow-unenforced="+left, exactly(name), "")
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
