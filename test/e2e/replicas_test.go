package e2e

import (
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
