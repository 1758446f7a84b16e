package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/test/internal/accept"
	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// drained is the maximum time until all pods are placed after the last disturbance.
const drained = 2 * time.Minute

// bench is a cluster with nodes, in which pods are created as fast as the API server accepts
// them.
type bench struct {
	*testing.T
	*cluster.Cluster
	client    kubernetes.Interface
	namespace string
	since     int64
	created   chan error    // receives one value when all are created
	rest      chan struct{} // closed when the rest is to be created; nil if there is no rest
	// doubtful notes that a scheduler may overcommit a node, and why that cannot be prevented.
	// Even so, no pod may be bound twice.
	doubtful string
	// roomy notes that the pods leave room on the nodes, which finish fills.
	roomy bool
	// decided returns the number of the decision to place a pod; nil if the scheduler does not
	// report it.
	decided func(*v1.Pod) (uint64, error)
	// recordings is the folder of what schedulers record; empty if none does.
	recordings string
}

// newBench returns an empty cluster with nodes of a capacity.
func newBench(t *testing.T, name string, nodes int, capacity workload.Capacity) *bench {
	t.Helper()
	return benchOn(t, start(t), name, nodes, capacity)
}

// benchOn is newBench on another cluster than the shared one.
func benchOn(t *testing.T, c *cluster.Cluster, name string, nodes int, capacity workload.Capacity) *bench {
	t.Helper()
	client, err := c.Client(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, Cluster: c, client: client, namespace: name}
	if b.since, err = c.Revision(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if err := load.Nodes(t.Context(), client, 0, nodes, capacity, false); err != nil {
		t.Fatal(err)
	}
	return b
}

// run starts a scheduler. Berth has the permissions of deploy/; in scripts it has
// kube-scheduler's, as when it replaces it.
func (b *bench) run(s cluster.Scheduler) *cluster.Process {
	b.Helper()
	return run(b.T, b.Cluster, b.deployed(s))
}

// supervise restarts a scheduler whenever it exits.
func (b *bench) supervise(s cluster.Scheduler) (ended func() int64) {
	b.Helper()
	return supervise(b.T, b.Cluster, b.deployed(s))
}

func (b *bench) deployed(s cluster.Scheduler) cluster.Scheduler {
	if program() == cluster.BerthProgram {
		s.User = cluster.Berth
		s = b.recorded(s)
	}
	return s
}

// create starts to create n pods. The last tenth is held back until complete is called, so that
// a disturbance always finds pods that are not placed.
func (b *bench) create(n int, pod func(i int) *v1.Pod) {
	created, rest := make(chan error, 1), make(chan struct{})
	b.created, b.rest = created, rest
	go func() {
		defer close(created)
		created <- load.Each(b.Context(), n, func(ctx context.Context, i int) error {
			if i >= n-n/10 {
				select {
				case <-rest:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return load.Pod(ctx, b.client, pod(i))
		})
	}()
}

// complete waits until all pods are created.
func (b *bench) complete() {
	b.Helper()
	if b.rest != nil {
		close(b.rest)
		b.rest = nil
	}
	if err := <-b.created; err != nil {
		b.Fatal(err)
	}
}

// finish waits until all pods are created and placed, and checks the result.
func (b *bench) finish() {
	b.Helper()
	b.complete()
	b.drain()
	if b.roomy {
		b.fill()
	}
	began := time.Now()
	b.sound()
	played := time.Now()
	if b.doubtful != "" {
		b.Logf("not checked for exceeded capacity: %s", b.doubtful)
		return
	}
	accepted(b.T, b.Cluster, b.since, b.decided)
	b.Logf("checked in %v and %v", played.Sub(began).Round(time.Millisecond), time.Since(played).Round(time.Millisecond))
}

// drain waits until all pods are placed.
func (b *bench) drain() {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), drained)
	defer cancel()
	if err := load.AwaitPlaced(ctx, b.client, b.namespace); err != nil {
		b.Error(err)
	}
}

// fill creates as many pods as the nodes have room for, large ones before small ones. If the
// scheduler wrongly considers capacity to be in use, for example after a failed binding, one
// pod does not fit.
func (b *bench) fill() {
	b.Helper()
	for _, milliCPU := range []int64{500, 100} {
		room, scheduler := b.room(milliCPU)
		b.create(room, func(i int) *v1.Pod {
			pod := workload.Pod(b.namespace, fmt.Sprintf("filler-%d-%05d", milliCPU, i), milliCPU, 250)
			pod.Spec.SchedulerName = scheduler
			pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
			return pod
		})
		b.complete()
		b.drain()
		b.Logf("%d pods of %dm more fill the nodes", room, milliCPU)
	}
}

// room returns how many pods of a size fit on the nodes, given the pods that the scheduler has
// placed.
func (b *bench) room(milliCPU int64) (pods int, scheduler string) {
	b.Helper()
	nodes, err := b.client.CoreV1().Nodes().List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	placed, err := b.client.CoreV1().Pods(b.namespace).List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	used, count := make(map[string]int64), make(map[string]int64)
	for i := range placed.Items {
		spec := &placed.Items[i].Spec
		used[spec.NodeName] += spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		count[spec.NodeName]++
		scheduler = spec.SchedulerName
	}
	for i := range nodes.Items {
		has := nodes.Items[i].Status.Allocatable
		name := nodes.Items[i].Name
		pods += int(min((has.Cpu().MilliValue()-used[name])/milliCPU, has.Pods().Value()-count[name]))
	}
	return pods, scheduler
}

// placed returns how many pods of the bench are bound.
func (b *bench) placed() int {
	return b.count(func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" })
}

// count returns the number of pods of a kind; 0 while the API server is unreachable.
func (b *bench) count(kind func(*v1.Pod) bool) int {
	list, err := b.client.CoreV1().Pods(b.namespace).List(b.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0
	}
	n := 0
	for i := range list.Items {
		if kind(&list.Items[i]) {
			n++
		}
	}
	return n
}

// reach waits until this many pods are bound.
func (b *bench) reach(n int) {
	b.Helper()
	end := time.Now().Add(drained)
	for b.placed() < n {
		if time.Now().After(end) {
			b.Fatalf("%d pods have a node after %v, want %d", b.placed(), drained, n)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// sound replays all writes: no pod may change its node, and no node may be overcommitted at any
// time.
func (b *bench) sound() {
	b.Helper()
	ledger := accept.NewLedger(accept.LedgerConfig{Overfull: b.doubtful != ""})
	err := b.History(b.Context(), b.since, func(change cluster.Change) error {
		return ledger.Write(change.Revision, change.Object, change.Deleted)
	})
	for _, problem := range ledger.Problems() {
		b.Error(problem)
	}
	if err != nil {
		b.Error(err)
	}
	b.Logf("%d bindings", ledger.Bindings())
}

// tight is a cluster in which every node is full when all pods are placed: 40 on each. If a pod
// is lost, or assumed and not forgotten, one is missing at the end.
func tight(nodes int) (pods int, capacity workload.Capacity) {
	return nodes * 40, workload.Capacity{CPU: 4, Memory: 16, Pods: 110}
}

// newMixedBench returns a cluster for pods of several kinds, in which some nodes are
// tainted, and how many pods there may be of 100m. The nodes of a zone that are not
// tainted, and those that the pods with node affinity want, have room for all: whatever
// the order, there is a place for a pod with a spread constraint.
func newMixedBench(t *testing.T, name string, nodes int) (*bench, int) {
	t.Helper()
	capacity := workload.Capacity{CPU: 10, Memory: 64, Pods: 110}
	b := newBench(t, name, nodes/2, capacity)
	b.roomy = true
	if err := load.Nodes(t.Context(), b.client, nodes/2, nodes, capacity, true); err != nil {
		t.Fatal(err)
	}
	return b, nodes * 26
}

// allKinds are all kinds of pods that need no others to go. Whether a spread constraint
// lets a pod onto a node depends on which pods were placed before, so that for these
// the order of the decisions has to be known (tell): one process has to live for as long
// as there are pods to place.
func allKinds() []workload.Workload { return workload.All()[:7] }

// anyOrder are the kinds of which each placement is right in every order, if the last
// state is: what they ask for only adds up (resources, anti-affinity), is a matter of
// the node alone (affinity to nodes, taints) or of scores (preferred affinity). They are
// for where several processes place pods, since one that was killed cannot be asked any
// more in which order it decided. Kinds with spread constraints are left out: the search
// for an order in which kube-scheduler accepts them may miss the one that there was.
func anyOrder() []workload.Workload {
	return slices.DeleteFunc(allKinds(), func(w workload.Workload) bool { return w.Name == "spread" || w.Name == "mixed" })
}

// mix makes pods of the kinds in turn.
func (b *bench) mix(kinds []workload.Workload) func(i int) *v1.Pod {
	return func(i int) *v1.Pod { return kinds[i%len(kinds)].Pod(b.namespace, i/len(kinds)) }
}

func (b *bench) pod(i int) *v1.Pod {
	return workload.Pod(b.namespace, fmt.Sprintf("pod-%05d", i), 100, 250)
}

// dice draws the moments of a test; its seed is in the log.
func dice(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
