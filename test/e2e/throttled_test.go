package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// writesStatusLater uses an API server that rejects writes of pod status for a while, without
// Retry-After. Conditions and nominations are written when it is over, and a victim whose
// condition could not be written at first is evicted. Meanwhile Berth backs off: it retries
// after longer and longer pauses.
func writesStatusLater(t *testing.T) {
	const (
		busy = 3 * time.Second
		most = 30 // attempts meanwhile, for one pod
	)
	b := newBench(t, "status-throttled", 1, workload.Capacity{CPU: 1, Memory: 4, Pods: 10})
	b.makePriority()
	var refused struct {
		sync.Mutex
		pods  map[string]int
		since time.Time
	}
	refused.pods = make(map[string]int)
	gateway := b.gateway(cluster.GatewayConfig{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		path, ok := strings.CutSuffix(r.URL.Path, "/status")
		if !ok || r.Method != http.MethodPatch || !strings.Contains(path, "/pods/") {
			return false
		}
		refused.Lock()
		defer refused.Unlock()
		if refused.since.IsZero() {
			refused.since = time.Now()
		}
		if time.Since(refused.since) > busy {
			return false
		}
		refused.pods[path[strings.LastIndexByte(path, '/')+1:]]++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(apierrors.NewTooManyRequests("not now", 0).Status()) // the caller sees what is missing
		return true
	}})
	b.run(cluster.Scheduler{Server: gateway.URL()})

	victim := workload.Pod(b.namespace, "victim", 1000, 100)
	victim.Spec.NodeName, victim.Spec.TerminationGracePeriodSeconds = workload.NodeName(0), new(int64(30))
	large, high := workload.Pod(b.namespace, "large", 100_000, 100), workload.Pod(b.namespace, "high", 1000, 100)
	high.Spec.PriorityClassName = workload.Priority
	for _, pod := range []*v1.Pod{victim, large, high} {
		if err := load.Pod(t.Context(), b.client, pod); err != nil {
			t.Fatal(err)
		}
	}
	seen := view{client: b.client, namespace: b.namespace}
	for _, want := range []struct {
		pod string
		state
	}{{"large", rejected}, {"high", nominated}, {"high", rejected}, {"victim", leaving}} {
		if err := seen.await(t.Context(), want.pod, want.state, "", patience); err != nil {
			t.Error(err)
		}
	}
	pod, err := b.client.CoreV1().Pods(b.namespace).Get(t.Context(), "victim", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if condition(pod, v1.DisruptionTarget).Status != v1.ConditionTrue {
		t.Errorf("the victim has no reason in its conditions: %+v", pod.Status.Conditions)
	}
	refused.Lock()
	t.Logf("refused: %v", refused.pods)
	for _, name := range []string{"large", "high", "victim"} {
		if n := refused.pods[name]; n == 0 || n > most {
			t.Errorf("the status of %s was refused %d times within %v, want 1 to %d", name, n, busy, most)
		}
	}
	refused.Unlock()
	if err := b.client.CoreV1().Pods(b.namespace).Delete(context.Background(), "victim", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	if err := seen.await(t.Context(), "high", bound, "", patience); err != nil {
		t.Error(err)
	}
}

// condition returns a condition of a pod, an empty one if it has none of the kind.
func condition(pod *v1.Pod, kind v1.PodConditionType) v1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return pod.Status.Conditions[i]
		}
	}
	return v1.PodCondition{}
}
