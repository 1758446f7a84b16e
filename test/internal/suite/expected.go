package suite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/test/internal/outside"
)

// The files about cases, in the folder of test/go.mod, and the page that explains differences.
const (
	expectedFile = "cmd/upstream/expected.txt"
	skipsFile    = "cmd/upstream/skips.txt"
	page         = "../docs/differences.md"
)

// unknown is the outcome of a case that was not run.
const unknown = "?"

// expectation is a line of the file: package, case, the outcomes of kube-scheduler and of Berth, the
// word alpha if the case needs alpha gates, and after a bar the row of the page that explains why these
// differ.
type expectation struct {
	theirs, ours string
	alpha        bool
	why          string
}

func (e expectation) of(scheduler string) string {
	if scheduler == outside.Berth {
		return e.ours
	}
	return e.theirs
}

// expectations are by package, then by case.
type expectations map[string]map[string]expectation

func readExpected(name string) (expectations, error) {
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := make(expectations)
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns, why, _ := strings.Cut(line, "|")
		f := strings.Fields(columns)
		if len(f) < 4 || len(f) > 5 || len(f) == 5 && f[4] != "alpha" {
			return nil, fmt.Errorf("%s:%d: %q is not: package, case, two outcomes, and perhaps alpha", name, i+1, line)
		}
		if out[f[0]] == nil {
			out[f[0]] = make(map[string]expectation)
		}
		out[f[0]][f[1]] = expectation{theirs: f[2], ours: f[3], alpha: len(f) == 5, why: strings.TrimSpace(why)}
	}
	return out, nil
}

// check returns what is wrong with the file: a difference without a row of the page, or a row without a
// difference.
func (e expectations) check(differences string) error {
	var errs []error
	for pkg, cases := range e {
		for name, c := range cases {
			switch differs := c.theirs != c.ours && c.theirs != unknown && c.ours != unknown; {
			case differs && c.why == "":
				errs = append(errs, fmt.Errorf("%s %s: the schedulers differ: name the row of docs/differences.md that explains it", pkg, name))
			case !differs && c.why != "":
				errs = append(errs, fmt.Errorf("%s %s: the schedulers do not differ: remove %q", pkg, name, c.why))
			case c.why != "" && !strings.Contains(differences, "\n| "+c.why):
				errs = append(errs, fmt.Errorf("%s %s: docs/differences.md has no row %q", pkg, name, c.why))
			}
		}
	}
	return errors.Join(errs...)
}

// record puts the outcomes of a run into the file. A flaky case is one that passes.
func (e expectations) record(r *report, scheduler string) {
	old := e[r.pkg]
	e[r.pkg] = make(map[string]expectation)
	for name, got := range r.cases {
		c, ok := old[name]
		if !ok {
			c = expectation{theirs: unknown, ours: unknown}
		}
		c.alpha = got.alpha
		if scheduler == outside.Berth {
			c.ours = got.result
		} else {
			c.theirs = got.result
		}
		e[r.pkg][name] = c
	}
}

func (e expectations) write(name string) error {
	var b strings.Builder
	b.WriteString("# Written by make upstream RECORD=1, but for what follows a bar: package, case, outcome of kube-scheduler and of Berth,\n" +
		"# alpha if the case sets alpha gates | the row of docs/differences.md that explains the difference.\n")
	for _, pkg := range slices.SortedFunc(maps.Keys(e), cmp.Compare) {
		for _, name := range slices.Sorted(maps.Keys(e[pkg])) {
			c := e[pkg][name]
			fmt.Fprintf(&b, "%s %s %s %s", pkg, name, c.theirs, c.ours)
			if c.alpha {
				b.WriteString(" alpha")
			}
			if c.why != "" {
				b.WriteString(" | " + c.why)
			}
			b.WriteString("\n")
		}
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}

// skip leaves cases out, by name.
type skip struct {
	pkg    string
	cases  *regexp.Regexp // nil for the whole package
	text   string
	reason string
}

// readSkips reads lines of package, a pattern as of go test -skip or * for all cases, and a reason.
func readSkips(name string) ([]skip, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out []skip
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(line, " ", 3)
		if len(f) < 3 || strings.TrimSpace(f[2]) == "" {
			return nil, fmt.Errorf("%s:%d: %q is not: package, pattern, reason", name, i+1, line)
		}
		s := skip{pkg: f[0], text: f[1], reason: f[2]}
		if f[1] != "*" {
			if s.cases, err = regexp.Compile(f[1]); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
			}
		}
		out = append(out, s)
	}
	return out, nil
}
