package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// relay is a set of replicas that lead one after the other.
type relay struct {
	*bench
	config string
	// runners are those of this round, in the order in which they were started.
	runners []*replica
	paused  *replica
	started int
	lost    int          // that lost the lease without being paused
	stall   atomic.Int64 // the longest time of a request of the test itself, in ns
}

// newRelay starts the first replica.
func newRelay(b *bench, config string) *relay {
	r := &relay{bench: b, config: config}
	ctx, cancel := context.WithCancel(b.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			time.Sleep(stallPoll)
			_, _ = b.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, "berth", metav1.GetOptions{}) // it may be away
			r.stall.Store(max(r.stall.Load(), int64(time.Since(began)-stallPoll)))
		}
	})
	b.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	r.start()
	return r
}

const stallPoll = 100 * time.Millisecond

// slowest is the longest time that a request of the test itself took.
func (r *relay) slowest() time.Duration {
	return time.Duration(r.stall.Load()).Round(time.Millisecond)
}

func (r *relay) start() {
	r.Helper()
	r.started++
	r.runners = append(r.runners, r.replica(cluster.Scheduler{Name: fmt.Sprint("replica-", r.started), LeaderElection: true, Config: r.config}))
}

// gone removes the replicas that have exited.
func (r *relay) gone() {
	r.runners = slices.DeleteFunc(r.runners, func(x *replica) bool { return !x.Running() })
	if len(r.runners) == 0 {
		r.start()
	}
}

// reach waits until this many pods are bound, as long as there is progress. If no replica is
// left that could lead, another is started.
func (r *relay) reach(n int) {
	r.Helper()
	last, end := -1, time.Now().Add(drained)
	for placed := r.placed(); placed < n; placed = r.placed() {
		if placed != last {
			last, end = placed, time.Now().Add(drained)
		}
		if !slices.ContainsFunc(r.runners, func(x *replica) bool { return x != r.paused && x.Running() }) {
			end = time.Now().Add(drained)
			r.replace(r.runners[len(r.runners)-1])
		}
		if time.Now().After(end) {
			r.Fatalf("%d pods have a node, want %d, and that has not changed for %v", placed, n, drained)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// replace starts a replica in place of one that has exited by itself, which it must have had a
// reason for.
func (r *relay) replace(ended *replica) {
	r.Helper()
	r.lost++
	r.Logf("%s has ended unpaused; requests of the test took %v at most", ended.Name, r.slowest())
	if program() == cluster.BerthProgram && !strings.Contains(ended.Tail(1), "the lease was lost") {
		r.Errorf("%s exited for another reason than a lost lease: %s", ended.Name, ended.Tail(5))
	}
	if r.slowest() < time.Second {
		r.Errorf("%s lost its lease although the machine was fast enough", ended.Name)
	}
	r.start()
}
