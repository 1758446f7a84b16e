package bridge

import (
	"sync"
	"sync/atomic"

	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/state"
)

// imageCounts counts the nodes that have each image. Its version changes whenever a count does.
type imageCounts struct {
	mu      sync.RWMutex
	nodes   map[string]int
	version uint64
	edits   atomic.Int64
}

// edited returns a generation that no row has, for a modified copy of a NodeInfo.
func (c *imageCounts) edited() int64 { return 1<<62 + c.edits.Add(1) }

// change adds a node's images to the counts, or subtracts them.
func (c *imageCounts) change(node *state.Node, by int) {
	if len(node.Images) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	for i := range node.Images {
		name := node.Images[i].Name
		if c.nodes[name] += by; c.nodes[name] == 0 {
			delete(c.nodes, name)
		}
	}
}

// summaries returns the image states of a node; those of the last call if nothing has changed
// since.
func (c *imageCounts) summaries(node *state.Node, last map[string]*framework.ImageStateSummary, version uint64) (map[string]*framework.ImageStateSummary, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if last != nil && version == c.version {
		return last, version
	}
	out := make(map[string]*framework.ImageStateSummary, len(node.Images))
	for i := range node.Images {
		image := &node.Images[i]
		out[image.Name] = &framework.ImageStateSummary{Size: image.Size, NumNodes: c.nodes[image.Name]}
	}
	return out, c.version
}

// clear removes all nodes.
func (c *imageCounts) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = make(map[string]int)
	c.version++
}
