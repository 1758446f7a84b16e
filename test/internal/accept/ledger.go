package accept

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ledger replays writes and adds up what is on each node, in the order of the writes: no pod
// may change its node, and no node may be overcommitted at any time. Pods have one container.
// It must not be used concurrently.
type Ledger struct {
	config         LedgerConfig
	capacity, used map[string]v1.ResourceList // by node
	pods           map[types.UID]*v1.Pod
	bindings       int
	problems       []string
}

// LedgerConfig configures a Ledger.
type LedgerConfig struct {
	// Overfull allows overcommitted nodes.
	Overfull bool
}

// mostProblems is the maximum number of problems that are collected.
const mostProblems = 20

// NewLedger returns the ledger of an empty cluster.
func NewLedger(config LedgerConfig) *Ledger {
	return &Ledger{config: config, capacity: make(map[string]v1.ResourceList), used: make(map[string]v1.ResourceList), pods: make(map[types.UID]*v1.Pod)}
}

// Write replays one write. It fails when there are more than mostProblems problems.
func (l *Ledger) Write(revision int64, object metav1.Object, deleted bool) error {
	switch object := object.(type) {
	case *v1.Node:
		if deleted {
			delete(l.capacity, object.Name)
		} else {
			l.capacity[object.Name] = object.Status.Allocatable
		}
	case *v1.Pod:
		l.pod(revision, withoutDevices(object), deleted)
	}
	if len(l.problems) > mostProblems {
		return errors.New("and maybe more")
	}
	return nil
}

// Problems returns the problems found.
func (l *Ledger) Problems() []string { return l.problems }

// Bindings returns the number of pods that were bound.
func (l *Ledger) Bindings() int { return l.bindings }

func (l *Ledger) pod(revision int64, pod *v1.Pod, deleted bool) {
	old := l.pods[pod.UID]
	before, after := "", pod.Spec.NodeName
	if old != nil {
		before = old.Spec.NodeName
	}
	if before != "" && before != after {
		l.problem("pod %s was bound to %s, and at revision %d to %q", pod.Name, before, revision, after)
	}
	if deleted {
		delete(l.pods, pod.UID)
		if before != "" {
			l.add(before, pod, -1)
		}
		return
	}
	l.pods[pod.UID] = pod
	if before != "" || after == "" {
		return
	}
	l.bindings++
	l.add(after, pod, 1)
	capacity, ok := l.capacity[after]
	if !ok {
		l.problem("pod %s was bound at revision %d to node %s, which does not exist", pod.Name, revision, after)
	}
	for name, used := range l.used[after] {
		if limit := capacity[name]; ok && !l.config.Overfull && used.Cmp(limit) > 0 {
			l.problem("node %s is given %s of %s by pod %s at revision %d, but has %s", after, used.String(), name, pod.Name, revision, limit.String())
		}
	}
}

// add counts the requests of a pod.
func (l *Ledger) add(node string, pod *v1.Pod, sign int) {
	used := l.used[node]
	if used == nil {
		used = v1.ResourceList{}
		l.used[node] = used
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

func (l *Ledger) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}
