package plugintest

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Cluster maintains one snapshot of changing nodes and placed pods, and writes only changed
// rows, as the scheduler's cache does.
type Cluster struct {
	snapshot   *state.Snapshot
	generation uint64
	slots      uint32
	rows       []*state.NodeInfo
}

// NewCluster returns a cluster without nodes.
func NewCluster() *Cluster { return &Cluster{snapshot: state.NewSnapshot()} }

func (c *Cluster) next() uint64 {
	c.generation++
	return c.generation
}

// Snapshot updates the snapshot. Rows are in the order of nodes; objects with the same pointer
// as before count as unchanged.
func (c *Cluster) Snapshot(nodes []*v1.Node, placed []*v1.Pod) *state.Snapshot {
	rows := make([]*state.NodeInfo, len(nodes))
	var dirty, freed []uint32
	for _, old := range c.rows {
		if !slices.ContainsFunc(nodes, func(n *v1.Node) bool { return n.Name == old.Name }) {
			freed = append(freed, slotsOf(old)...)
		}
	}
	for row, n := range nodes {
		var old *state.NodeInfo
		if at := slices.IndexFunc(c.rows, func(info *state.NodeInfo) bool { return info.Name == n.Name }); at >= 0 {
			old = c.rows[at]
		}
		info := c.info(n, placed, old)
		if old != nil && info.PodsGeneration != old.PodsGeneration {
			freed = append(freed, slotsOf(old)...)
		}
		rows[row] = info
		if row >= len(c.rows) || c.rows[row].ObjectGeneration != info.ObjectGeneration || c.rows[row].PodsGeneration != info.PodsGeneration {
			dirty = append(dirty, uint32(row))
		}
	}
	c.rows = rows
	c.snapshot.Update(rows, dirty, freed)
	return c.snapshot
}

// Rebuild writes everything anew, with other ids.
func (c *Cluster) Rebuild(nodes []*v1.Node, placed []*v1.Pod) *state.Snapshot {
	c.Snapshot(nodes, placed)
	c.snapshot.Rebuild(c.rows)
	return c.snapshot
}

// info returns the NodeInfo of a node, with new generations for what differs.
func (c *Cluster) info(n *v1.Node, placed []*v1.Pod, old *state.NodeInfo) *state.NodeInfo {
	var pods []*v1.Pod
	for _, p := range placed {
		if p.Spec.NodeName == n.Name {
			pods = append(pods, p)
		}
	}
	info := &state.NodeInfo{Name: n.Name}
	if old != nil && old.Node.Object == n {
		info.Node, info.ObjectGeneration = old.Node, old.ObjectGeneration
	} else {
		info.Node, info.ObjectGeneration = state.NewNode(n), c.next()
	}
	if old != nil && slices.EqualFunc(old.Pods, pods, func(a state.PlacedPod, b *v1.Pod) bool { return a.Pod.Object == b }) {
		for _, p := range old.Pods {
			info.AddPod(p)
		}
		info.PodsGeneration = old.PodsGeneration
		return info
	}
	for _, p := range pods {
		info.AddPod(state.PlacedPod{Pod: state.NewPod(p), Slot: c.slots, Generation: c.next()})
		c.slots++
	}
	info.PodsGeneration = c.next()
	return info
}

func slotsOf(info *state.NodeInfo) []uint32 {
	var out []uint32
	for _, p := range info.Pods {
		out = append(out, p.Slot)
	}
	return out
}
