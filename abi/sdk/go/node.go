package berth

// Node is a node, as a view of its row.
type Node struct {
	c   *columns
	row uint32
}

// Row is the number of the node's row in this instance. It has no other meaning, and answers
// must not depend on it.
func (n Node) Row() uint32 { return n.row }

// Pods is a list of pods on a node, unordered.
type Pods struct {
	c     *columns
	slots []uint32
}

// Len returns the number of pods.
func (p Pods) Len() int { return len(p.slots) }

// At returns the i-th pod.
func (p Pods) At(i int) PlacedPod { return PlacedPod{c: p.c, slot: p.slots[i]} }

// PlacedPod is a pod on a node, as a view of its slot.
type PlacedPod struct {
	c    *columns
	slot uint32
}

// find returns the value of a key.
func find(pairs []Pair, key ID) ID {
	for i := range pairs {
		if pairs[i].Key == key {
			return pairs[i].Value
		}
	}
	return Absent
}
