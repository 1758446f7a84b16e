package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// drained is how long all pods may take to be placed after the last disturbance.
const drained = 2 * time.Minute

// bench is a cluster with nodes, in which pods are created as fast as the API
// server takes them.
type bench struct {
	*testing.T
	*cluster.Cluster
	client    kubernetes.Interface
	namespace string
	since     int64
	created   chan error // one value, when all are created
	// doubtful says that a scheduler may put more on a node than it holds, and why
	// nobody can help it. No pod may be bound twice all the same.
	doubtful string
	// decided returns the number of the decision to place a pod; nil if the scheduler
	// does not tell.
	decided func(*v1.Pod) (uint64, error)
}

// newBench returns an empty cluster with nodes of a capacity.
func newBench(t *testing.T, name string, nodes int, capacity workload.Capacity) *bench {
	t.Helper()
	c := start(t)
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

// run starts a scheduler. Berth has the rights that deploy/ gives it; in scripts it
// has kube-scheduler's, as when it takes over from there.
func (b *bench) run(s cluster.Scheduler) *cluster.Process {
	b.Helper()
	if program() == cluster.BerthProgram {
		s.User = cluster.Berth
	}
	return run(b.T, b.Cluster, s)
}

// create begins to create n pods.
func (b *bench) create(n int, pod func(i int) *v1.Pod) {
	b.created = make(chan error, 1)
	go func() {
		b.created <- load.Each(b.Context(), n, func(ctx context.Context, i int) error { return load.Pod(ctx, b.client, pod(i)) })
	}()
}

// finish waits until all pods are created and placed, and looks at how that went.
func (b *bench) finish() {
	b.Helper()
	if err := <-b.created; err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), drained)
	defer cancel()
	if err := load.AwaitPlaced(ctx, b.client, b.namespace); err != nil {
		b.Error(err)
	}
	began := time.Now()
	b.sound()
	played := time.Now()
	if b.doubtful != "" {
		b.Logf("not asked whether nodes hold more than they can: %s", b.doubtful)
		return
	}
	accepted(b.T, b.Cluster, b.since, b.decided)
	b.Logf("checked in %v and %v", played.Sub(began).Round(time.Millisecond), time.Since(played).Round(time.Millisecond))
}

// placed returns how many pods of the bench have a node.
func (b *bench) placed() int {
	list, err := b.client.CoreV1().Pods(b.namespace).List(b.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0
	}
	n := 0
	for i := range list.Items {
		if list.Items[i].Spec.NodeName != "" {
			n++
		}
	}
	return n
}

// reach waits until so many pods have a node.
func (b *bench) reach(n int) {
	b.Helper()
	end := time.Now().Add(drained)
	for b.placed() < n {
		if time.Now().After(end) {
			b.Fatalf("%d pods have a node after %v, want %d", b.placed(), drained, n)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// sound plays back all writes: no pod may change its node, and no node may have
// more on it than it can hold, ever.
func (b *bench) sound() {
	b.Helper()
	s := soundness{doubtful: b.doubtful != "", capacity: make(map[string]v1.ResourceList), used: make(map[string]v1.ResourceList), pods: make(map[string]*v1.Pod)}
	err := b.History(b.Context(), b.since, s.write)
	for _, problem := range s.problems {
		b.Error(problem)
	}
	if err != nil {
		b.Error(err)
	}
	b.Logf("%d bindings in %v", s.bindings, s.last.Sub(s.first).Round(time.Millisecond))
}

type soundness struct {
	doubtful       bool                       // whether nodes may hold too much
	capacity, used map[string]v1.ResourceList // by node
	pods           map[string]*v1.Pod         // by UID
	bindings       int
	first, last    time.Time // of bindings, to the second
	problems       []string
}

func (s *soundness) write(change cluster.Change) error {
	switch object := change.Object.(type) {
	case *v1.Node:
		if change.Deleted {
			delete(s.capacity, object.Name)
		} else {
			s.capacity[object.Name] = object.Status.Allocatable
		}
	case *v1.Pod:
		s.pod(change, object)
	}
	if len(s.problems) > 20 {
		return errors.New("and maybe more")
	}
	return nil
}

func (s *soundness) pod(change cluster.Change, pod *v1.Pod) {
	old := s.pods[string(pod.UID)]
	before, after := "", pod.Spec.NodeName
	if old != nil {
		before = old.Spec.NodeName
	}
	if before != "" && before != after {
		s.problem("pod %s was bound to %s, and at revision %d to %q", pod.Name, before, change.Revision, after)
	}
	if change.Deleted {
		delete(s.pods, string(pod.UID))
		if before != "" {
			s.add(before, pod, -1)
		}
		return
	}
	s.pods[string(pod.UID)] = pod
	if before != "" || after == "" {
		return
	}
	s.bindings++
	if i := scheduledCondition(pod); i != nil {
		if s.last = i.LastTransitionTime.Time; s.first.IsZero() {
			s.first = s.last
		}
	}
	s.add(after, pod, 1)
	capacity, ok := s.capacity[after]
	if !ok {
		s.problem("pod %s was bound at revision %d to node %s, which there is not", pod.Name, change.Revision, after)
	}
	for name, used := range s.used[after] {
		if limit := capacity[name]; ok && !s.doubtful && used.Cmp(limit) > 0 {
			s.problem("node %s is given %s of %s by pod %s at revision %d, but has %s", after, used.String(), name, pod.Name, change.Revision, limit.String())
		}
	}
}

func scheduledCondition(pod *v1.Pod) *v1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == v1.PodScheduled {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// add counts the requests of a pod of one container.
func (s *soundness) add(node string, pod *v1.Pod, sign int) {
	used := s.used[node]
	if used == nil {
		used = v1.ResourceList{}
		s.used[node] = used
	}
	change := func(name v1.ResourceName, q resource.Quantity) {
		sum := used[name]
		if sign > 0 {
			sum.Add(q)
		} else {
			sum.Sub(q)
		}
		used[name] = sum
	}
	for name, q := range pod.Spec.Containers[0].Resources.Requests {
		change(name, q)
	}
	change(v1.ResourcePods, resource.MustParse("1"))
}

func (s *soundness) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// tight is a cluster whose nodes are full, every one, when all pods are placed: 40
// on each. What is lost on the way, or assumed and forgotten, is missing at the
// end.
func tight(nodes int) (pods int, capacity workload.Capacity) {
	return nodes * 40, workload.Capacity{CPU: 4, Memory: 16, Pods: 110}
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
