package schedulerperf

import (
	"errors"
	"fmt"
)

// The targets, as shares of kube-scheduler's figures.
const (
	mostCPU   = 0.5
	leastRate = 0.95
)

// Misses are the targets that were missed in a workload, in words.
func (r *Row) Misses() []string {
	if r.Failed != nil {
		return []string{r.Failed.Error()}
	}
	var out []string
	if share := r.CPUShare(); share > mostCPU {
		out = append(out, fmt.Sprintf("CPU a pod is %.2f of kube-scheduler's, more than %g", share, mostCPU))
	}
	if share := r.Ours.PodsPerSecond / r.Theirs.PodsPerSecond; share < leastRate {
		out = append(out, fmt.Sprintf("pods/s are %.2f of kube-scheduler's, less than %g", share, leastRate))
	}
	if least := r.Workload.Threshold; r.Theirs.reached() > least && r.Ours.reached() <= least {
		out = append(out, fmt.Sprintf("%.0f pods/s do not reach the threshold of %g, and %.0f of kube-scheduler do", r.Ours.reached(), least, r.Theirs.reached()))
	}
	return out
}

// CPUShare is Berth's CPU time of a pod as a share of kube-scheduler's.
func (r *Row) CPUShare() float64 {
	return r.Ours.CPUPerPod.Seconds() / r.Theirs.CPUPerPod.Seconds()
}

// Verdict is an error with what could not be measured, and with the targets that were missed if these count.
func (r *Report) Verdict(targets bool) error {
	var errs []error
	for _, row := range r.Rows {
		if row.Failed == nil && !targets {
			continue
		}
		for _, miss := range row.Misses() {
			errs = append(errs, fmt.Errorf("%v: %s", row.Workload, miss))
		}
	}
	return errors.Join(errs...)
}
