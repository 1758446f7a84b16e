package scheduler

import (
	"slices"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/debts"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Contents is what the loop knows of the cluster between two attempts. Objects are shared and
// never change, so a reader may keep it while the loop goes on.
type Contents struct {
	Nodes []*state.Node
	// Placed are the pods on nodes, assumed ones with their patches included.
	Placed []*state.Pod
	// Nominated are the pods of the queue that have a nominated node.
	Nominated  []Nominated
	Namespaces []*state.Namespace
	// Feeds are what feeds say. They belong to the reader.
	Feeds []state.Feed
	// Debts are the accounts of preemptions at the time At. The namespaces of nominated pods all have one.
	Debts []*inbox.Debt
	At    time.Time
}

// Nominated is a pod with its nominated node, which the object may not name yet.
type Nominated struct {
	Pod  *state.Pod
	Node string
}

// Contents returns what the loop knows. It must be called like Pending.
func (s *Scheduler) Contents() Contents {
	counts := s.cache.Counts()
	c := Contents{
		Nodes: make([]*state.Node, 0, counts.Nodes), Placed: make([]*state.Pod, 0, counts.Pods),
		Debts: s.accounts(), At: s.deps.Clock.Now(), Feeds: slices.Collect(s.cache.Feeds()),
	}
	for info := range s.cache.Nodes() {
		if info.Node != nil {
			c.Nodes = append(c.Nodes, info.Node)
		}
	}
	for pod := range s.cache.Pods() {
		c.Placed = append(c.Placed, pod)
	}
	s.queue.Nominations().Nodes(func(node string, pods []*state.Pod) bool {
		for _, pod := range pods {
			c.Nominated = append(c.Nominated, Nominated{pod, node})
			if namespace := pod.Namespace; !s.debts.Known(debts.Debtor{Namespace: namespace}) {
				c.Debts = append(c.Debts, &inbox.Debt{Namespace: namespace, Since: c.At})
			}
		}
		return true
	})
	for info := range s.cache.Namespaces() {
		if info.Namespace != nil {
			c.Namespaces = append(c.Namespaces, info.Namespace)
		}
	}
	return c
}
