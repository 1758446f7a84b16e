package config

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	componentconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// leaseLock is the only resource lock that kube-scheduler still supports.
const leaseLock = "leases"

// jitterFactor is by how much retryPeriod is extended at most, at random (client-go
// leaderelection.JitterFactor).
const jitterFactor = 1.2

// leaderElection sets kube-scheduler's defaults and checks the result.
func leaderElection(r *report, in componentconfigv1alpha1.LeaderElectionConfiguration) componentconfigv1alpha1.LeaderElectionConfiguration {
	out := in
	out.ResourceLock = textOr(in.ResourceLock, leaseLock)
	out.ResourceNamespace = textOr(in.ResourceNamespace, configv1.SchedulerDefaultLockObjectNamespace)
	out.ResourceName = textOr(in.ResourceName, configv1.SchedulerDefaultLockObjectName)
	componentconfigv1alpha1.RecommendedDefaultLeaderElectionConfiguration(&out)

	path := field.NewPath("leaderElection")
	if *out.LeaderElect && out.ResourceLock != leaseLock {
		r.add(path.Child("resourceLock"), fmt.Sprintf("unknown lock %q", out.ResourceLock), "the only one is "+quote(leaseLock))
	}
	if *out.LeaderElect {
		checkLease(r, path, out)
	}
	return out
}

// checkLease checks that all times are above 0, that the leader retries before it gives up, and
// that it gives up before its lease ends. kube-scheduler checks the second only when it starts
// (leaderelection.NewLeaderElector).
func checkLease(r *report, path *field.Path, l componentconfigv1alpha1.LeaderElectionConfiguration) {
	times := []struct {
		name  string
		value time.Duration
	}{
		{"leaseDuration", l.LeaseDuration.Duration},
		{"renewDeadline", l.RenewDeadline.Duration},
		{"retryPeriod", l.RetryPeriod.Duration},
	}
	for _, t := range times {
		if t.value <= 0 {
			r.add(path.Child(t.name), fmt.Sprintf("%v is not above 0", t.value), "leave it out for the default")
		}
	}
	if l.LeaseDuration.Duration <= l.RenewDeadline.Duration {
		r.add(path.Child("leaseDuration"), fmt.Sprintf("%v is not above renewDeadline, %v", l.LeaseDuration.Duration, l.RenewDeadline.Duration),
			"give a longer lease, or a shorter deadline")
	}
	if retry := l.RetryPeriod.Duration; retry > 0 && float64(l.RenewDeadline.Duration) <= jitterFactor*float64(retry) {
		r.add(path.Child("renewDeadline"), fmt.Sprintf("%v is not above %v times retryPeriod, %v", l.RenewDeadline.Duration, jitterFactor, retry),
			"give a longer deadline, or a shorter period")
	}
}

// clientConnection sets the defaults of the connection to the API server and checks it.
func clientConnection(r *report, in componentconfigv1alpha1.ClientConnectionConfiguration) componentconfigv1alpha1.ClientConnectionConfiguration {
	out := in
	componentconfigv1alpha1.RecommendedDefaultClientConnectionConfiguration(&out)
	path := field.NewPath("clientConnection")
	if out.Burst < 0 {
		r.add(path.Child("burst"), fmt.Sprintf("%d is negative", out.Burst), "leave it out for the default, 100")
	}
	if types := strings.TrimSpace(out.ContentType); !strings.Contains(types, "/") {
		r.add(path.Child("contentType"), fmt.Sprintf("%q is not a media type", out.ContentType),
			"give application/json or application/vnd.kubernetes.protobuf")
	}
	return out
}

// CheckOverrides checks LeaderElection and ClientConnection again after flags have changed
// them. Errors have the paths of the fields in a file.
func (s *Scheduler) CheckOverrides() error {
	r := newReport("", nil)
	s.LeaderElection, s.ClientConnection = leaderElection(r, s.LeaderElection), clientConnection(r, s.ClientConnection)
	return r.err()
}

func textOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
