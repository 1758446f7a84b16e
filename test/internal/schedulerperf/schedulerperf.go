// Package schedulerperf runs upstream's benchmarks of schedulers, scheduler_perf, with kube-scheduler and with
// berth run as processes, and compares the two.
package schedulerperf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/kubernetes/pkg/features" // registers kube-scheduler's gates

	"github.com/berth-scheduler/berth/test/internal/outside"
)

// under is the folder of the benchmarks under test/integration, and benchmark their function.
const (
	under     = "scheduler_perf/"
	benchmark = "BenchmarkPerfScheduling"
	skipsFile = "cmd/schedulerperf/skips.txt"
)

// Config says what to measure.
type Config struct {
	// ModuleDir is the folder of test/go.mod.
	ModuleDir string
	// Only are packages, test cases or workloads; all if empty.
	Only []string
	// OneOfEach test case runs, not all its workloads.
	OneOfEach bool
	// Scale multiplies counts of nodes and pods, but in workloads that upstream calls short.
	Scale float64
	// Out gets the progress.
	Out io.Writer
}

// Report is what was measured.
type Report struct {
	Rows []*Row
	Left []Left
	// Scale is that of the configuration, and Command runs the same again.
	Scale   float64
	Command string
	// Took is the time of all of it.
	Took time.Duration
	// Load is the mean of the load averages of a minute after each workload; 0 if that is not known.
	Load float64
}

// command is the command of make with this configuration.
func (c Config) command() string {
	command := "make scheduler-perf"
	if len(c.Only) > 0 {
		command += " ONLY=" + strings.Join(c.Only, ",")
	}
	if c.Scale != 1 {
		command += fmt.Sprintf(" SIZE=%v", c.Scale)
	}
	if c.OneOfEach {
		command += " EACH=1"
	}
	return command
}

// Row is a workload with the results of both.
type Row struct {
	Workload *Workload
	// Nodes that were created.
	Nodes int
	// Theirs are kube-scheduler's, and Ours Berth's.
	Theirs, Ours Result
	// Failed is not nil if one of them could not be measured.
	Failed error
}

// Run measures the workloads, each with both schedulers in turn. If ctx ends, the report has those that were
// measured until then.
func Run(ctx context.Context, config Config) (*Report, error) {
	start := time.Now()
	theirs, err := outside.New(ctx, config.ModuleDir, outside.KubeScheduler, config.Out)
	if err != nil {
		return nil, err
	}
	ours, err := outside.New(ctx, config.ModuleDir, outside.Berth, config.Out)
	if err != nil {
		return nil, err
	}
	report := &Report{Scale: config.Scale, Command: config.command()}
	run, err := report.choose(ctx, config, theirs)
	if err != nil {
		return nil, err
	}
	failed := false
	programs := make(map[string]string)
	for i, w := range run {
		if programs[w.Package] == "" {
			if programs[w.Package], err = ours.Build(ctx, under+w.Package); err != nil {
				return nil, err
			}
		}
		row := &Row{Workload: w, Nodes: w.Nodes}
		if !w.Short {
			row.Nodes = scaled(w.Nodes, config.Scale)
		}
		row.measure(theirs, ours, i%2 == 1, func(tests *outside.Tests) (Result, error) {
			return measure(ctx, tests, programs[w.Package], w, config.Scale)
		})
		if ctx.Err() != nil {
			for _, w := range run[i:] {
				report.Left = append(report.Left, Left{Workload: w, Reason: "the run was stopped before"})
			}
			break
		}
		report.Rows = append(report.Rows, row)
		report.Load += (loadAverage() - report.Load) / float64(len(report.Rows))
		failed = failed || row.Failed != nil
		fmt.Fprintf(config.Out, "%d/%d %v\n", i+1, len(run), row)
	}
	report.Took = time.Since(start)
	if failed {
		fmt.Fprintf(config.Out, "logs are in %s and %s\n", theirs.Logs, ours.Logs)
		return report, nil
	}
	return report, errors.Join(os.RemoveAll(theirs.Logs), os.RemoveAll(ours.Logs))
}

// loadAverage is that of the last minute, where the system tells it.
func loadAverage() (load float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	if err != nil {
		return 0
	}
	return load
}

// measure runs a workload with both, with Berth first if swapped.
func (r *Row) measure(theirs, ours *outside.Tests, swapped bool, run func(*outside.Tests) (Result, error)) {
	one := func(tests *outside.Tests, to *Result, name string) {
		var err error
		if *to, err = run(tests); err != nil {
			r.Failed = errors.Join(r.Failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	if swapped {
		one(ours, &r.Ours, outside.Berth)
	}
	one(theirs, &r.Theirs, outside.KubeScheduler)
	if !swapped {
		one(ours, &r.Ours, outside.Berth)
	}
}

func (r *Row) String() string {
	if r.Failed != nil {
		return fmt.Sprintf("%v: %v", r.Workload, r.Failed)
	}
	return fmt.Sprintf("%v: kube-scheduler %.0f pods/s, %.2f ms of CPU a pod; berth %.0f pods/s, %.2f ms", r.Workload,
		r.Theirs.PodsPerSecond, milliseconds(r.Theirs.CPUPerPod), r.Ours.PodsPerSecond, milliseconds(r.Ours.CPUPerPod))
}

// choose reads upstream's configurations, and notes what is left out.
func (r *Report) choose(ctx context.Context, config Config, tests *outside.Tests) ([]*Workload, error) {
	listed, err := tests.List(ctx, "{{if .XTestGoFiles}}{{.ImportPath}}{{else if .TestGoFiles}}{{.ImportPath}}{{end}}", outside.Packages+under+"...")
	if err != nil {
		return nil, err
	}
	var packages []string
	for _, pkg := range strings.Fields(listed) {
		pkg = strings.TrimPrefix(pkg, outside.Packages+under)
		if _, err := os.Stat(filepath.Join(tests.Dir(under+pkg), configuration)); err == nil {
			packages = append(packages, pkg)
		}
	}
	all, err := workloads(tests.Dir(under), packages)
	if err != nil {
		return nil, err
	}
	skips, err := readSkips(filepath.Join(config.ModuleDir, skipsFile))
	if err != nil {
		return nil, err
	}
	defaults := make(map[string]bool)
	for gate, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		defaults[string(gate)] = spec.Default
	}
	run, left, err := apply(all, skips, defaults)
	if err != nil {
		return nil, err
	}
	run, others, err := only(run, config.Only)
	if err != nil {
		return nil, err
	}
	left = append(left, others...)
	if config.OneOfEach {
		run, others = oneOfEach(run)
		left = append(left, others...)
	}
	r.Left = left
	return run, nil
}
