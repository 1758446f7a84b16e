package cache

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Counts is how much the cache contains.
type Counts struct {
	// Nodes counts nodes with an object, MissingNodes those that only pods name.
	Nodes, MissingNodes int
	// Pods counts all pods, Assumed those that are not confirmed.
	Pods, Assumed int
	// Namespaces counts namespaces with an object.
	Namespaces int
}

// Counts returns how much the cache contains.
func (c *Cache) Counts() Counts {
	return Counts{
		Nodes: len(c.rows), MissingNodes: len(c.nodes) - len(c.rows), Pods: len(c.pods), Assumed: c.assumed,
		Namespaces: len(c.namespaces.rows),
	}
}

// IsAssumed reports whether the pod is assumed.
func (c *Cache) IsAssumed(uid types.UID) bool { return c.pods[uid].assumed }

// Patched returns what plugins have patched of an assumed pod.
func (c *Cache) Patched(uid types.UID) state.Patch { return c.pods[uid].patch }

// Get returns the cache's version of the pod, with patches.
func (c *Cache) Get(uid types.UID) (*state.Pod, bool) {
	p, ok := c.pods[uid]
	return p.pod, ok
}

// Node returns what the cache knows about a node, which may be a ghost. It belongs to the cache
// and is valid until the next change.
func (c *Cache) Node(name string) (*state.NodeInfo, bool) {
	n, ok := c.nodes[name]
	if !ok {
		return nil, false
	}
	return &n.info, true
}

// Nodes yields the nodes in the order of rows, then the ghosts sorted by name. The cache must
// not change meanwhile.
func (c *Cache) Nodes() iter.Seq[*state.NodeInfo] {
	return func(yield func(*state.NodeInfo) bool) {
		for _, info := range c.infos {
			if !yield(info) {
				return
			}
		}
		for _, name := range c.ghosts() {
			if !yield(&c.nodes[name].info) {
				return
			}
		}
	}
}

func (c *Cache) ghosts() []string {
	if len(c.nodes) == len(c.rows) {
		return nil
	}
	var names []string
	for name, n := range c.nodes {
		if n.row == noRow {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Pods yields all pods and whether they are assumed, in the order of Nodes. The order within a
// node depends only on the calls made. The cache must not change meanwhile.
func (c *Cache) Pods() iter.Seq2[*state.Pod, bool] {
	return func(yield func(*state.Pod, bool) bool) {
		for info := range c.Nodes() {
			for i := range info.Pods {
				pod := info.Pods[i].Pod
				if !yield(pod, c.pods[pod.UID].assumed) {
					return
				}
			}
		}
	}
}
