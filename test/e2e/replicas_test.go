package e2e

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// TestFailover has two replicas, of which one leads. The leader is killed in the
// middle of a stream of pods, then the next one asked to end: each time the other
// takes over.
func TestFailover(t *testing.T) {
	t.Run("alike", func(t *testing.T) {
		pods, capacity := tight(60)
		b := newBench(t, "failover", 60, capacity)
		b.failOver(pods, b.pod)
	})
	t.Run("mixed", func(t *testing.T) {
		b, pods := newMixedBench(t, "failover-mixed", 50)
		b.failOver(pods, b.mix(anyOrder()))
	})
}

func (b *bench) failOver(pods int, pod func(i int) *v1.Pod) {
	b.Helper()
	first := b.run(cluster.Scheduler{Name: "replica-1", LeaderElection: true})
	b.create(pods, pod)
	b.reach(pods / 10) // the first leads
	second := b.run(cluster.Scheduler{Name: "replica-2", LeaderElection: true})
	if err := first.Kill(); err != nil {
		b.Fatal(err)
	}
	b.reach(pods / 3) // the second leads
	b.run(cluster.Scheduler{Name: "replica-3", LeaderElection: true})
	if err := second.Stop(30 * time.Second); err != nil && program() == cluster.BerthProgram {
		b.Error(err) // kube-scheduler ends with a failure
	}
	b.finish()
}

// TestPausedLeader stops the leader for longer than its lease, as a machine that
// hangs does, and lets it go on when another leads: it ends soon, no pod is bound twice,
// and Berth puts no more on a node than it holds, as it writes nothing that its lease
// does not cover. What a lease cannot promise is about a request that is between the
// check and the wire when the process is stopped: a few microseconds of each.
func TestPausedLeader(t *testing.T) {
	pods, capacity := tight(50)
	b := newBench(t, "paused", 50, capacity)
	if program() == cluster.UpstreamProgram {
		b.doubtful = "kube-scheduler goes on with what it was about to write, until it tries to renew its lease"
	}
	first := b.run(cluster.Scheduler{Name: "replica-1", LeaderElection: true})
	b.create(pods, b.pod)
	b.reach(pods / 5)
	if err := first.Pause(); err != nil {
		t.Fatal(err)
	}
	b.run(cluster.Scheduler{Name: "replica-2", LeaderElection: true})
	b.reach(pods / 2) // the second leads
	if err := first.Resume(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := first.Wait(ctx); err != nil {
		t.Error(err)
	}
	b.finish()
}

// shutsDown asks the scheduler to end under load. It ends in good order, and
// the next one finds nothing half done.
func shutsDown(t *testing.T) {
	pods, capacity := tight(40)
	b := newBench(t, "shutdown", 40, capacity)
	first := b.run(cluster.Scheduler{Name: "first"})
	b.create(pods, b.pod)
	b.reach(pods / 4)
	if err := first.Stop(30 * time.Second); err != nil {
		t.Error(err)
	}
	b.run(cluster.Scheduler{Name: "second"})
	b.finish()
}

// takesOver puts Berth in the place of kube-scheduler and back while pods stream
// in: with the same kubeconfig, the same file and the same lease, so that each waits
// until the other is gone.
func takesOver(t *testing.T) {
	pods, capacity := tight(60)
	b := newBench(t, "takeover", 60, capacity)
	replica := func(program cluster.Program) *cluster.Process {
		return run(t, b.Cluster, cluster.Scheduler{Program: program, LeaderElection: true})
	}
	upstream := replica(cluster.UpstreamProgram)
	b.create(pods, b.pod)
	b.reach(pods / 10)
	berth := replica(cluster.BerthProgram)
	_ = upstream.Stop(30 * time.Second) // it ends with a failure when it is told to
	b.reach(pods / 2)
	replica(cluster.UpstreamProgram)
	if err := berth.Stop(30 * time.Second); err != nil {
		t.Error(err)
	}
	b.finish()
}
