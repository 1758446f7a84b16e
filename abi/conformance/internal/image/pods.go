package image

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
)

// pods encodes table 2; the slots of pods that the plugin may not see are zero
// (ABI-4.10, ABI-4.11).
func (e *Encoder) pods(c *cluster.Cluster, n *Numbering) *Table {
	b := tableOf(abi.TablePods, uint32(len(n.Slots)), 0)
	r := e.Reads
	one := func(name string, id abi.ColumnID, kind abi.Type, value func(w *writer, p *cluster.Pod)) {
		if r.HasPods(name) {
			e.slots(c, n, b.add(id, 0, kind), value)
		}
	}
	list := func(name string, id abi.ColumnID, kind abi.Type, value func(w *writer, p *cluster.Pod)) {
		if r.HasPods(name) {
			e.slots(c, n, b.list(id, kind), value)
		}
	}
	keyed := func(id abi.ColumnID, keys []string, from func(p *cluster.Pod) map[string]string) {
		for k, key := range keys {
			e.slots(c, n, b.add(id, uint32(k), abi.TypeU32), func(w *writer, p *cluster.Pod) { w.u32(e.value(from(p), key)) })
		}
	}
	one("namespace", abi.PodNamespace, abi.TypeU32, func(w *writer, p *cluster.Pod) { w.u32(e.Dict.Intern(p.Metadata.Namespace)) })
	one("priority", abi.PodPriority, abi.TypeI32, func(w *writer, p *cluster.Pod) { w.u32(uint32(priority(p))) })
	if r.HasPods("requests") {
		for k, resource := range r.Resources {
			e.slots(c, n, b.add(abi.PodRequests, uint32(k), abi.TypeI64), func(w *writer, p *cluster.Pod) { w.i64(p.Requests(resource)) })
		}
	}
	list("labels", abi.PodLabels, abi.TypePair, func(w *writer, p *cluster.Pod) { w.span(e.pairs(p.Metadata.Labels)) })
	keyed(abi.PodAnnotations, r.PodAnnotations, func(p *cluster.Pod) map[string]string { return p.Metadata.Annotations })
	one("owner", abi.PodOwner, abi.TypeU32, func(w *writer, p *cluster.Pod) { w.u32(e.owner(p)) })
	keyed(abi.PodLabel, r.PodLabels, func(p *cluster.Pod) map[string]string { return p.Metadata.Labels })
	one("flags", abi.PodFlags, abi.TypeU8, func(w *writer, p *cluster.Pod) {
		var flags uint8
		if p.Metadata.Deletion != "" {
			flags = abi.PodTerminating
		}
		w.u8(flags)
	})
	list("uid", abi.PodUID, abi.TypeBytes, func(w *writer, p *cluster.Pod) { w.text(p.Metadata.UID) })
	list("name", abi.PlacedPodName, abi.TypeBytes, func(w *writer, p *cluster.Pod) { w.text(p.Metadata.Name) })
	t := b.table()
	return &t
}

// slots writes a column of table 2.
func (e *Encoder) slots(c *cluster.Cluster, n *Numbering, w *writer, value func(w *writer, p *cluster.Pod)) {
	for _, pod := range n.Slots {
		if pod >= 0 && e.Reads.Sees(c.Pods[pod].Metadata.Namespace) {
			value(w, &c.Pods[pod])
		} else {
			w.column.Data = append(w.column.Data, make([]byte, w.column.Type.Size())...)
		}
	}
}

// namespaces encodes table 4.
func (e *Encoder) namespaces(c *cluster.Cluster, n *Numbering) *Table {
	b := tableOf(abi.TableNamespaces, uint32(len(n.Namespaces)), 0)
	r := e.Reads
	var labels *writer
	name := b.add(abi.NamespaceName, 0, abi.TypeU32) // declared or not (ABI-4.14)
	if r.HasNamespace("labels") {
		labels = b.list(abi.NamespaceLabels, abi.TypePair)
	}
	var keyed []*writer
	for k := range r.NamespaceLabels {
		keyed = append(keyed, b.add(abi.NamespaceLabel, uint32(k), abi.TypeU32))
	}
	for _, i := range n.Namespaces {
		m := &cluster.Metadata{}
		there := i >= 0 && r.Sees(c.Namespaces[i].Metadata.Name)
		if there {
			m = &c.Namespaces[i].Metadata
		}
		write(name, func(w *writer) {
			if there {
				w.u32(e.Dict.Intern(m.Name))
			} else {
				w.u32(0)
			}
		})
		write(labels, func(w *writer) { w.span(e.pairs(m.Labels)) })
		e.keys(keyed, r.NamespaceLabels, m.Labels)
	}
	t := b.table()
	return &t
}
