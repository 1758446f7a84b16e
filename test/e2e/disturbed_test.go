package e2e

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// TestKilled kills the scheduler again and again while it places thousands of
// pods: every pod is bound exactly once, and no node holds more than it can.
func TestKilled(t *testing.T) {
	pods, capacity := tight(75)
	b := newBench(t, "killed", 75, capacity)
	random := dice(t)
	b.create(pods, b.pod)
	for range 8 {
		p := b.run(cluster.Scheduler{})
		time.Sleep(700*time.Millisecond + time.Duration(random.Int64N(int64(1500*time.Millisecond))))
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed with %d pods placed", b.placed())
	}
	b.run(cluster.Scheduler{})
	b.finish()
}

// TestMixed places pods of all kinds, and has kube-scheduler's filters judge each
// placement, on top of those that were decided before.
func TestMixed(t *testing.T) {
	const nodes, each = 60, 200
	b := newBench(t, "mixed", nodes, workload.Large())
	if err := load.Nodes(t.Context(), b.client, nodes, 2*nodes, workload.Large(), true); err != nil {
		t.Fatal(err)
	}
	kinds := workload.All()[:7]
	b.run(b.tell(cluster.Scheduler{}))
	b.create(len(kinds)*each, func(i int) *v1.Pod {
		// A hundred groups that keep away from each other have two pods each.
		return kinds[i%len(kinds)].Pod(b.namespace, i/len(kinds))
	})
	b.finish()
}

// TestAPIServerRestarts ends the API server while pods stream in: once it may
// finish what it does, once not.
func TestAPIServerRestarts(t *testing.T) {
	pods, capacity := tight(50)
	b := newBench(t, "restarts", 50, capacity)
	b.loseAnswers()
	b.run(cluster.Scheduler{})
	b.create(pods, b.pod)
	b.reach(pods / 5)
	if err := b.StopAPIServer(3 * time.Second); err != nil {
		t.Fatal(err)
	}
	b.startAPIServer()
	b.reach(pods / 2)
	if err := b.APIServer().Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	b.startAPIServer()
	b.finish()
}

// loseAnswers says that answers to bindings get lost. kube-scheduler takes such a
// binding for failed and gives the place to another pod.
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

// TestSlowAPIServer puts 100 ms between the scheduler and the API server, in each
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

// TestNetworkCut breaks all connections of the scheduler, and keeps it away for a
// while.
func TestNetworkCut(t *testing.T) {
	pods, capacity := tight(40)
	b := newBench(t, "cut", 40, capacity)
	b.loseAnswers()
	proxy := b.proxy()
	b.run(cluster.Scheduler{Server: proxy.URL()})
	b.create(pods, b.pod)
	b.reach(pods / 4)
	proxy.Cut()
	time.Sleep(5 * time.Second)
	proxy.Mend()
	b.reach(pods / 2)
	proxy.Cut()
	proxy.Mend()
	b.finish()
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

// TestWatchExpired lets the cluster change while the scheduler stands still, and
// makes the API server forget what it could have told: the scheduler has to list
// everything again, and sees in one step that nodes and pods have gone.
func TestWatchExpired(t *testing.T) {
	const nodes = 20
	pods, capacity := tight(nodes)
	b := newBench(t, "expired", nodes, capacity)
	p := b.run(cluster.Scheduler{})
	b.create(pods/2, b.pod)
	if err := <-b.created; err != nil {
		t.Fatal(err)
	}
	b.reach(pods / 2)

	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	var zero int64
	for i := range nodes / 4 { // their pods go with them, as a node controller would see to
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
	// Nodes and pods are listed apart from each other. A pod that wants a new node has
	// one when the scheduler knows which nodes there are.
	canary := b.pod(pods)
	canary.Spec.NodeSelector = map[string]string{v1.LabelHostname: workload.NodeName(nodes)}
	if err := load.Pod(t.Context(), b.client, canary); err != nil {
		t.Fatal(err)
	}
	if err := (view{client: b.client, namespace: b.namespace}).await(t.Context(), canary.Name, bound, "", patience); err != nil {
		t.Fatal(err)
	}
	// As many as there is room for.
	b.create(pods-b.placed(), func(i int) *v1.Pod { return b.pod(pods + 1 + i) })
	b.finish()
}

// TestThrottled has an API server that turns requests away.
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

// TestChurn deletes pods, bound or not, and creates others of the same names and
// another size at once.
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
