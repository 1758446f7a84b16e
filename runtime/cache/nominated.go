package cache

import (
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Nominate sets the pods that are nominated to a node, which snapshots show then, in this order. The node need not be known. Pods that are
// placed later are to be left out.
func (c *Cache) Nominate(name string, pods []*state.Pod) {
	if len(pods) == 0 {
		delete(c.nominated, name)
	} else {
		c.nominated[name] = slices.Clone(pods)
	}
	if n := c.nodes[name]; n != nil && n.row != noRow {
		c.showNominated(n)
	}
}

// showNominated gives a node that is a row its nominated pods.
func (c *Cache) showNominated(n *node) {
	pods := c.nominated[n.info.Name]
	if len(pods)+len(n.info.Nominated) == 0 {
		return
	}
	c.hideNominated(n)
	for _, pod := range pods {
		n.info.Nominated = append(n.info.Nominated, state.PlacedPod{
			Pod: pod.On(n.info.Name, state.Patch{}), Slot: c.slots.take(), Generation: c.next(),
		})
	}
	c.podsChanged(n)
}

// hideNominated frees the slots of a node's nominated pods.
func (c *Cache) hideNominated(n *node) {
	for i := range n.info.Nominated {
		c.release(&n.info.Nominated[i])
	}
	n.info.Nominated = nil
}
