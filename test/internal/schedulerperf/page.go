package schedulerperf

import (
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed scheduler-perf.md.tmpl
var page string

// WritePage writes docs/scheduler-perf.md.
func (r *Report) WritePage(w io.Writer) error {
	t, err := template.New("scheduler-perf.md").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// Table is a row for each workload, in Markdown.
func (r *Report) Table() string {
	var b strings.Builder
	b.WriteString("| workload | nodes | pods | threshold | pods/s: kube-scheduler | Berth | CPU ms a pod: kube-scheduler | Berth | share |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, row := range r.Rows {
		threshold := ""
		if row.Workload.Threshold > 0 {
			threshold = strconv.FormatFloat(row.Workload.Threshold, 'g', -1, 64)
			if row.Theirs.reached() <= row.Workload.Threshold {
				threshold += " (kube-scheduler: no)"
			}
			if row.Ours.reached() <= row.Workload.Threshold {
				threshold += " (Berth: no)"
			}
		}
		if row.Failed != nil {
			fmt.Fprintf(&b, "| %v | %d | | %s | could not be measured | | | | |\n", row.Workload, row.Nodes, threshold)
			continue
		}
		fmt.Fprintf(&b, "| %v | %d | %d | %s | %.0f | %.0f | %.2f | %.2f | %.2f |\n", row.Workload, row.Nodes, row.Ours.Pods, threshold,
			row.Theirs.PodsPerSecond, row.Ours.PodsPerSecond, milliseconds(row.Theirs.CPUPerPod), milliseconds(row.Ours.CPUPerPod), row.CPUShare())
	}
	return b.String()
}

// Missed is a list of the targets that were missed, in Markdown.
func (r *Report) Missed() string {
	var b strings.Builder
	for _, row := range r.Rows {
		for _, miss := range row.Misses() {
			fmt.Fprintf(&b, "- `%v`: %s.\n", row.Workload, strings.ReplaceAll(miss, "\n", "; "))
		}
	}
	return b.String()
}

// LeftOut is a list of the test cases of workloads that were left out, by reason and with the number of workloads, in Markdown.
func (r *Report) LeftOut() string {
	counts, cases := make(map[string]int), make(map[string][]string)
	var reasons []string
	for _, l := range r.Left {
		if counts[l.Reason]++; counts[l.Reason] == 1 {
			reasons = append(reasons, l.Reason)
		}
		name, _, _ := strings.Cut(l.Workload.Name, "/")
		if name = "`" + l.Workload.Package + "/" + name + "`"; !slices.Contains(cases[l.Reason], name) {
			cases[l.Reason] = append(cases[l.Reason], name)
		}
	}
	slices.Sort(reasons)
	var b strings.Builder
	for _, reason := range reasons {
		fmt.Fprintf(&b, "- %s (%d): %s\n", reason, counts[reason], strings.Join(cases[reason], ", "))
	}
	return b.String()
}

// Shares are the middle, the least and the greatest share of the CPU time of a pod.
func (r *Report) Shares() string { return spread(r.Rows, (*Row).CPUShare) }

// Rates are the middle, the least and the greatest share of pods/s.
func (r *Report) Rates() string {
	return spread(r.Rows, func(row *Row) float64 { return row.Ours.PodsPerSecond / row.Theirs.PodsPerSecond })
}

func spread(rows []*Row, of func(*Row) float64) string {
	var all []float64
	for _, row := range rows {
		if row.Failed == nil {
			all = append(all, of(row))
		}
	}
	if len(all) == 0 {
		return "an unknown part"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.2f (from %.2f to %.2f)", all[len(all)/2], all[0], all[len(all)-1])
}

// Machine is where it was measured.
func (r *Report) Machine() string {
	return fmt.Sprintf("%s/%s with %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// Minutes is how long it took.
func (r *Report) Minutes() int { return int(r.Took.Minutes() + 0.5) }

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
