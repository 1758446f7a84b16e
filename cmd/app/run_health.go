package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"

	"github.com/berth-scheduler/berth/runtime/kube"
)

// checks returns the checks of /livez and /readyz: those of kube-scheduler, under its names,
// one of the loop, and those of what is written and watched.
func (w *watched) checks(ctx context.Context, election *kube.Election) (live, ready []healthz.HealthChecker) {
	var holds, canLead []healthz.HealthChecker
	if election.Identity() != "" {
		const name = "leaderElection"
		holds = []healthz.HealthChecker{healthz.NamedCheck(name, election.Check)}
		canLead = []healthz.HealthChecker{healthz.NamedCheck(name, election.Ready)} // a restart does not grant a missing permission
	}
	live = []healthz.HealthChecker{healthz.PingHealthz, healthz.NamedCheck("loop", w.loopCheck)}
	ready = []healthz.HealthChecker{
		healthz.NewShutdownHealthz(ctx.Done()),
		healthz.NamedCheck("sched-handler-sync", w.clusterCheck((*kube.Cluster).Synced)),
		healthz.NamedCheck("writes", w.clusterCheck((*kube.Cluster).Blocked)),
		healthz.NamedCheck("watches", w.clusterCheck((*kube.Cluster).Unwatched)),
		healthz.NamedCheck("feeds", w.feedsCheck),
	}
	return slices.Concat(holds, live), slices.Concat(canLead, ready)
}

// loopTime is the time in which the loop must answer for the scheduler to be live.
const loopTime = 30 * time.Second

func (w *watched) loopCheck(r *http.Request) error {
	running := w.running.Load()
	if running == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), loopTime)
	defer cancel()
	return running.assembly.Scheduler.Do(ctx, func() {})
}

// clusterCheck returns a check of the cluster that runs.
func (w *watched) clusterCheck(check func(*kube.Cluster) error) func(*http.Request) error {
	return func(*http.Request) error {
		if running := w.running.Load(); running != nil {
			return check(running.cluster)
		}
		return errors.New("starting")
	}
}
