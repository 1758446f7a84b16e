package config

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// Defaults of kube-scheduler v1.37 (apis/config/v1/defaults.go); the backoffs
// are in seconds.
const (
	defaultParallelism    = 16
	defaultInitialBackoff = 1
	defaultMaxBackoff     = 10
)

// maxSeconds is the longest backoff that fits a time.Duration.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// build converts the decoded file to the result. It returns every mistake, r's earlier ones
// included, or nil.
func build(r *report, in *configv1.KubeSchedulerConfiguration, cat Catalog) (*Scheduler, []Warning, error) {
	checkPercentage(r, field.NewPath("percentageOfNodesToScore"), in.PercentageOfNodesToScore)
	out := &Scheduler{
		Profiles:                 buildProfiles(r, cat, in.Profiles),
		PercentageOfNodesToScore: in.PercentageOfNodesToScore,
		Parallelism:              valueOr(in.Parallelism, defaultParallelism),
		Extenders:                in.Extenders,
		LeaderElection:           leaderElection(r, in.LeaderElection),
		ClientConnection:         clientConnection(r, in.ClientConnection),
		EnableProfiling:          valueOr(in.EnableProfiling, true),
		DelayCacheUntilActive:    in.DelayCacheUntilActive,
	}
	out.EnableContentionProfiling = valueOr(in.EnableContentionProfiling, out.EnableProfiling)
	out.PodInitialBackoff, out.PodMaxBackoff = backoffs(r, in)
	if out.Parallelism <= 0 {
		r.add(field.NewPath("parallelism"), fmt.Sprintf("%d is not above 0", out.Parallelism),
			fmt.Sprintf("leave it out for the default, %d", defaultParallelism))
	}
	checkExtenders(r, field.NewPath("extenders"), in.Extenders)
	if err := r.err(); err != nil {
		out.broken = true
		return out, nil, err
	}
	return out, r.warnings(), nil
}

func backoffs(r *report, in *configv1.KubeSchedulerConfiguration) (initial, most time.Duration) {
	i := valueOr(in.PodInitialBackoffSeconds, defaultInitialBackoff)
	m := valueOr(in.PodMaxBackoffSeconds, defaultMaxBackoff)
	initialPath, maxPath := field.NewPath("podInitialBackoffSeconds"), field.NewPath("podMaxBackoffSeconds")
	if i <= 0 {
		r.add(initialPath, fmt.Sprintf("%d seconds is not above 0", i),
			fmt.Sprintf("leave it out for the default, %d", defaultInitialBackoff))
	}
	switch {
	case m <= 0:
		r.add(maxPath, fmt.Sprintf("%d seconds is not above 0", m), fmt.Sprintf("leave it out for the default, %d", defaultMaxBackoff))
	case m < i && in.PodMaxBackoffSeconds == nil:
		r.add(initialPath, fmt.Sprintf("%d seconds is above podMaxBackoffSeconds, by default %d", i, m), "give podMaxBackoffSeconds too")
	case m < i:
		r.add(maxPath, fmt.Sprintf("%d seconds is less than podInitialBackoffSeconds, %d", m, i), "give at least that")
	case m > maxSeconds: // i <= m, so this covers i too
		r.add(maxPath, fmt.Sprintf("%d seconds is too long", m), fmt.Sprintf("give at most %d", maxSeconds))
	}
	return time.Duration(i) * time.Second, time.Duration(m) * time.Second
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
