package trial

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins/internal/pernode"
	"github.com/berth-scheduler/berth/runtime/state"
)

// World is a cluster that changes, in a snapshot that is brought up to date in
// steps. It does what the scheduler's cache does, in the simplest way.
type World struct {
	Snapshot *state.Snapshot

	infos      []*state.NodeInfo // by row
	pods       map[types.UID]*v1.Pod
	rows       map[string]int // by node name
	namespaces []state.NamespaceInfo
	generation uint64
	used       uint32   // slots 0 … used-1 were taken at some time
	free       []uint32 // slots that are free again

	dirty   map[int]bool // rows
	freed   []uint32     // slots
	renamed map[int]bool // rows of namespaces
}

// NewWorld returns an empty cluster.
func NewWorld() *World {
	w := &World{Snapshot: state.NewSnapshot(), pods: make(map[types.UID]*v1.Pod), rows: make(map[string]int)}
	w.clean()
	return w
}

func (w *World) clean() {
	w.dirty, w.freed, w.renamed = make(map[int]bool), nil, make(map[int]bool)
}

func (w *World) next() uint64 {
	w.generation++
	return w.generation
}

// SetNode adds a node or replaces its object.
func (w *World) SetNode(node *v1.Node) {
	row, ok := w.rows[node.Name]
	if !ok {
		row = len(w.infos)
		w.rows[node.Name] = row
		w.infos = append(w.infos, &state.NodeInfo{Name: node.Name, PodsGeneration: w.next()})
	}
	w.infos[row].Node, w.infos[row].ObjectGeneration = state.NewNode(node), w.next()
	w.dirty[row] = true
}

// RemoveNode removes a node with its pods; the last row moves into its place.
func (w *World) RemoveNode(name string) {
	row, last := w.rows[name], len(w.infos)-1
	for len(w.infos[row].Pods) > 0 {
		w.RemovePod(w.infos[row].Pods[0].Pod.UID)
	}
	w.infos[row] = w.infos[last]
	w.rows[w.infos[row].Name] = row
	w.infos = w.infos[:last]
	delete(w.rows, name)
	w.dirty[row] = true
}

// SetPod adds a pod to the node that its spec names, or replaces its object.
func (w *World) SetPod(pod *v1.Pod) {
	w.RemovePod(pod.UID)
	row := w.rows[pod.Spec.NodeName]
	slot := w.used
	if n := len(w.free); n > 0 {
		slot, w.free = w.free[n-1], w.free[:n-1]
	} else {
		w.used++
	}
	w.infos[row].AddPod(state.PlacedPod{Pod: state.NewPod(pod), Slot: slot, Generation: w.next()})
	w.changed(row)
	w.pods[pod.UID] = pod
}

// RemovePod removes a pod if there is one.
func (w *World) RemovePod(uid types.UID) {
	pod, ok := w.pods[uid]
	if !ok {
		return
	}
	row := w.rows[pod.Spec.NodeName]
	gone, _ := w.infos[row].RemovePod(uid)
	w.free, w.freed = append(w.free, gone.Slot), append(w.freed, gone.Slot)
	w.changed(row)
	delete(w.pods, uid)
}

func (w *World) changed(row int) {
	w.infos[row].PodsGeneration = w.next()
	w.dirty[row] = true
}

// SetNamespace adds a namespace or replaces its object.
func (w *World) SetNamespace(namespace *v1.Namespace) {
	row := w.namespace(namespace.Name)
	if row < 0 {
		row = len(w.namespaces)
		w.namespaces = append(w.namespaces, state.NamespaceInfo{})
	}
	w.namespaces[row] = state.NamespaceInfo{Namespace: state.NewNamespace(namespace), Row: uint32(row), Generation: w.next()}
	w.renamed[row] = true
}

// RemoveNamespace removes a namespace if there is one.
func (w *World) RemoveNamespace(name string) {
	if row := w.namespace(name); row >= 0 {
		w.namespaces[row] = state.NamespaceInfo{Row: uint32(row), Generation: w.next()}
		w.renamed[row] = true
	}
}

func (w *World) namespace(name string) int {
	for row := range w.namespaces {
		if ns := w.namespaces[row].Namespace; ns != nil && ns.Name == name {
			return row
		}
	}
	return -1
}

// Update writes what has changed into the snapshot; all of it, in a new epoch, if
// anew says so.
func (w *World) Update(anew bool) {
	if !anew {
		var dirty []uint32
		for row := range w.infos {
			if w.dirty[row] {
				dirty = append(dirty, uint32(row))
			}
		}
		var namespaces []state.NamespaceInfo
		for row := range w.namespaces {
			if w.renamed[row] {
				namespaces = append(namespaces, w.namespaces[row])
			}
		}
		anew = w.Snapshot.Update(w.infos, dirty, w.freed, namespaces...)
	}
	if anew {
		w.Snapshot.Rebuild(w.infos, w.namespaces...)
	}
	w.clean()
}

// Objects returns the cluster as per-node plugins see it, by row.
func (w *World) Objects() []*pernode.Node {
	nodes := make([]*v1.Node, len(w.infos))
	var placed []*v1.Pod
	for row, info := range w.infos {
		nodes[row] = info.Node.Object
		for i := range info.Pods {
			placed = append(placed, info.Pods[i].Pod.Object)
		}
	}
	return pernode.Cluster(nodes, placed)
}

// NamespaceLabels returns the labels of the namespaces that are known.
func (w *World) NamespaceLabels() map[string]map[string]string {
	out := make(map[string]map[string]string)
	for _, info := range w.namespaces {
		if info.Namespace != nil {
			out[info.Namespace.Name] = info.Namespace.Labels
		}
	}
	return out
}
