// Package oracle runs many cases of every plugin, and of other comparisons, within a time
// budget, and reports what was compared and what differed.
package oracle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/deferredpodscheduling"
	"github.com/berth-scheduler/berth/hostplugins/dynamicresources"
	"github.com/berth-scheduler/berth/test/internal/compare"
	"github.com/berth-scheduler/berth/test/internal/generate"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/shrink"
	"github.com/berth-scheduler/berth/test/internal/upstream"
)

// Config configures how much is run.
type Config struct {
	// Seed draws the cases: the n-th case of a plugin depends on the seed, the
	// plugin and n only.
	Seed uint64
	// Count is the number of cases per subject; 0 means as many as Budget allows, and without a
	// Budget as many as Least needs.
	Count int
	// Budget is the time during which cases are started, and longer while a subject has fewer
	// answers than Least, so that a slow machine does not fail; 0 means no limit.
	Budget time.Duration
	// Now tells the time for Budget; time.Now if nil.
	Now func() time.Time
	// Least is the number of answers to be compared for each subject that counts them: while one
	// has fewer, only those subjects are run.
	Least int
	// First stops at the first difference.
	First bool
	// Workers is the number of cases that run in parallel.
	Workers int
	// Found is the folder into which a case that differs is written, after shrinking; empty for
	// none.
	Found string
	// Kept are files of cases that are run first, each in a folder with the name of its subject.
	Kept []string
}

// Subject is something that is compared: a plugin by its name, or one of the others in
// Subjects.
type Subject struct {
	Name string
	// Answers (optional) returns the number of compared answers of the least frequent kind,
	// which count as much as verdicts on (pod, node) pairs.
	Answers func(n *compare.Counts) int
	// Case runs the n-th case and counts what it compared.
	Case func(n int, counts *compare.Counts) ([]compare.Difference, error)
	// Tree is the n-th case as maps, lists and scalars; shrinking leaves its fields Keep
	// unchanged, and Replay runs such a tree.
	Tree   func(n int) (map[string]any, error)
	Keep   []string
	Replay func(file []byte, counts *compare.Counts) ([]compare.Difference, error)
}

// Result is the result of a subject.
type Result struct {
	Name   string
	Counts compare.Counts
	// Counted tells that Answers were counted.
	Counted bool
	Answers int
	// Took is the total time of its cases.
	Took time.Duration
	// Differences holds the first unlisted ones of each kind.
	Differences []compare.Difference
	// Files are where their cases were written.
	Files []string
	// Errors are cases that could not be run.
	Errors []error
}

// Plugins returns the names of the plugins that both sides have, without DynamicResources, which
// package devices compares, and DeferredPodScheduling, which does nothing but in the subject Resizes.
func Plugins() []string {
	theirs := upstream.Names()
	return slices.DeleteFunc(native.Names(), func(name string) bool {
		return !theirs[name] || name == dynamicresources.Name || name == deferredpodscheduling.Name
	})
}

// answers counts the answers of a plugin about nodes, verdicts or scores, whichever are fewer;
// for a plugin that is called only for pods, those. Preemption is a separate subject.
func answers(plugin string) func(n *compare.Counts) int {
	points := native.Points(plugin)
	filters, scores := slices.Contains(points, abi.Filter), slices.Contains(points, abi.Score)
	verdicts := func(n *compare.Counts) int { return n.Verdicts + n.WhatIfs }
	switch {
	case filters && scores:
		return func(n *compare.Counts) int { return min(verdicts(n), n.Normalized) }
	case filters:
		return verdicts
	case scores:
		return func(n *compare.Counts) int { return n.Normalized }
	case slices.Contains(points, abi.PostFilter):
		return nil
	}
	return func(n *compare.Counts) int { return n.Gates + n.Orders + n.Placements }
}

// OfPlugin returns the subject of a plugin.
func OfPlugin(seed uint64, name string, o compare.Options) Subject {
	full := o
	full.Full = true
	subject := ofScenarios(name, nil, drawn(seed, name), func(n int, s *scenario.Scenario, counts *compare.Counts) ([]compare.Difference, error) {
		if n%8 == 0 || n < 0 {
			return compare.Scenario(s, full, counts)
		}
		return compare.Scenario(s, o, counts)
	})
	subject.Answers = answers(name)
	return subject
}

// drawn draws the n-th scenario for a plugin or for whole decisions.
func drawn(seed uint64, name string) func(n int) *scenario.Scenario {
	return func(n int) *scenario.Scenario { return generate.New(seed, name, n).Scenario() }
}

// ofScenarios is a subject whose cases are scenarios; run gets a negative number
// for one from a file.
func ofScenarios(name string, keep []string, draw func(n int) *scenario.Scenario,
	run func(n int, s *scenario.Scenario, counts *compare.Counts) ([]compare.Difference, error),
) Subject {
	return Subject{
		Name: name, Keep: keep,
		Case: func(n int, counts *compare.Counts) ([]compare.Difference, error) { return run(n, draw(n), counts) },
		Tree: func(n int) (map[string]any, error) { return draw(n).Tree() },
		Replay: func(file []byte, counts *compare.Counts) ([]compare.Difference, error) {
			s, err := scenario.Parse(file)
			if err != nil {
				return nil, err
			}
			return run(-1, s, counts)
		},
	}
}

// Run runs the cases of all subjects in turn.
func Run(ctx context.Context, c Config, subjects []Subject) []*Result {
	if c.Now == nil {
		c.Now = time.Now
	}
	results := make([]*Result, len(subjects))
	byName := make(map[string]int)
	for i, s := range subjects {
		results[i] = &Result{Name: s.Name}
		byName[s.Name] = i
	}
	r := &runner{config: c, subjects: subjects, results: results, begun: make([]int, len(subjects)), ctx: ctx}
	r.kept(byName)
	r.end = c.Now().Add(c.Budget)
	var group sync.WaitGroup
	for range max(1, c.Workers) {
		group.Go(r.work)
	}
	group.Wait()
	for i, result := range results {
		if answers := subjects[i].Answers; answers != nil {
			result.Counted, result.Answers = true, answers(&result.Counts)
		}
		r.keep(result, subjects[i])
	}
	return results
}

type runner struct {
	config   Config
	subjects []Subject
	ctx      context.Context //nolint:containedctx // the life of one Run
	end      time.Time       // of the budget

	mu      sync.Mutex
	next    int   // all attempts, subjects in turn
	begun   []int // cases, by subject
	differs bool  // in a way that is not listed
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
		began := time.Now()
		differences, err := r.subjects[subject].Case(n, &counts)
		r.add(subject, n, &counts, differences, err, time.Since(began))
	}
}

func (r *runner) take() (subject, n int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.subjects) == 0 || r.ctx.Err() != nil || r.config.First && r.differs {
		return 0, 0, false
	}
	wants := func(subject int) bool { return r.begun[subject] < r.config.Count }
	over := !r.config.Now().Before(r.end)
	switch {
	case r.config.Count > 0 && r.config.Budget > 0 && over:
		return 0, 0, false
	case r.config.Count > 0:
	case over:
		wants = r.lacks
	case r.wanting():
		wants = r.wants
	default:
		wants = func(int) bool { return true }
	}
	for range r.subjects {
		subject = r.next % len(r.subjects)
		r.next++
		if wants(subject) {
			n = r.begun[subject]
			r.begun[subject]++
			return subject, n, true
		}
	}
	return 0, 0, false
}

// fair is the number of cases of each subject that run before those that need more answers are
// preferred.
const fair = 1024

// wants reports whether a subject is run while some need more answers: it needs more, or has
// not had its fair share.
func (r *runner) wants(subject int) bool {
	return r.begun[subject] < fair || r.lacks(subject)
}

// lacks reports whether fewer answers of a subject were compared than are asked for.
func (r *runner) lacks(subject int) bool {
	answers := r.subjects[subject].Answers
	return answers != nil && answers(&r.results[subject].Counts) < r.config.Least
}

func (r *runner) wanting() bool {
	for i := range r.subjects {
		if r.wants(i) {
			return true
		}
	}
	return false
}

// perKind is the number of differences of a kind that are kept.
const perKind = 1

func (r *runner) add(subject, n int, counts *compare.Counts, differences []compare.Difference, err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := r.results[subject]
	result.Counts.Add(counts)
	result.Took += took
	if err != nil && len(result.Errors) < 5 {
		result.Errors = append(result.Errors, fmt.Errorf("case %d: %w", n, err))
	}
	for _, d := range differences {
		same := func(o compare.Difference) bool { return o.What == d.What }
		r.differs = r.differs || d.Listed == nil
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

// kept runs the files that were kept, which lie in folders by subject.
func (r *runner) kept(byName map[string]int) {
	for _, path := range r.config.Kept {
		name := filepath.Base(filepath.Dir(path))
		i, ok := byName[name]
		if !ok {
			continue // not among those that are run
		}
		var counts compare.Counts
		var differences []compare.Difference
		data, err := os.ReadFile(path)
		if err == nil {
			differences, err = r.subjects[i].Replay(data, &counts)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		r.add(i, -1, &counts, differences, err, 0)
	}
}

// shrinkTries is how often a case is run to shrink it, and mostFiles the number of files per
// subject.
const (
	shrinkTries = 3000
	mostFiles   = 3
)

// keep shrinks the cases that differ and writes them to files.
func (r *runner) keep(result *Result, s Subject) {
	for i := range result.Differences {
		d := &result.Differences[i]
		if r.config.Found == "" || d.Case < 0 || i >= mostFiles {
			continue
		}
		data, err := Small(s, d.Case, d.What, shrinkTries)
		folder := filepath.Join(r.config.Found, s.Name)
		path := filepath.Join(folder, fmt.Sprintf("seed%d-case%d-%d.yaml", r.config.Seed, d.Case, i))
		if err == nil {
			err = os.MkdirAll(folder, 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			result.Errors = append(result.Errors, err)
			return
		}
		result.Files = append(result.Files, path)
	}
}

// Small shrinks a case that differs in what small, records how it differs, and returns it as a
// file.
func Small(s Subject, n int, what string, tries int) ([]byte, error) {
	tree, err := s.Tree(n)
	if err != nil {
		return nil, err
	}
	find := func(tree map[string]any) []string {
		data, err := yaml.Marshal(tree)
		if err != nil {
			return nil
		}
		var counts compare.Counts
		differences, err := s.Replay(data, &counts)
		if err != nil {
			return nil
		}
		var out []string
		for _, d := range differences {
			if d.What == what && d.Listed == nil {
				out = append(out, d.String())
			}
		}
		return out
	}
	shrink.Tree(tree, append(s.Keep, "plugin", "subject"), func(tree map[string]any) bool { return len(find(tree)) > 0 }, tries)
	tree["found"] = find(tree)
	return yaml.Marshal(tree)
}
