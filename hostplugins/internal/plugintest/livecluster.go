package plugintest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins/internal/pernode"
	"github.com/berth-scheduler/berth/runtime/state"
)

// LiveCluster is a changing cluster with a snapshot that is updated in steps. It does what the
// scheduler's cache does, in the simplest way.
type LiveCluster struct {
	Snapshot *state.Snapshot

	infos      []*state.NodeInfo // by row
	pods       map[types.UID]*v1.Pod
	rows       map[string]int // by node name
	namespaces []state.NamespaceInfo
	generation uint64
	used       uint32   // slots 0 … used-1 have been in use at some time
	free       []uint32 // slots that are free again

	dirty   map[int]bool // rows
	freed   []uint32     // slots
	renamed map[int]bool // rows of namespaces
}

// NewLiveCluster returns an empty cluster.
func NewLiveCluster() *LiveCluster {
	c := &LiveCluster{Snapshot: state.NewSnapshot(), pods: make(map[types.UID]*v1.Pod), rows: make(map[string]int)}
	c.clean()
	return c
}

func (c *LiveCluster) clean() {
	c.dirty, c.freed, c.renamed = make(map[int]bool), nil, make(map[int]bool)
}

func (c *LiveCluster) next() uint64 {
	c.generation++
	return c.generation
}

// SetNode adds a node or replaces its object.
func (c *LiveCluster) SetNode(node *v1.Node) {
	row, ok := c.rows[node.Name]
	if !ok {
		row = len(c.infos)
		c.rows[node.Name] = row
		c.infos = append(c.infos, &state.NodeInfo{Name: node.Name, PodsGeneration: c.next()})
	}
	c.infos[row].Node, c.infos[row].ObjectGeneration = state.NewNode(node), c.next()
	c.dirty[row] = true
}

// RemoveNode removes a node with its pods; the last row takes its index.
func (c *LiveCluster) RemoveNode(name string) {
	row, last := c.rows[name], len(c.infos)-1
	for len(c.infos[row].Pods) > 0 {
		c.RemovePod(c.infos[row].Pods[0].Pod.UID)
	}
	c.infos[row] = c.infos[last]
	c.rows[c.infos[row].Name] = row
	c.infos = c.infos[:last]
	delete(c.rows, name)
	c.dirty[row] = true
}

// SetPod adds a pod to the node that its spec names, or replaces its object.
func (c *LiveCluster) SetPod(pod *v1.Pod) {
	c.RemovePod(pod.UID)
	row := c.rows[pod.Spec.NodeName]
	slot := c.used
	if n := len(c.free); n > 0 {
		slot, c.free = c.free[n-1], c.free[:n-1]
	} else {
		c.used++
	}
	c.infos[row].AddPod(state.PlacedPod{Pod: state.NewPod(pod), Slot: slot, Generation: c.next()})
	c.changed(row)
	c.pods[pod.UID] = pod
}

// RemovePod removes a pod if there is one.
func (c *LiveCluster) RemovePod(uid types.UID) {
	pod, ok := c.pods[uid]
	if !ok {
		return
	}
	row := c.rows[pod.Spec.NodeName]
	gone, _ := c.infos[row].RemovePod(uid)
	c.free, c.freed = append(c.free, gone.Slot), append(c.freed, gone.Slot)
	c.changed(row)
	delete(c.pods, uid)
}

func (c *LiveCluster) changed(row int) {
	c.infos[row].PodsGeneration = c.next()
	c.dirty[row] = true
}

// SetNamespace adds a namespace or replaces its object.
func (c *LiveCluster) SetNamespace(namespace *v1.Namespace) {
	row := c.namespace(namespace.Name)
	if row < 0 {
		row = len(c.namespaces)
		c.namespaces = append(c.namespaces, state.NamespaceInfo{})
	}
	c.namespaces[row] = state.NamespaceInfo{Namespace: state.NewNamespace(namespace), Row: uint32(row), Generation: c.next()}
	c.renamed[row] = true
}

// RemoveNamespace removes a namespace if there is one.
func (c *LiveCluster) RemoveNamespace(name string) {
	if row := c.namespace(name); row >= 0 {
		c.namespaces[row] = state.NamespaceInfo{Row: uint32(row), Generation: c.next()}
		c.renamed[row] = true
	}
}

func (c *LiveCluster) namespace(name string) int {
	for row := range c.namespaces {
		if ns := c.namespaces[row].Namespace; ns != nil && ns.Name == name {
			return row
		}
	}
	return -1
}

// Update writes the changes to the snapshot; with anew it rewrites everything, in a new epoch.
func (c *LiveCluster) Update(anew bool) {
	if !anew {
		var dirty []uint32
		for row := range c.infos {
			if c.dirty[row] {
				dirty = append(dirty, uint32(row))
			}
		}
		var namespaces []state.NamespaceInfo
		for row := range c.namespaces {
			if c.renamed[row] {
				namespaces = append(namespaces, c.namespaces[row])
			}
		}
		anew = c.Snapshot.Update(c.infos, dirty, c.freed, namespaces...)
	}
	if anew {
		c.Snapshot.Rebuild(c.infos, c.namespaces...)
	}
	c.clean()
}

// Objects returns the cluster as per-node plugins see it, by row.
func (c *LiveCluster) Objects() []*pernode.Node {
	nodes := make([]*v1.Node, len(c.infos))
	var placed []*v1.Pod
	for row, info := range c.infos {
		nodes[row] = info.Node.Object
		for i := range info.Pods {
			placed = append(placed, info.Pods[i].Pod.Object)
		}
	}
	return pernode.Cluster(nodes, placed)
}

// NamespaceLabels returns the labels of the known namespaces.
func (c *LiveCluster) NamespaceLabels() map[string]map[string]string {
	out := make(map[string]map[string]string)
	for _, info := range c.namespaces {
		if info.Namespace != nil {
			out[info.Namespace.Name] = info.Namespace.Labels
		}
	}
	return out
}
