package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/test/internal/accept"
	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// inFlight is how many bindings a scheduler may have under way, which are then
// written in any order.
const inFlight = 500

// accepted asks kube-scheduler's filters about every placement since a revision at
// which the cluster was empty, in the order of the decisions if that is known.
func accepted(t *testing.T, c *cluster.Cluster, since int64, decided func(*v1.Pod) (uint64, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	defer cancel()
	checker, err := accept.New(ctx, accept.Config{InFlight: inFlight, Decided: decided})
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
	t.Logf("kube-scheduler accepts %d placements, %d of them earlier and %d later than they were written", result.Accepted, result.Early, result.Late)
}

// tell makes a Berth that is to be run tell the order of its decisions, in which the
// placements are then judged. kube-scheduler cannot tell.
func (b *bench) tell(s cluster.Scheduler) cluster.Scheduler {
	if program() != cluster.BerthProgram {
		return s
	}
	socket := filepath.Join(b.TempDir(), "berth.sock")
	s.Flags = append(s.Flags, "--debug-socket="+socket)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	b.decided = func(pod *v1.Pod) (uint64, error) {
		response, err := client.Get("http://berth" + debughttp.ExplainPath + pod.Namespace + "/" + pod.Name)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		var answer debughttp.Pod
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return 0, fmt.Errorf("what Berth knows of %s: %s: %w", pod.Name, response.Status, err)
		}
		if answer.Last == nil || answer.Last.Attempt.Node != pod.Spec.NodeName {
			return 0, fmt.Errorf("Berth does not remember that it placed %s on %s: %+v", pod.Name, pod.Spec.NodeName, answer.Last)
		}
		return answer.Last.Attempt.Sequence, nil
	}
	return s
}
