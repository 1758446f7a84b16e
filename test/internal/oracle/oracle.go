// Package oracle runs many cases of every plugin, and what else is compared,
// within a budget, and reports what was compared and what differed.
package oracle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/test/internal/compare"
	"github.com/berth-scheduler/berth/test/internal/generate"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/shrink"
	"github.com/berth-scheduler/berth/test/internal/upstream"
)

// Config is how much is run.
type Config struct {
	// Seed draws the cases: the n-th case of a plugin depends on the seed, the
	// plugin and n only.
	Seed uint64
	// Count is how many cases of each subject are run; 0 means as many as Budget
	// allows.
	Count int
	// Budget is how long cases are begun; 0 means that Count alone limits.
	Budget time.Duration
	// Only (optional) names the subjects that are run.
	Only []string
	// Workers run cases side by side.
	Workers int
	// Found is the folder into which a case that differs is written, made small;
	// empty for none.
	Found string
	// Kept is scenario files that are run first.
	Kept []string
}

// Subject is something that is compared: a plugin by its name, or one of the
// others that Subjects lists.
type Subject struct {
	Name string
	// Case runs the n-th case and counts what it compared.
	Case func(n int, counts *compare.Counts) ([]compare.Difference, error)
	// Scenario (optional) draws the n-th case, and Run runs one, so that what differs
	// can be made small and kept.
	Scenario func(n int) *scenario.Scenario
	Run      func(s *scenario.Scenario, counts *compare.Counts) ([]compare.Difference, error)
}

// Result is what came of a subject.
type Result struct {
	Name   string
	Counts compare.Counts
	// Differences are the first of each kind that is not listed.
	Differences []compare.Difference
	// Files are where their cases were written.
	Files []string
	// Errors are cases that could not be run.
	Errors []error
}

// Plugins returns the names of the plugins that both sides have.
func Plugins() []string {
	theirs := upstream.Names()
	return slices.DeleteFunc(native.Names(), func(name string) bool { return !theirs[name] })
}

// OfPlugin returns the subject of a plugin.
func OfPlugin(seed uint64, name string, o compare.Options) Subject {
	draw := func(n int) *scenario.Scenario { return generate.New(seed, name, n).Scenario() }
	run := func(s *scenario.Scenario, counts *compare.Counts) ([]compare.Difference, error) {
		full := o
		full.Full = true
		return compare.Scenario(s, full, counts)
	}
	return Subject{
		Name: name, Scenario: draw, Run: run,
		Case: func(n int, counts *compare.Counts) ([]compare.Difference, error) {
			with := o
			with.Full = n%8 == 0
			return compare.Scenario(draw(n), with, counts)
		},
	}
}

// Run runs the cases of all subjects in turn.
func Run(ctx context.Context, c Config, subjects []Subject) []*Result {
	results := make([]*Result, len(subjects))
	byName := make(map[string]int)
	for i, s := range subjects {
		results[i] = &Result{Name: s.Name}
		byName[s.Name] = i
	}
	r := &runner{config: c, subjects: subjects, results: results, ctx: ctx}
	r.kept(byName)
	if c.Budget > 0 {
		var cancel context.CancelFunc
		r.ctx, cancel = context.WithTimeout(ctx, c.Budget)
		defer cancel()
	}
	var group sync.WaitGroup
	for range max(1, c.Workers) {
		group.Go(r.work)
	}
	group.Wait()
	for _, result := range results {
		r.keep(result, subjects[byName[result.Name]])
	}
	return results
}

type runner struct {
	config   Config
	subjects []Subject
	ctx      context.Context //nolint:containedctx // the life of one Run

	mu      sync.Mutex
	next    int // of all cases, subjects in turn
	results []*Result
}

// work runs cases until there are none left.
func (r *runner) work() {
	for {
		subject, n, ok := r.take()
		if !ok {
			return
		}
		var counts compare.Counts
		differences, err := r.subjects[subject].Case(n, &counts)
		r.add(subject, n, &counts, differences, err)
	}
}

func (r *runner) take() (subject, n int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.subjects) == 0 || r.ctx.Err() != nil {
		return 0, 0, false
	}
	subject, n = r.next%len(r.subjects), r.next/len(r.subjects)
	if r.config.Count > 0 && n >= r.config.Count {
		return 0, 0, false
	}
	r.next++
	return subject, n, true
}

// perKind is how many differences of a kind are kept.
const perKind = 1

func (r *runner) add(subject, n int, counts *compare.Counts, differences []compare.Difference, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := r.results[subject]
	result.Counts.Add(counts)
	if err != nil && len(result.Errors) < 5 {
		result.Errors = append(result.Errors, fmt.Errorf("case %d: %w", n, err))
	}
	for _, d := range differences {
		same := func(o compare.Difference) bool { return o.What == d.What }
		if d.Listed != nil || count(result.Differences, same) >= perKind {
			continue
		}
		d.Case = n
		result.Differences = append(result.Differences, d)
	}
}

func count(all []compare.Difference, is func(compare.Difference) bool) int {
	n := 0
	for _, d := range all {
		if is(d) {
			n++
		}
	}
	return n
}

// kept runs the scenario files that were kept.
func (r *runner) kept(byName map[string]int) {
	for _, path := range r.config.Kept {
		s, err := scenario.Load(path)
		if err != nil {
			r.results[0].Errors = append(r.results[0].Errors, err)
			continue
		}
		i, ok := byName[s.Plugin]
		if !ok || r.subjects[i].Run == nil {
			continue
		}
		var counts compare.Counts
		differences, err := r.subjects[i].Run(s, &counts)
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		r.add(i, -1, &counts, differences, err)
	}
}

// shrinkTries is how often a case is run to make it small.
const shrinkTries = 3000

// keep makes the cases that differ small and writes them into files.
func (r *runner) keep(result *Result, s Subject) {
	if r.config.Found == "" || s.Scenario == nil {
		return
	}
	for i := range result.Differences {
		d := &result.Differences[i]
		if d.Case < 0 || i >= 3 {
			continue
		}
		small := Shrink(s, s.Scenario(d.Case), d.What, shrinkTries)
		name := fmt.Sprintf("%s-%d-%d-%d.yaml", s.Name, r.config.Seed, d.Case, i)
		path := filepath.Join(r.config.Found, name)
		if err := os.MkdirAll(r.config.Found, 0o755); err != nil {
			result.Errors = append(result.Errors, err)
			return
		}
		if err := small.Save(path); err != nil {
			result.Errors = append(result.Errors, err)
			continue
		}
		result.Files = append(result.Files, path)
	}
}

// Shrink makes a case small that differs in what, and notes how it differs.
func Shrink(s Subject, c *scenario.Scenario, what string, tries int) *scenario.Scenario {
	find := func(c *scenario.Scenario) []compare.Difference {
		var counts compare.Counts
		differences, err := s.Run(c, &counts)
		if err != nil {
			return nil
		}
		return slices.DeleteFunc(differences, func(d compare.Difference) bool { return d.What != what || d.Listed != nil })
	}
	small := shrink.Scenario(c, func(c *scenario.Scenario) bool { return len(find(c)) > 0 }, tries)
	small.Found = nil
	for _, d := range find(small) {
		small.Found = append(small.Found, d.String())
	}
	return small
}
