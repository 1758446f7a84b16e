package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// TestFailover runs two replicas, of which one leads. The leader is killed while pods are
// created, then the next one is stopped: each time the other takes over.
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
		b.Error(err) // kube-scheduler exits with an error
	}
	b.finish()
}

// shutsDown stops the scheduler under load. It exits cleanly, and the next one finds nothing
// half-done.
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

// takesOver replaces kube-scheduler by Berth and back while pods are created: with the same
// kubeconfig, configuration file and lease, so that each waits until the other has exited.
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
	_ = upstream.Stop(30 * time.Second) // it exits with an error when it is told to stop
	b.reach(pods / 2)
	replica(cluster.UpstreamProgram)
	if err := berth.Stop(30 * time.Second); err != nil {
		t.Error(err)
	}
	b.finish()
}

// renamesLease runs replicas with the same profile under two names of the Lease, as a rolling update that renames it does: one waits
// for the other, and no node has more than its room at any time.
func renamesLease(t *testing.T) {
	pods, capacity := tight(60)
	b := newBench(t, "renamed", 60, capacity)
	replica := func(name, lease string) *cluster.Process {
		return run(t, b.Cluster, cluster.Scheduler{
			Program: cluster.BerthProgram, Name: name, User: cluster.Admin, // the users of deploy/ may use one Lease each
			Config: fmt.Sprintf("leaderElection: {leaderElect: true, leaseDuration: %v, renewDeadline: %v, retryPeriod: 1s, resourceName: %s}\n",
				cluster.LeaseDuration, cluster.LeaseDuration-time.Second, lease),
		})
	}
	waits := func(p *cluster.Process) {
		t.Helper()
		awaitThat(t, "a replica with another Lease waits", func() bool {
			return strings.Contains(p.Log(), "another scheduler leads with one of the profiles")
		})
	}
	first := replica("old-name", "old")
	b.create(pods, b.pod)
	b.reach(pods / 10)
	second := replica("new-name", "new")
	waits(second)
	if err := first.Stop(stopped); err != nil {
		t.Error(err)
	}
	b.reach(pods / 3)
	waits(replica("old-name-again", "old"))
	if err := second.Kill(); err != nil {
		t.Error(err)
	}
	b.finish()
}
