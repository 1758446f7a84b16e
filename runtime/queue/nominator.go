package queue

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Nominate sets a pod's nominated node, replacing any earlier nomination, until the pod is
// placed; status.nominatedNodeName follows through the API. An empty node clears it. Only pods
// that the queue knows and that are not bound can be nominated.
func (q *Queue) Nominate(uid types.UID, node string) {
	q.nominator.remove(uid)
	if it, ok := q.pods[uid]; ok {
		q.nominator.set(it.latest, node)
	}
}

// ClearNomination clears a nomination. The loop calls it when it assumes the pod, because from
// then on the cache has the pod on its node.
func (q *Queue) ClearNomination(uid types.UID) { q.nominator.remove(uid) }

// NominatedNode returns the node that a pod is nominated to; empty if there is none.
func (q *Queue) NominatedNode(uid types.UID) string { return q.nominator.byPod[uid] }

// Nominations returns a live view of nominated pods. The pods of a node are in the order of
// their nominations. What it yields is valid until the queue changes.
func (q *Queue) Nominations() state.Nominations { return &q.nominator }

// ChangedNominations yields the nodes whose nominated pods have changed since the last call, in the order of their names, with these pods.
func (q *Queue) ChangedNominations() iter.Seq2[string, []*state.Pod] {
	return func(yield func(string, []*state.Pod) bool) {
		n := &q.nominator
		for _, node := range slices.Sorted(maps.Keys(n.changed)) {
			delete(n.changed, node)
			var pods []*state.Pod
			if i, found := n.find(node); found {
				pods = n.nodes[i].pods
			}
			if !yield(node, pods) {
				return
			}
		}
	}
}

// nominator has the nominations.
type nominator struct {
	nodes []nominatedNode // sorted by name; none without pods
	byPod map[types.UID]string
	// changed are the nodes whose pods have changed since ChangedNominations.
	changed map[string]bool
}

type nominatedNode struct {
	name string
	pods []*state.Pod
}

var _ state.Nominations = (*nominator)(nil)

func newNominator() nominator {
	return nominator{byPod: make(map[types.UID]string), changed: make(map[string]bool)}
}

// Len returns the number of nominated pods.
func (n *nominator) Len() int { return len(n.byPod) }

// Nodes implements [state.Nominations].
func (n *nominator) Nodes(yield func(node string, pods []*state.Pod) bool) {
	for i := range n.nodes {
		if !yield(n.nodes[i].name, n.nodes[i].pods) {
			return
		}
	}
}

func (n *nominator) find(node string) (int, bool) {
	return slices.BinarySearchFunc(n.nodes, node, func(a nominatedNode, name string) int {
		return strings.Compare(a.name, name)
	})
}

// set nominates node for a pod without a nomination. Bound pods are not nominated.
func (n *nominator) set(pod *state.Pod, node string) {
	if node == "" || pod.NodeName() != "" {
		return
	}
	i, found := n.find(node)
	if !found {
		n.nodes = slices.Insert(n.nodes, i, nominatedNode{name: node})
	}
	n.nodes[i].pods = append(n.nodes[i].pods, pod)
	n.byPod[pod.UID], n.changed[node] = node, true
}

func (n *nominator) remove(uid types.UID) {
	node, ok := n.byPod[uid]
	if !ok {
		return
	}
	delete(n.byPod, uid)
	n.changed[node] = true
	i, _ := n.find(node)
	pods := &n.nodes[i].pods
	*pods = slices.DeleteFunc(*pods, func(p *state.Pod) bool { return p.UID == uid })
	if len(*pods) == 0 {
		n.nodes = slices.Delete(n.nodes, i, i+1)
	}
}

// update replaces old with pod, which has the same UID. The status decides, unless neither
// version has a nomination: then the update was sent before our nomination reached the API, so
// ours is kept.
func (n *nominator) update(old, pod *state.Pod) {
	node := pod.NominatedNode()
	if node == "" && old.NominatedNode() == "" {
		node = n.byPod[pod.UID]
	}
	n.remove(pod.UID)
	n.set(pod, node)
}
