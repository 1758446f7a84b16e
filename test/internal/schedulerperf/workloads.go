package schedulerperf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// configuration is the name of upstream's files, and selecting the label of the workloads that are measured.
const (
	configuration = "performance-config.yaml"
	selecting     = "performance"
	short         = "short" // a label: the workload is small
)

// Workload is one of upstream's, with the label performance.
type Workload struct {
	// Package is relative to test/integration/scheduler_perf.
	Package string
	// Name is that of the test case and of the workload, with a slash between them.
	Name string
	// Nodes that are created, in full size.
	Nodes int
	// Threshold is upstream's, in pods/s; 0 if it has none.
	Threshold float64
	// Gates that the workload sets.
	Gates map[string]bool
	// Short is whether upstream calls it short.
	Short bool
}

func (w *Workload) String() string { return w.Package + "/" + w.Name }

// testCase is what we read of upstream's format.
type testCase struct {
	Name             string
	Labels           []string
	FeatureGates     map[string]bool
	WorkloadTemplate []struct {
		Opcode         string
		CollectMetrics bool
		Count          int
		CountParam     string
	}
	Workloads []struct {
		Name         string
		Labels       []string
		FeatureGates map[string]bool
		Threshold    threshold
		Params       map[string]any
	}
}

// threshold is a number, or numbers by topic.
type threshold struct {
	value   float64
	byTopic map[string]float64
}

func (t *threshold) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &t.value) == nil {
		return nil
	}
	return json.Unmarshal(text, &t.byTopic)
}

// of is the threshold under the topic of a package.
func (t threshold) of(pkg string) float64 {
	if v, ok := t.byTopic[strings.ReplaceAll(pkg, "/", "_")]; ok {
		return v
	}
	return t.value
}

// workloads reads upstream's configurations in the packages under dir.
func workloads(dir string, packages []string) ([]*Workload, error) {
	var out []*Workload
	for _, pkg := range packages {
		name := filepath.Join(dir, filepath.FromSlash(pkg), configuration)
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := parse(pkg, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

func parse(pkg string, data []byte) ([]*Workload, error) {
	var cases []testCase
	if err := yaml.Unmarshal(data, &cases); err != nil {
		return nil, err
	}
	var out []*Workload
	for _, c := range cases {
		windows := 0
		for _, op := range c.WorkloadTemplate {
			if op.CollectMetrics || op.Opcode == "startCollectingMetrics" {
				windows++
			}
		}
		if windows != 1 {
			return nil, fmt.Errorf("%s collects metrics %d times: only one measurement of a workload is kept", c.Name, windows)
		}
		for _, from := range c.Workloads {
			if !slices.Contains(slices.Concat(c.Labels, from.Labels), selecting) {
				continue
			}
			w := &Workload{
				Package: pkg, Name: c.Name + "/" + from.Name, Threshold: from.Threshold.of(pkg), Gates: make(map[string]bool),
				Short: slices.Contains(slices.Concat(c.Labels, from.Labels), short),
			}
			for _, gates := range []map[string]bool{c.FeatureGates, from.FeatureGates} {
				for gate, on := range gates {
					w.Gates[gate] = on
				}
			}
			for _, op := range c.WorkloadTemplate {
				if op.Opcode != "createNodes" {
					continue
				}
				n := op.Count
				if value, ok := from.Params[strings.TrimPrefix(op.CountParam, "$")].(float64); ok {
					n = int(value)
				}
				w.Nodes += n
			}
			out = append(out, w)
		}
	}
	return out, nil
}

// scaled is what the patch makes of a count.
func scaled(n int, factor float64) int {
	if n == 0 {
		return 0
	}
	return max(1, int(math.Ceil(float64(n)*factor)))
}

// skip leaves out what begins with a package and a name, for a reason.
type skip struct{ prefix, reason string }

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
		prefix, reason, _ := strings.Cut(line, " ")
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: %q is not: package, or package and name, and a reason", name, i+1, line)
		}
		out = append(out, skip{prefix: prefix, reason: strings.TrimSpace(reason)})
	}
	return out, nil
}

// Left is a workload that is left out, with the reason.
type Left struct {
	Workload *Workload
	Reason   string
}

// apply divides workloads into those that run and those left out: for a line of the file, or for a gate that
// has not kube-scheduler's default. A line without a workload is an error.
func apply(all []*Workload, skips []skip, defaults map[string]bool) (run []*Workload, left []Left, err error) {
	used := make(map[string]bool)
	for _, w := range all {
		reason := ""
		for _, k := range skips {
			if within(w, k.prefix) {
				used[k.prefix], reason = true, k.reason
			}
		}
		if reason == "" {
			reason = unusual(w, defaults)
		}
		if reason == "" {
			run = append(run, w)
		} else {
			left = append(left, Left{Workload: w, Reason: reason})
		}
	}
	for _, k := range skips {
		if !used[k.prefix] {
			err = errors.Join(err, fmt.Errorf("there is no workload %s to leave out", k.prefix))
		}
	}
	return run, left, err
}

// unusual says which gate of a workload has not the default.
func unusual(w *Workload, defaults map[string]bool) string {
	var names []string
	for gate, on := range w.Gates {
		if value, ok := defaults[gate]; !ok || value != on {
			names = append(names, fmt.Sprintf("%s=%v", gate, on))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "needs " + strings.Join(names, ", ") + " against the default of kube-scheduler"
}

// within reports whether prefix is the package of a workload, its test case, or the workload.
func within(w *Workload, prefix string) bool {
	return strings.HasPrefix(w.String()+"/", strings.TrimSuffix(prefix, "/")+"/")
}

// only keeps the workloads within one of the prefixes, in the order of these; all if there are none.
func only(run []*Workload, prefixes []string) (kept []*Workload, left []Left, err error) {
	if len(prefixes) == 0 {
		return run, nil, nil
	}
	for _, prefix := range prefixes {
		n := len(kept)
		for _, w := range run {
			if within(w, prefix) && !slices.Contains(kept, w) {
				kept = append(kept, w)
			}
		}
		if len(kept) == n {
			return nil, nil, fmt.Errorf("no workload that applies is %q: name a package, a test case of it, or a workload of that, as in %v", prefix, run[0])
		}
	}
	for _, w := range run {
		if !slices.Contains(kept, w) {
			left = append(left, Left{Workload: w, Reason: "not among those chosen, for the sake of time"})
		}
	}
	return kept, left, nil
}

// oneOfEach keeps a workload of each test case: the first with a threshold, or the first.
func oneOfEach(run []*Workload) (kept []*Workload, left []Left) {
	chosen := make(map[string]*Workload)
	for _, w := range run {
		if c, ok := chosen[w.testCase()]; !ok || c.Threshold == 0 && w.Threshold > 0 {
			chosen[w.testCase()] = w
		}
	}
	for _, w := range run {
		if chosen[w.testCase()] == w {
			kept = append(kept, w)
		} else {
			left = append(left, Left{Workload: w, Reason: "another workload of the same test case ran, for the sake of time"})
		}
	}
	return kept, left
}

// testCase is the package and the name of the test case.
func (w *Workload) testCase() string {
	name, _, _ := strings.Cut(w.Name, "/")
	return w.Package + "/" + name
}
