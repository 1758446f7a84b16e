package e2e

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// TestKilled kills the scheduler again and again while it places thousands of pods: every pod
// is bound exactly once, and no node is overcommitted.
func TestKilled(t *testing.T) {
	t.Run("alike", func(t *testing.T) {
		pods, capacity := tight(75)
		b := newBench(t, "killed", 75, capacity)
		b.create(pods, b.pod)
		b.kill(8, pods, cluster.Scheduler{})
	})
	t.Run("mixed", func(t *testing.T) {
		b, pods := newMixedBench(t, "killed-mixed", 60)
		b.create(pods, b.mix(anyOrder()))
		b.kill(5, pods, cluster.Scheduler{})
	})
}

// kill runs a scheduler, kills it after a random number of pods has been placed, and repeats
// this. All pods are placed in the end, but not before the last kill.
func (b *bench) kill(times, pods int, s cluster.Scheduler) {
	b.Helper()
	random := dice(b.T)
	moments := make([]int, times)
	for i := range moments {
		moments[i] = random.IntN(pods * 5 / 6)
	}
	slices.Sort(moments)
	for _, moment := range moments {
		p := b.run(s)
		b.reach(moment)
		if err := p.Kill(); err != nil {
			b.Fatal(err)
		}
		placed := b.placed()
		b.Logf("killed with %d pods placed, for %d", placed, moment)
		if placed >= pods {
			b.Errorf("the kill came too late: nothing was in progress")
		}
	}
	b.run(s)
	b.finish()
}

// TestMixed places pods of all kinds, and checks each placement with kube-scheduler's filters,
// given the placements that were decided before.
func TestMixed(t *testing.T) {
	const nodes, each = 60, 200
	b := newBench(t, "mixed", nodes, workload.Large())
	if err := load.Nodes(t.Context(), b.client, nodes, 2*nodes, workload.Large(), true); err != nil {
		t.Fatal(err)
	}
	kinds := allKinds()
	b.run(b.tell(cluster.Scheduler{}))
	// A hundred groups with anti-affinity have two pods each.
	b.create(len(kinds)*each, b.mix(kinds))
	b.finish()
}

// patientElection keeps its leader during an outage of the API server as long as a busy machine
// needs to restart it. That one process places all pods, so that it can be asked for the order
// of its decisions.
const patientElection = `
leaderElection: {leaderElect: true, leaseDuration: 80s, renewDeadline: 60s, retryPeriod: 1s, resourceName: berth}
`

// TestAPIServerRestarts stops the API server while pods are created: once gracefully, once not.
// A leader that cannot renew its lease meanwhile exits, and is restarted.
func TestAPIServerRestarts(t *testing.T) {
	t.Run("lease lost", func(t *testing.T) {
		pods, capacity := tight(50)
		b := newBench(t, "restarts", 50, capacity)
		b.loseAnswers()
		ended := b.supervise(cluster.Scheduler{LeaderElection: true})
		b.create(pods, b.pod)
		b.restartAPIServer(pods, func() {
			time.Sleep(cluster.LeaseDuration + time.Second)
			awaitThat(t, "a leader has lost its lease", func() bool { return ended() > 0 })
		})
	})
	t.Run("lease kept", func(t *testing.T) {
		b, pods := newMixedBench(t, "restarts-mixed", 50)
		b.loseAnswers()
		p := b.run(b.tell(cluster.Scheduler{Config: b.elected(patientElection)}))
		b.create(pods, b.mix(allKinds()))
		b.restartAPIServer(pods, func() { time.Sleep(2 * time.Second) })
		if !p.Running() {
			t.Error("the leader exited")
		}
	})
}

// restartAPIServer stops the API server twice, the second time until a condition holds.
func (b *bench) restartAPIServer(pods int, pass func()) {
	b.Helper()
	b.reach(pods / 5)
	if err := b.StopAPIServer(3 * time.Second); err != nil {
		b.Fatal(err)
	}
	b.startAPIServer()
	b.reach(pods / 2)
	if err := b.APIServer().Kill(); err != nil {
		b.Fatal(err)
	}
	pass()
	b.startAPIServer()
	b.finish()
}

// elected returns a configuration for the scheduler under test: kube-scheduler has no
// permission for Berth's lease.
func (b *bench) elected(config string) string {
	if program() == cluster.UpstreamProgram {
		return strings.ReplaceAll(config, "resourceName: berth", "resourceName: kube-scheduler")
	}
	return config
}

// loseAnswers notes that answers to bindings get lost. kube-scheduler takes such a binding for
// failed and assigns the capacity to another pod.
func (b *bench) loseAnswers() {
	if program() == cluster.UpstreamProgram {
		b.doubtful = "kube-scheduler gives away a place of which it cannot know whether it was taken"
	}
}

func (b *bench) startAPIServer(flags ...string) {
	b.Helper()
	if err := b.StartAPIServer(b.Context(), flags...); err != nil {
		b.Fatal(err)
	}
}

// TestSlowAPIServer adds a delay of 100 ms between the scheduler and the API server, in each
// direction. Bindings do not wait for each other, or this would take minutes.
func TestSlowAPIServer(t *testing.T) {
	pods, capacity := tight(25)
	b := newBench(t, "slow", 25, capacity)
	proxy := b.proxy()
	proxy.Delay(100 * time.Millisecond)
	b.run(cluster.Scheduler{Server: proxy.URL()})
	b.create(pods, b.pod)
	b.finish()
}

// TestNetworkCut breaks all connections of the scheduler, and keeps it disconnected for a
// while: for longer than its lease, so that it exits and is restarted, or for less than the
// lease duration of deploy/.
func TestNetworkCut(t *testing.T) {
	t.Run("lease lost", func(t *testing.T) {
		pods, capacity := tight(40)
		b := newBench(t, "cut", 40, capacity)
		b.loseAnswers()
		proxy := b.proxy()
		ended := b.supervise(cluster.Scheduler{Server: proxy.URL(), LeaderElection: true})
		b.create(pods, b.pod)
		b.cut(proxy, pods, func() { awaitThat(t, "the leader exited", func() bool { return ended() > 0 }) })
	})
	t.Run("lease kept", func(t *testing.T) {
		b, pods := newMixedBench(t, "cut-mixed", 40)
		b.loseAnswers()
		proxy := b.proxy()
		p := b.run(b.tell(cluster.Scheduler{Server: proxy.URL(), Config: b.elected(b.shipped())}))
		mixed := b.mix(allKinds())
		b.create(pods, func(i int) *v1.Pod {
			pod := mixed(i)
			pod.Spec.SchedulerName = "berth" // as in deploy/
			return pod
		})
		b.cut(proxy, pods, func() { time.Sleep(cluster.LeaseDuration + time.Second) })
		if !p.Running() {
			t.Error("the leader exited")
		}
	})
}

// cut cuts the network twice, the first time until a condition holds.
func (b *bench) cut(proxy *cluster.Proxy, pods int, pass func()) {
	b.Helper()
	b.reach(pods / 4)
	proxy.Cut()
	b.Logf("cut with %d pods placed, for %d", b.placed(), pods/4)
	pass()
	proxy.Mend()
	b.reach(pods / 2)
	proxy.Cut()
	proxy.Mend()
	b.finish()
}

// shipped is Berth's configuration in deploy/.
func (b *bench) shipped() string {
	b.Helper()
	configs, err := b.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, config := range configs.Items {
		// A hash of the file follows. Variants may have been installed as well.
		if strings.HasPrefix(config.Name, "berth-config-") && strings.Contains(config.Data["scheduler.yaml"], "schedulerName: berth") {
			return config.Data["scheduler.yaml"]
		}
	}
	b.Fatal("deploy/ has no ConfigMap berth-config with a profile called berth")
	return ""
}

func (b *bench) proxy() *cluster.Proxy {
	b.Helper()
	p, err := b.NewProxy()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.Close(); err != nil {
			b.Error(err)
		}
	})
	return p
}

// TestWatchExpired changes the cluster while the scheduler is paused, and makes the API server
// drop its watch history: the scheduler has to list everything again, and sees in one step that
// nodes and pods are gone.
func TestWatchExpired(t *testing.T) {
	const nodes = 20
	pods, capacity := tight(nodes)
	b := newBench(t, "expired", nodes, capacity)
	var expired atomic.Int64 // watches
	gateway := b.gateway(cluster.GatewayConfig{Passed: func(r *http.Response) {
		if r.Request.URL.Query().Get("watch") != "" {
			r.Body = &seeking{ReadCloser: r.Body, text: "too old resource version", found: &expired}
		}
	}})
	p := b.run(cluster.Scheduler{Server: gateway.URL()})
	b.create(pods/2, b.pod)
	b.complete()
	b.reach(pods / 2)

	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	var zero int64
	for i := range nodes / 4 { // their pods are deleted with them, as a node controller would do
		name := workload.NodeName(i)
		list, err := b.client.CoreV1().Pods(b.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.client.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, pod := range list.Items {
			if err := b.client.CoreV1().Pods(b.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := load.Nodes(t.Context(), b.client, nodes, nodes+nodes/4, capacity, false); err != nil {
		t.Fatal(err)
	}
	if err := b.APIServer().Kill(); err != nil {
		t.Fatal(err)
	}
	b.startAPIServer()
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	// Nodes and pods are listed separately. A pod that wants a new node is placed only when the
	// scheduler has listed the nodes.
	canary := b.pod(pods)
	canary.Spec.NodeSelector = map[string]string{v1.LabelHostname: workload.NodeName(nodes)}
	if err := load.Pod(t.Context(), b.client, canary); err != nil {
		t.Fatal(err)
	}
	if err := (view{client: b.client, namespace: b.namespace}).await(t.Context(), canary.Name, bound, "", patience); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d watches have expired", expired.Load())
	if expired.Load() < 2 {
		t.Error("the watches of nodes and pods have not expired")
	}
	// As many as fit.
	b.create(pods-b.placed(), func(i int) *v1.Pod { return b.pod(pods + 1 + i) })
	b.finish()
}

// seeking counts the occurrences of a text in what is read. A watch that breaks off just ends,
// so that the client resumes where it was, as when its own connection breaks; an error in the
// stream would make it list everything again.
type seeking struct {
	io.ReadCloser
	text  string
	found *atomic.Int64
	last  []byte // of what was read, shorter than the text
}

// Read implements io.Reader.
func (s *seeking) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	read := append(s.last, p[:n]...)
	s.found.Add(int64(bytes.Count(read, []byte(s.text))))
	s.last = bytes.Clone(read[max(0, len(read)-len(s.text)+1):])
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (b *bench) gateway(config cluster.GatewayConfig) *cluster.Gateway {
	b.Helper()
	g, err := b.NewGateway(config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := g.Close(); err != nil {
			b.Error(err)
		}
	})
	return g
}

// TestThrottled uses an API server that rejects requests with 429.
func TestThrottled(t *testing.T) {
	pods, capacity := tight(10)
	b := newBench(t, "throttled", 10, capacity)
	restart := func(flags ...string) {
		if err := b.StopAPIServer(3 * time.Second); err != nil {
			t.Fatal(err)
		}
		b.startAPIServer(flags...)
	}
	restart("--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=2")
	t.Cleanup(func() {
		// The test's context is over.
		if err := b.StopAPIServer(3 * time.Second); err != nil {
			t.Error(err)
		}
		if err := b.StartAPIServer(context.Background()); err != nil {
			t.Error(err)
		}
	})
	b.run(cluster.Scheduler{})
	b.create(pods, b.pod)
	b.finish()
}

// TestChurn deletes pods, bound or not, and creates others with the same names and another size
// at once.
func TestChurn(t *testing.T) {
	const nodes, names, times = 20, 200, 6
	b := newBench(t, "churn", nodes, workload.Capacity{CPU: 4, Memory: 16, Pods: 110})
	b.run(cluster.Scheduler{})
	var zero int64
	b.create(names, b.pod)
	random := dice(t)
	for range times {
		time.Sleep(time.Duration(random.Int64N(int64(500 * time.Millisecond))))
		if err := load.Each(t.Context(), names, func(ctx context.Context, i int) error {
			err := b.client.CoreV1().Pods(b.namespace).Delete(ctx, b.pod(i).Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			again := workload.Pod(b.namespace, b.pod(i).Name, int64(100+i%4*100), 250)
			return load.Pod(ctx, b.client, again)
		}); err != nil {
			t.Fatal(err)
		}
	}
	b.finish()
}
