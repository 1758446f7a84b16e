package image

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// nodes encodes table 1.
func (e *Encoder) nodes(c *cluster.Cluster, n *Numbering) *Table {
	b := tableOf(abi.TableNodes, uint32(len(n.Nodes)), uint32(len(n.Overlays)))
	b.t.Base = n.Base
	columns := e.nodeColumns(b)
	for _, node := range n.Nodes {
		var on []int
		for i := range c.Pods {
			if c.Pods[i].Spec.NodeName == c.Nodes[node].Metadata.Name {
				on = append(on, i)
			}
		}
		e.node(c, n, columns, node, on)
	}
	for _, o := range n.Overlays {
		e.node(c, n, columns, o.Node, o.Pods)
	}
	t := b.table()
	return &t
}

// nodeColumns are writers of the declared columns, nil where one is not.
type nodeColumns struct {
	name, flags, labels, taints, ports, images, pods, generation, zone *writer
	allocatable, requested, nonZero, annotations, conditions, label    []*writer
}

func (e *Encoder) nodeColumns(b *builder) *nodeColumns {
	r := e.Reads
	list := func(name string, id abi.ColumnID, kind abi.Type) *writer {
		if !r.HasNode(name) {
			return nil
		}
		return b.list(id, kind)
	}
	one := func(name string, id abi.ColumnID, kind abi.Type) *writer {
		if !r.HasNode(name) {
			return nil
		}
		return b.add(id, 0, kind)
	}
	each := func(declared bool, n int, id abi.ColumnID, kind abi.Type) (out []*writer) {
		for arg := range n {
			if declared {
				out = append(out, b.add(id, uint32(arg), kind))
			}
		}
		return out
	}
	return &nodeColumns{
		name: list("name", abi.NodeName, abi.TypeBytes), flags: one("flags", abi.NodeFlags, abi.TypeU8),
		allocatable: each(r.HasNode("allocatable"), len(r.Resources), abi.NodeAllocatable, abi.TypeI64),
		requested:   each(r.HasNode("requested"), len(r.Resources), abi.NodeRequested, abi.TypeI64),
		nonZero:     each(r.HasNode("nonZeroRequested"), 2, abi.NodeNonZeroRequested, abi.TypeI64),
		labels:      list("labels", abi.NodeLabels, abi.TypePair),
		annotations: each(true, len(r.NodeAnnotations), abi.NodeAnnotations, abi.TypeU32),
		taints:      list("taints", abi.NodeTaints, abi.TypeTaint), ports: list("ports", abi.NodePorts, abi.TypePort),
		images:     list("images", abi.NodeImages, abi.TypeImage),
		conditions: each(true, len(r.NodeConditions), abi.NodeConditions, abi.TypeU8),
		pods:       list("pods", abi.NodePods, abi.TypeU32),
		generation: one("generation", abi.NodeGenerations, abi.TypeU64),
		label:      each(true, len(r.NodeLabels), abi.NodeLabel, abi.TypeU32),
		zone:       one("zone", abi.NodeZone, abi.TypeU32),
	}
}

// node writes one row: a node with the pods that it is to have.
func (e *Encoder) node(c *cluster.Cluster, n *Numbering, to *nodeColumns, index int, on []int) {
	node := &c.Nodes[index]
	write(to.name, func(w *writer) { w.text(node.Metadata.Name) })
	write(to.flags, func(w *writer) {
		var flags uint8
		if node.Spec.Unschedulable {
			flags = abi.NodeUnschedulable
		}
		w.u8(flags)
	})
	e.quantities(c, to, node, on)
	write(to.labels, func(w *writer) { w.span(e.pairs(node.Metadata.Labels)) })
	e.keys(to.annotations, e.Reads.NodeAnnotations, node.Metadata.Annotations)
	write(to.taints, func(w *writer) {
		var all []byte
		for _, t := range node.Spec.Taints {
			all = le(all, e.Dict.Intern(t.Key), e.Dict.Intern(t.Value), uint32(effect(t.Effect)))
		}
		w.span(all)
	})
	write(to.ports, func(w *writer) {
		var all []byte
		for _, i := range on {
			for _, p := range e.ports(&c.Pods[i]) {
				all = append(le(all, p.IP), byte(p.Port), byte(p.Port>>8), byte(p.Protocol), 0)
			}
		}
		w.span(all)
	})
	write(to.images, func(w *writer) {
		var all []byte
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				all = le(all, e.Dict.Intern(name), 0, uint32(image.Size), uint32(image.Size>>32))
			}
		}
		w.span(all)
	})
	for k, w := range to.conditions {
		w.u8(condition(node, e.Reads.NodeConditions[k]))
	}
	write(to.pods, func(w *writer) {
		var all []byte
		for slot, pod := range n.Slots {
			if pod >= 0 && slices.Contains(on, pod) && e.Reads.Sees(c.Pods[pod].Metadata.Namespace) {
				all = le(all, uint32(slot))
			}
		}
		w.span(all)
	})
	write(to.generation, func(w *writer) { w.i64(int64(index) + 1) })
	e.keys(to.label, e.Reads.NodeLabels, node.Metadata.Labels)
	write(to.zone, func(w *writer) {
		zone, ok := node.Metadata.Labels["topology.kubernetes.io/zone"]
		if !ok {
			zone, ok = node.Metadata.Labels["failure-domain.beta.kubernetes.io/zone"]
		}
		if !ok {
			w.u32(0)
			return
		}
		w.u32(e.Dict.Intern(zone))
	})
}

// quantities writes columns 3, 4 and 5.
func (e *Encoder) quantities(c *cluster.Cluster, to *nodeColumns, node *cluster.Node, on []int) {
	for k, w := range to.allocatable {
		w.i64(node.Allocatable(e.Reads.Resources[k]))
	}
	for k, w := range to.requested {
		resource := e.Reads.Resources[k]
		sum := int64(0)
		for _, i := range on {
			if resource == "pods" {
				sum++
			} else {
				sum += c.Pods[i].Requests(resource)
			}
		}
		w.i64(sum)
	}
	if len(to.nonZero) == 0 {
		return
	}
	var cpu, memory int64
	for _, i := range on {
		podCPU, podMemory := c.Pods[i].NonZeroRequests()
		cpu, memory = cpu+podCPU, memory+podMemory
	}
	to.nonZero[0].i64(cpu)
	to.nonZero[1].i64(memory)
}

func write(w *writer, value func(w *writer)) {
	if w != nil {
		value(w)
	}
}

// keys writes a row of the dense columns of declared keys.
func (e *Encoder) keys(to []*writer, keys []string, from map[string]string) {
	for k, w := range to {
		w.u32(e.value(from, keys[k]))
	}
}

// value is the id of a key's value, 0 without one.
func (e *Encoder) value(from map[string]string, key string) uint32 {
	if v, ok := from[key]; ok {
		return e.Dict.Intern(v)
	}
	return 0
}

func (e *Encoder) pairs(labels map[string]string) (out []byte) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = le(out, e.Dict.Intern(key), e.Dict.Intern(labels[key]))
	}
	return out
}

func (e *Encoder) owner(p *cluster.Pod) uint32 {
	for _, o := range p.Metadata.Owners {
		if o.Controller {
			return e.Dict.Intern(o.Kind + "/" + o.Name)
		}
	}
	return 0
}

// ports are the host ports of a pod.
func (e *Encoder) ports(p *cluster.Pod) (out []wire.Port) {
	for i := range p.Spec.Containers {
		for _, port := range p.Spec.Containers[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			ip := port.HostIP
			if ip == "" {
				ip = "0.0.0.0"
			}
			protocol := map[string]wire.Protocol{"": wire.TCP, "TCP": wire.TCP, "UDP": wire.UDP, "SCTP": wire.SCTP}[port.Protocol]
			out = append(out, wire.Port{IP: e.Dict.Intern(ip), Port: uint16(port.HostPort), Protocol: protocol})
		}
	}
	return out
}

func effect(name string) wire.Effect {
	return map[string]wire.Effect{"NoSchedule": wire.NoSchedule, "PreferNoSchedule": wire.PreferNoSchedule, "NoExecute": wire.NoExecute}[name]
}

func condition(n *cluster.Node, typ string) uint8 {
	for _, c := range n.Status.Conditions {
		if c.Type == typ {
			return map[string]uint8{"True": 1, "False": 2, "Unknown": 3}[c.Status]
		}
	}
	return 0
}

func priority(p *cluster.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// imageName is as the host's ImageLocality normalises it.
func imageName(image string) string { return view.ImageName(image) }
