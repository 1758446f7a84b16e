package e2e

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/test/internal/accept"
	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// inFlight is the maximum number of bindings that a scheduler has in flight, which may be
// written in any order. Berth has a limit (runtime/kube, writesInFlight), kube-scheduler has
// none.
func inFlight() int {
	if program() == cluster.BerthProgram {
		return 96
	}
	return 500
}

// accepted checks every placement since a revision, at which the cluster was empty, with
// kube-scheduler's filters, in the order of the decisions if that is known.
func accepted(t *testing.T, c *cluster.Cluster, since int64, decided func(*v1.Pod) (uint64, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	defer cancel()
	checker, err := accept.New(ctx, accept.Config{InFlight: inFlight(), Decided: decided})
	if err != nil {
		t.Error(err)
		return
	}
	if err := c.History(ctx, since, func(change cluster.Change) error {
		return checker.Write(change.Revision, change.Object, change.Deleted)
	}); err != nil {
		t.Error(err)
		return
	}
	result, err := checker.Result()
	if err != nil {
		t.Error(err)
		return
	}
	for i, refusal := range result.Refusals {
		if i == 20 {
			t.Errorf("… and %d more", len(result.Refusals)-i)
			break
		}
		t.Errorf("kube-scheduler does not accept %v", refusal)
	}
	t.Logf("kube-scheduler accepts %d placements, %d of them at an earlier and %d at a later revision than they were written", result.Accepted, result.Early, result.Late)
}

// tell makes a Berth that is started later report the order of its decisions, in which the
// placements are then checked. kube-scheduler cannot report it.
func (b *bench) tell(s cluster.Scheduler) cluster.Scheduler {
	if program() != cluster.BerthProgram {
		return s
	}
	socket := filepath.Join(b.TempDir(), "berth.sock")
	s.Flags = append(s.Flags, "--debug-socket="+socket)
	b.decided = accept.Decisions(socket)
	return s
}
