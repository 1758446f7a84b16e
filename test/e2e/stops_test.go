package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// namesWhatStops has a case for each way in which scheduling stops, or seems not to: what stops is named, and what is optional stops
// nothing. Tables in runtime/kube and cmd/app have all cases; "renamed" is the one for two names of a Lease.
func namesWhatStops(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"optional", goesOnWithout},
		{"refused", namesRefusedBindings},
		{"unwatched", namesUnwatchedNodes},
		{"handover", releasesSoon},
		{"cordoned", bindsNoOldDecisions},
		{"deleted", makesLeaseAgain},
	} {
		t.Run(test.name, test.run)
	}
}

// small returns a cluster of one node, or some, and what creates a pod there and waits until it is placed.
func small(t *testing.T, name string, nodes int) (b *bench, place func(pod string)) {
	b = newBench(t, "stops-"+name, nodes, workload.Capacity{CPU: 64, Memory: 256, Pods: 1000})
	return b, func(pod string) {
		t.Helper()
		if err := load.Pod(t.Context(), b.client, workload.Pod(b.namespace, pod, 10, 10)); err != nil {
			t.Fatal(err)
		}
		if err := (view{client: b.client, namespace: b.namespace}).await(t.Context(), pod, bound, "", patience); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitMetric waits until the metrics of a scheduler have a line.
func awaitMetric(t *testing.T, s server, holds func(metrics string) bool) {
	t.Helper()
	awaitThat(t, "the metrics say it", func() bool {
		code, text := s.get(t, "/metrics", cluster.Admin)
		return code == http.StatusOK && holds(text)
	})
}

func has(line string) func(string) bool {
	return func(metrics string) bool { return strings.Contains(metrics, line) }
}

// goesOnWithout runs Berth with optional parts whose paths cannot be used, and a plugin folder that is missing, which holds the pods until
// it is there.
func goesOnWithout(t *testing.T) {
	b, place := small(t, "optional", 1)
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "plugins")
	if err := os.WriteFile(file, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, process := b.serving(cluster.Scheduler{Flags: []string{
		"--record=" + file, "--module-cache=" + file, "--debug-socket=" + filepath.Join(dir, "none", "s"), "--plugin-dir=" + folder,
	}})
	for _, part := range []string{"recording", "module-cache", "debug-socket"} {
		awaitMetric(t, s, has(fmt.Sprintf("berth_part_failing{part=%q} 1", part)))
	}
	awaitThat(t, "the log says that pods wait", func() bool {
		return strings.Contains(process.Log(), "the plugin folder cannot be read, so that all pods wait")
	})
	held := workload.Pod(b.namespace, "held", 10, 10)
	if err := load.Pod(t.Context(), b.client, held); err != nil {
		t.Fatal(err)
	}
	awaitMetric(t, s, has(`scheduler_pending_pods{queue="gated"} 1`))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	place("free")
	if err := (view{client: b.client, namespace: b.namespace}).await(t.Context(), held.Name, bound, "", patience); err != nil {
		t.Error(err)
	}
}

// serving runs a scheduler that serves its metrics.
func (b *bench) serving(s cluster.Scheduler) (server, *cluster.Process) {
	b.Helper()
	port, err := cluster.FreePort()
	if err != nil {
		b.Fatal(err)
	}
	s.Port = port
	return serverAt(port), run(b.T, b.Cluster, s)
}

// refuse answers a request as an API server without a permission does.
func refuse(w http.ResponseWriter, resource string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil).Status()) // the caller sees what is missing
}

// namesRefusedBindings refuses bindings: one line of the log says so at the beginning and one at the end, and the metrics meanwhile.
func namesRefusedBindings(t *testing.T) {
	b, place := small(t, "refused", 1)
	var refused atomic.Bool
	gateway := b.gateway(cluster.GatewayConfig{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/binding") || !refused.Load() {
			return false
		}
		refuse(w, "pods/binding")
		return true
	}})
	s, process := b.serving(cluster.Scheduler{Server: gateway.URL()})
	place("before")
	refused.Store(true)
	if err := load.Pod(t.Context(), b.client, workload.Pod(b.namespace, "late", 10, 10)); err != nil {
		t.Fatal(err)
	}
	const begins, ends = "writes to the API server fail; retrying", "writes to the API server no longer fail"
	awaitThat(t, "the log names the writes", func() bool { return strings.Contains(process.Log(), begins) })
	awaitMetric(t, s, has(`berth_write_failing_objects{code="403",kind="pods/binding",verb="create"} 1`))
	refused.Store(false)
	place("after")
	awaitThat(t, "the log says that it is over", func() bool { return strings.Contains(process.Log(), ends) })
	if log := process.Log(); strings.Count(log, begins) != 1 || strings.Count(log, ends) != 1 || !strings.Contains(log, "kind=pods/binding") {
		t.Errorf("the log is\n%s", process.Tail(30))
	}
}

// namesUnwatchedNodes grants to list nodes, and not to watch them: the replica is not ready after 30 seconds.
func namesUnwatchedNodes(t *testing.T) {
	b, place := small(t, "unwatched", 1)
	var granted atomic.Bool
	gateway := b.gateway(cluster.GatewayConfig{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/nodes" || r.URL.Query().Get("watch") == "" || granted.Load() {
			return false
		}
		refuse(w, "nodes")
		return true
	}})
	s, _ := b.serving(cluster.Scheduler{Server: gateway.URL()})
	place("first") // on nodes that were listed
	awaitThat(t, "the replica is not ready", func() bool {
		code, text := s.get(t, "/readyz/watches", cluster.Admin)
		return code == http.StatusInternalServerError && strings.Contains(text, "nodes: not watched for")
	})
	granted.Store(true)
	awaitMetric(t, s, has(`berth_watch_failing_seconds{resource="nodes"} 0`))
	awaitThat(t, "the replica is ready", func() bool {
		code, _ := s.get(t, "/readyz", cluster.Admin)
		return code == http.StatusOK
	})
}

// releasesSoon stops a leader under load. The Lease is free soon after its last binding.
func releasesSoon(t *testing.T) {
	const soon = 3 * time.Second // a second, and what a busy machine takes; it was 12 to 14 s, and kube-scheduler takes 2 to 3
	b, _ := small(t, "handover", 20)
	var last atomic.Pointer[time.Time]
	gateway := b.gateway(cluster.GatewayConfig{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/binding") {
			now := time.Now()
			last.Store(&now)
		}
		return false
	}})
	first := run(t, b.Cluster, cluster.Scheduler{Server: gateway.URL(), LeaderElection: true, User: cluster.Berth,
		Flags: []string{"--kube-api-qps=60", "--kube-api-burst=60", "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s"}})
	b.create(1000, func(i int) *v1.Pod { return workload.Pod(b.namespace, fmt.Sprintf("p-%04d", i), 10, 10) })
	b.reach(200)
	if err := first.Stop(30 * time.Second); err != nil {
		t.Error(err)
	}
	lease, err := b.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), "berth", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("%s holds the Lease", *holder)
	}
	if late := lease.Spec.RenewTime.Sub(*last.Load()); late > soon {
		t.Errorf("the Lease was released %v after the last binding", late)
	}
	run(t, b.Cluster, cluster.Scheduler{LeaderElection: true, User: cluster.Berth})
	b.complete()
	b.drain()
}

// bindsNoOldDecisions cordons a node while pods wait for the limit of requests. Soon after, no pod goes there.
func bindsNoOldDecisions(t *testing.T) {
	b, _ := small(t, "cordoned", 2)
	run(t, b.Cluster, cluster.Scheduler{Flags: []string{"--kube-api-qps=20", "--kube-api-burst=20"}})
	b.create(300, func(i int) *v1.Pod { return workload.Pod(b.namespace, fmt.Sprintf("p-%04d", i), 10, 10) })
	b.reach(40)
	node := workload.NodeName(0)
	if _, err := b.client.CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":true}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	there := func() int { return b.count(func(pod *v1.Pod) bool { return pod.Spec.NodeName == node }) }
	time.Sleep(2 * time.Second) // an older decision is not bound any more
	before, of := there(), b.placed()
	if of >= 270 {
		t.Fatalf("%d pods are placed already, so nothing is shown", of)
	}
	b.complete()
	b.drain()
	if after := there(); after != before {
		t.Errorf("%d pods were bound to the node more than 2 s after it was cordoned", after-before)
	}
}

// makesLeaseAgain deletes the Lease of a leader, as operators do to force an election. The leader makes it again, and goes on.
func makesLeaseAgain(t *testing.T) {
	b, place := small(t, "deleted", 1)
	ended := b.supervise(cluster.Scheduler{LeaderElection: true, User: cluster.Berth,
		Flags: []string{"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s"}}) // so that it is not lost to a busy machine
	place("first")
	leases := b.client.CoordinationV1().Leases(metav1.NamespaceSystem)
	for _, name := range []string{"berth", "berth-profile-default-scheduler"} {
		if err := leases.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitThat(t, "the Lease is made again, and held", func() bool {
			lease, err := leases.Get(context.Background(), name, metav1.GetOptions{})
			return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
		})
		place("after-" + name)
	}
	if n := ended(); n != 0 {
		t.Errorf("%d replicas ended", n)
	}
}
