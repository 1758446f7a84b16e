// Package image writes clusters into guest memory as SPEC.md says, numbered in any
// order: rows, slots, ids and namespaces are free for a host to choose (ABI-4.7), and
// a guest that minds is wrong.
package image

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/internal/region"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Numbering says what has which number in an instance.
type Numbering struct {
	// Nodes are indices of the cluster's nodes by row; an instance may hold a part.
	Nodes []int
	// Slots are indices of the cluster's pods by slot, −1 for an empty one.
	Slots []int
	// Namespaces are indices of the cluster's namespaces by row, −1 for an empty one.
	Namespaces []int
	// Overlays are hypothetical nodes: row i of them is row_capacity + i.
	Overlays []Overlay
	// Base is where row 0 is in the host's table.
	Base uint32
}

// Overlay is a node with pods that it does not have, or without some of its own.
type Overlay struct {
	Node int
	// Pods are indices of the cluster's pods, whose slots count.
	Pods []int
}

// Content is tables, ready to be written.
type Content struct {
	Tables []region.Table
}

// Encoder turns objects into columns and records, with ids of a dictionary.
type Encoder struct {
	Reads *view.Reads
	Dict  *wire.Dict
}

// Content encodes what an instance holds of a cluster. The strings table is as of
// the dictionary at the end.
func (e *Encoder) Content(c *cluster.Cluster, n *Numbering) *Content {
	w := e.tables()
	pods := make([]*region.Pod, len(c.Pods))
	on := map[string][]*region.Pod{}
	for i := range c.Pods {
		pods[i] = pod(&c.Pods[i])
		on[c.Pods[i].Spec.NodeName] = append(on[c.Pods[i].Spec.NodeName], pods[i])
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
		rows = append(rows, node(&c.Nodes[i], i, on[c.Nodes[i].Metadata.Name]))
	}
	for _, o := range n.Overlays {
		var with []*region.Pod
		for _, i := range o.Pods {
			with = append(with, pods[i])
		}
		rows = append(rows, node(&c.Nodes[o.Node], o.Node, with))
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

// Seal fills in the table of strings, after all ids were given.
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
