package state

import (
	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Snapshot is the cluster as one scheduling cycle sees it: a nodes table with one row per node,
// a pods table with one slot per placed pod, and a namespaces table with one row per namespace.
// The cache updates changed rows between cycles; during a cycle only overlay rows change.
//
// Rows 0 … Len()-1 are nodes. Rows from Capacity() up are overlays: hypothetical nodes that
// what-if calls address by index. Filters and scores over the cluster do not see them.
//
// Strings in columns are ids in Strings and are valid within one Epoch.
type Snapshot struct {
	// Epoch counts dictionaries, Generation counts updates.
	Epoch, Generation uint64
	Strings           *wire.Dict
	Nodes             NodeTable
	Pods              PodTable
	Namespaces        NamespaceTable
	// Feeds are the names of feeds, whose places are the numbers of their cells. All nodes have the same order, and some fewer feeds.
	Feeds []string

	// BytesWritten counts what updates wrote to columns, so that tests can compare the cost of
	// an update with the size of the change.
	BytesWritten uint64

	index map[string]uint32
	began sizes // sizes when everything was live, to decide when the epoch ends

	history history
}

// sizes are the sizes of what only a new epoch can shrink.
type sizes struct{ strings, resources, taintSets int }

func (s *Snapshot) sizes() sizes {
	return sizes{strings: s.Strings.Len(), resources: len(s.Nodes.Resources), taintSets: len(s.Nodes.TaintSets)}
}

// NewSnapshot returns a snapshot without nodes.
func NewSnapshot() *Snapshot {
	s := &Snapshot{}
	s.beginEpoch()
	return s
}

// beginEpoch empties the snapshot and starts a new dictionary.
func (s *Snapshot) beginEpoch() {
	s.Epoch++
	s.Strings = wire.NewDict()
	s.index = make(map[string]uint32)
	s.Nodes = newNodeTable(s.Strings)
	s.Pods = newPodTable()
	s.Namespaces = newNamespaceTable(s.Generation)
}

// Len returns the number of nodes, which are rows 0 … Len()-1.
func (s *Snapshot) Len() int { return s.Nodes.n }

// Capacity returns the number of rows that fit before columns must grow, which is also the
// index of the first overlay row.
func (s *Snapshot) Capacity() int { return s.Nodes.capacity }

// Row returns the row of a node.
func (s *Snapshot) Row(name string) (uint32, bool) {
	row, ok := s.index[name]
	return row, ok
}

// Name returns the name of a row's node; overlay rows have names too.
func (s *Snapshot) Name(row uint32) string { return s.Nodes.Node[row].Name }

// ResourceIndex returns the index of a resource in Nodes.Resources, or -1 if no node and no
// placed pod of this epoch had it.
func (s *Snapshot) ResourceIndex(name v1.ResourceName) int {
	if i, ok := s.Nodes.resourceIndex[name]; ok {
		return i
	}
	return -1
}

// Update writes the changes since the last update. infos are the nodes by row; dirty are the
// rows that may differ; freed are slots that lost their pod; namespaces are the changed rows of
// namespaces. Rows of nodes are compared by generation, so naming an unchanged row is cheap.
//
// It reports whether the dictionary, the resource columns or the taint sets have outgrown the
// live content; then the caller must call Rebuild.
func (s *Snapshot) Update(infos []*NodeInfo, dirty, freed []uint32, namespaces ...NamespaceInfo) (stale bool) {
	s.Generation++
	s.DropOverlays()
	s.history.begin(s.Generation, len(infos))
	s.history.rows, s.history.slots = append(s.history.rows, dirty...), append(s.history.slots, freed...)
	for _, slot := range freed {
		s.BytesWritten += uint64(s.Pods.clear(slot))
	}
	s.resize(len(infos))
	for _, row := range dirty {
		if int(row) < len(infos) {
			s.writeRow(row, infos[row])
		}
	}
	s.Nodes.Labels.promote(s.Nodes.n)
	s.BytesWritten += uint64(s.Namespaces.update(namespaces, s.Strings, s.Generation))
	for i := range namespaces {
		s.feedNames(namespaces[i].Feeds)
	}
	return s.stale()
}

// Changes returns the rows and the pod slots that may differ from an earlier generation, in
// which one may come several times. ok is false if everything may differ: the generation is of
// an earlier epoch, or there were too many changes since.
func (s *Snapshot) Changes(since uint64) (rows, slots []uint32, ok bool) {
	return s.history.since(since)
}

// stale reports whether more than half of the epoch's content is dead.
func (s *Snapshot) stale() bool {
	now := s.sizes()
	return now.strings > 2*s.began.strings+4096 ||
		now.resources > 2*s.began.resources+16 ||
		now.taintSets > 2*s.began.taintSets+1024
}

// feedNames takes in the names of feeds.
func (s *Snapshot) feedNames(names []string) {
	if len(names) > len(s.Feeds) {
		s.Feeds = names
	}
}

// Rebuild rewrites everything in a new epoch with a new dictionary. infos are the nodes by row,
// namespaces are all namespaces.
func (s *Snapshot) Rebuild(infos []*NodeInfo, namespaces ...NamespaceInfo) {
	s.Generation++
	s.beginEpoch()
	s.resize(len(infos))
	for row, info := range infos {
		s.writeRow(uint32(row), info)
	}
	s.Nodes.Labels.promote(s.Nodes.n)
	s.BytesWritten += uint64(s.Namespaces.update(namespaces, s.Strings, s.Generation))
	for i := range namespaces {
		s.feedNames(namespaces[i].Feeds)
	}
	s.began = s.sizes()
	s.history.forget(s.Generation + 1)
}

// resize sets the number of rows. Dropped rows are removed from the index unless the node has
// another row by now.
func (s *Snapshot) resize(n int) {
	for row := n; row < s.Nodes.n; row++ {
		s.forget(uint32(row))
	}
	s.Nodes.resize(n)
}

// forget removes a row's node from the index and from sums over rows.
func (s *Snapshot) forget(row uint32) {
	node := s.Nodes.Node[row]
	if node == nil {
		return
	}
	if s.index[node.Name] == row {
		delete(s.index, node.Name)
	}
	s.Nodes.clear(row)
}

func (s *Snapshot) writeRow(row uint32, info *NodeInfo) {
	t := &s.Nodes
	if t.ObjectGeneration[row] != info.ObjectGeneration {
		if old := t.Node[row]; old != nil && old.Name != info.Name && s.index[old.Name] == row {
			delete(s.index, old.Name)
		}
		s.index[info.Name] = row
		s.BytesWritten += uint64(t.writeObject(row, info))
	}
	if t.FeedsGeneration[row] != info.FeedsGeneration {
		t.Cells[row], t.FeedsGeneration[row] = info.Cells, info.FeedsGeneration
		s.feedNames(info.Feeds)
		s.BytesWritten += 8 + 8*3 // a slice and its generation
	}
	if t.PodsGeneration[row] != info.PodsGeneration {
		from := t.unchanged(row, info)
		for i := range info.Pods[from:] {
			s.BytesWritten += uint64(s.Pods.write(&info.Pods[from+i], s.Strings, &s.history))
		}
		for i := range info.Nominated {
			s.BytesWritten += uint64(s.Pods.write(&info.Nominated[i], s.Strings, &s.history))
			s.Pods.nominated[info.Nominated[i].Slot] = true
		}
		s.BytesWritten += uint64(t.writePods(row, info, from))
	}
}
