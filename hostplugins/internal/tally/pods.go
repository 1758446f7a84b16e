package tally

import (
	"encoding/binary"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Group is a set of placed pods that no selector can tell apart: pods of one namespace with
// equal labels, which all are or all are not being deleted, and, if the index is configured so,
// with equal affinity.
type Group struct {
	Namespace   string
	Labels      labels.Set
	Terminating bool
	// Affinity is the affinity of all of the pods, if Config.Affinity is set.
	Affinity *state.PodAffinity
	// Owner is for the use of Joined and Left.
	Owner any

	key    string
	at     int // in members
	pods   int
	first  uint32   // slot
	counts []*Count // the counts that include the pods, once for each time they are counted
}

// unlinkGone removes the pods of a row that are no longer on it, or have changed.
func (x *Index) unlinkGone(r uint32) {
	s := x.snapshot
	now := s.Nodes.Pods.Row(r)
	x.mark++
	x.marks = grow(x.marks, s.Pods.Len())
	for _, at := range now {
		x.marks[at] = x.mark
	}
	before := x.rows[r].slots
	x.work.Pods += uint64(len(before) + len(now))
	for _, at := range before {
		p := &x.slots[at]
		if p.group == nil || p.row != r {
			continue // another row uses the slot by now
		}
		if int(at) >= s.Pods.Len() || x.marks[at] != x.mark || p.generation != s.Pods.Generation(at) {
			x.unlink(at)
		}
	}
}

// linkNew adds the pods of a row that are not counted yet.
func (x *Index) linkNew(r uint32) {
	for _, at := range x.rows[r].slots {
		x.slots = grow(x.slots, int(at)+1)
		if x.slots[at].group == nil {
			x.link(at, r)
		}
	}
}

// unlinkChanged removes the pods of slots that have another pod by now, another version of it, or none.
func (x *Index) unlinkChanged(slots []uint32) {
	t := &x.snapshot.Pods
	x.work.Pods += uint64(len(slots))
	for _, at := range slots {
		if int(at) >= len(x.slots) || x.slots[at].group == nil {
			continue
		}
		if int(at) >= t.Len() || x.slots[at].generation != t.Generation(at) {
			x.unlink(at)
		}
	}
}

// linkChanged adds the pods of slots that are not counted yet.
func (x *Index) linkChanged(slots []uint32) {
	t := &x.snapshot.Pods
	for _, at := range slots {
		if int(at) >= t.Len() || t.Pod[at] == nil {
			continue
		}
		x.slots = grow(x.slots, int(at)+1)
		if r, ok := x.snapshot.Row(t.Pod[at].NodeName()); ok && x.slots[at].group == nil {
			x.link(at, r)
		}
	}
}

// link adds a pod to the counts of its group.
func (x *Index) link(at, r uint32) {
	g := x.groupOf(at)
	p := &x.slots[at]
	*p = slot{group: g, generation: x.snapshot.Pods.Generation(at), row: r, next: g.first, prev: noSlot}
	if g.first != noSlot {
		x.slots[g.first].prev = at
	}
	g.first = at
	g.pods++
	for _, c := range g.counts {
		x.work.Pods++
		c.add(c.scope.at[r], 1)
	}
}

// unlink removes a pod from the counts.
func (x *Index) unlink(at uint32) {
	p := x.slots[at]
	g := p.group
	if p.next != noSlot {
		x.slots[p.next].prev = p.prev
	}
	if p.prev != noSlot {
		x.slots[p.prev].next = p.next
	} else {
		g.first = p.next
	}
	x.slots[at] = slot{}
	for _, c := range g.counts {
		x.work.Pods++
		c.add(c.scope.at[p.row], -1)
	}
	if g.pods--; g.pods == 0 {
		x.forget(g)
	}
}

// groupOf returns the group of a pod, creating it if necessary.
func (x *Index) groupOf(at uint32) *Group {
	t := &x.snapshot.Pods
	pod := t.Pod[at]
	terminating := pod.Object.DeletionTimestamp != nil
	key := binary.LittleEndian.AppendUint32(x.key[:0], t.Namespace[at])
	if terminating {
		key = append(key, 1)
	} else {
		key = append(key, 0)
	}
	pairs := t.Labels.Row(at)
	key = binary.LittleEndian.AppendUint32(key, uint32(len(pairs)))
	for _, p := range pairs {
		key = binary.LittleEndian.AppendUint32(key, p.Key)
		key = binary.LittleEndian.AppendUint32(key, p.Value)
	}
	if x.config.Affinity && pod.Affinity != nil {
		key = append(key, pod.Affinity.Text...)
	}
	x.key = key
	if g := x.groups[string(key)]; g != nil {
		return g
	}
	g := &Group{
		Namespace: pod.Namespace, Labels: pod.Object.Labels, Terminating: terminating,
		key: string(key), at: len(x.members[pod.Namespace]), first: noSlot,
	}
	if x.config.Affinity {
		g.Affinity = pod.Affinity
	}
	x.groups[g.key] = g
	x.members[g.Namespace] = append(x.members[g.Namespace], g)
	Buckets(g.Namespace, g.Labels, func(b Bucket) {
		for _, c := range x.buckets[b] {
			x.enrol(g, c)
		}
	})
	if x.config.Joined != nil {
		x.config.Joined(g)
	}
	return g
}

// enrol adds a group that has no pods yet to a count, if the count covers it.
func (x *Index) enrol(g *Group, c *Count) {
	x.work.Matches++
	if c.about.Match(g) {
		g.counts = append(g.counts, c)
	}
}

// forget removes a group without pods.
func (x *Index) forget(g *Group) {
	delete(x.groups, g.key)
	list := x.members[g.Namespace]
	last := len(list) - 1
	list[g.at] = list[last]
	list[g.at].at = g.at
	list[last] = nil
	if x.members[g.Namespace] = list[:last]; last == 0 {
		delete(x.members, g.Namespace)
	}
	if x.config.Left != nil {
		x.config.Left(g)
	}
}
