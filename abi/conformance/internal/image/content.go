// Package image writes clusters to guest memory as SPEC.md says, with any numbering: a host may
// choose rows, slots, ids and namespaces (ABI-4.7), and a guest must not depend on them.
package image

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/internal/region"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Numbering assigns the numbers in an instance.
type Numbering struct {
	// Nodes are indices of the cluster's nodes by row; an instance may hold some of them.
	Nodes []int
	// Slots are indices of the cluster's pods by slot, −1 for an empty slot.
	Slots []int
	// Namespaces are indices of the cluster's namespaces by row, −1 for an empty row.
	Namespaces []int
	// Overlays are hypothetical nodes: overlay i has row row_capacity + i.
	Overlays []Overlay
	// Base is the place of row 0 in the host's table.
	Base uint32
}

// Overlay is a node with added pods, or without some of its own.
type Overlay struct {
	Node int
	// Pods are indices of the cluster's pods; their slots count.
	Pods []int
}

// Content is tables that are ready to be written.
type Content struct {
	Tables []region.Table
}

// Encoder converts objects to columns and records, with ids of a dictionary.
type Encoder struct {
	Reads *view.Reads
	Dict  *wire.Dict
	// Order (optional) is an order for the n entries of a list, and for the lists of a column (ABI-4.7, 4.8).
	Order func(n int) []int
	// Bits are set in all flags, besides those that say something (ABI-4.5).
	Bits uint8
}

// ordered calls f with 0 … n−1 in the encoder's order.
func (e *Encoder) ordered(n int, f func(i int)) {
	if e.Order == nil {
		for i := range n {
			f(i)
		}
		return
	}
	for _, i := range e.Order(n) {
		f(i)
	}
}

// Content encodes the part of a cluster that an instance holds. The strings table has the
// dictionary at the end of the encoding.
func (e *Encoder) Content(c *cluster.Cluster, n *Numbering) *Content {
	w := e.tables()
	pods := make([]*region.Pod, len(c.Pods))
	on := map[string][]int{}
	for i := range c.Pods {
		pods[i] = pod(&c.Pods[i])
		on[c.Pods[i].Spec.NodeName] = append(on[c.Pods[i].Spec.NodeName], i)
	}
	placed := make([]*region.Pod, len(n.Slots))
	slots := map[*region.Pod]uint32{}
	for slot, i := range n.Slots {
		if i >= 0 && e.Reads.Sees(c.Pods[i].Metadata.Namespace) {
			placed[slot], slots[pods[i]] = pods[i], uint32(slot)
		}
	}
	var rows []*region.Node
	for _, i := range n.Nodes {
		rows = append(rows, e.node(c, i, on[c.Nodes[i].Metadata.Name], pods))
	}
	for _, o := range n.Overlays {
		rows = append(rows, e.node(c, o.Node, o.Pods, pods))
	}
	nodes := w.Nodes(rows, slots)
	nodes.Rows, nodes.Overlays, nodes.Base = uint32(len(n.Nodes)), uint32(len(n.Overlays)), n.Base
	out := &Content{Tables: []region.Table{nodes, {ID: abi.TableStrings}}}
	if e.Reads.HasNode("pods") {
		out.Tables = append(out.Tables, w.Pods(placed))
	}
	if e.Reads.NamespacesTable() {
		out.Tables = append(out.Tables, w.Namespaces(e.namespaces(c, n)))
	}
	return out
}

// Seal fills the strings table after all ids have been assigned.
func (c *Content) Seal(d *wire.Dict) {
	var texts []string
	for id := range uint32(d.Len()) {
		texts = append(texts, d.String(id))
	}
	for i := range c.Tables {
		if c.Tables[i].ID == abi.TableStrings {
			c.Tables[i] = region.Strings(texts)
		}
	}
}
