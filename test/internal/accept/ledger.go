package accept

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ledger plays back writes and adds up what is on each node, in the order in which it
// was written: no pod may change its node, and no node may have more on it than it can
// hold, ever. Pods are of one container. Not safe for concurrent use.
type Ledger struct {
	config         LedgerConfig
	capacity, used map[string]v1.ResourceList // by node
	pods           map[types.UID]*v1.Pod
	bindings       int
	problems       []string
}

// LedgerConfig of a Ledger.
type LedgerConfig struct {
	// Overfull says that nodes may have more on them than they can hold.
	Overfull bool
}

// mostProblems is how many are worth reading.
const mostProblems = 20

// NewLedger returns the ledger of an empty cluster.
func NewLedger(config LedgerConfig) *Ledger {
	return &Ledger{config: config, capacity: make(map[string]v1.ResourceList), used: make(map[string]v1.ResourceList), pods: make(map[types.UID]*v1.Pod)}
}

// Write plays back one write. It fails when there are more problems than anybody reads.
func (l *Ledger) Write(revision int64, object metav1.Object, deleted bool) error {
	switch object := object.(type) {
	case *v1.Node:
		if deleted {
			delete(l.capacity, object.Name)
		} else {
			l.capacity[object.Name] = object.Status.Allocatable
		}
	case *v1.Pod:
		l.pod(revision, object, deleted)
	}
	if len(l.problems) > mostProblems {
		return errors.New("and maybe more")
	}
	return nil
}

// Problems returns what was wrong.
func (l *Ledger) Problems() []string { return l.problems }

// Bindings returns how many pods were given a node.
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
		l.problem("pod %s was bound at revision %d to node %s, which there is not", pod.Name, revision, after)
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
