package berthtest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// nodes writes the nodes table.
func (img *image) nodes(m *Manifest, all []*rowNode, slots map[*Pod]uint32, overlays uint32, r *rand.Rand) table {
	d := &img.dict
	t := table{id: 1, rows: img.rows, capacity: img.capacity, overlays: overlays}
	scalar := func(id, arg, typ uint32, f func(*rowNode) []byte) {
		var data []byte
		for _, node := range all {
			if node == nil {
				data = append(data, make([]byte, elementSize[typ])...)
			} else {
				data = append(data, f(node)...)
			}
		}
		t.each(id, arg, typ, data)
	}
	lists := func(id, typ uint32, f func(*rowNode) []byte) {
		rows := make([][]byte, len(all))
		for i, node := range all {
			if node != nil {
				rows[i] = f(node)
			}
		}
		t.spans(id, typ, rows)
	}
	if m.has("node", "name") {
		lists(1, typeBytes, func(n *rowNode) []byte { return []byte(n.Name) })
	}
	if m.has("node", "flags") {
		scalar(2, 0, typeU8, func(n *rowNode) []byte {
			if n.Unschedulable {
				return []byte{1}
			}
			return []byte{0}
		})
	}
	for i, name := range m.Reads["resources"] {
		if m.has("node", "allocatable") {
			scalar(3, uint32(i), typeI64, func(n *rowNode) []byte { return i64(nil, n.Allocatable[name]) })
		}
		if m.has("node", "requested") {
			scalar(4, uint32(i), typeI64, func(n *rowNode) []byte { return i64(nil, requested(n, name)) })
		}
	}
	if m.has("node", "nonZeroRequested") {
		for i := range uint32(2) {
			scalar(5, i, typeI64, func(n *rowNode) []byte {
				sum := int64(0)
				for _, p := range n.pods {
					sum += nonZero(p)[i]
				}
				return i64(nil, sum)
			})
		}
	}
	if m.has("node", "labels") {
		lists(6, typePair, func(node *rowNode) []byte { return pairs(d, node.Labels, r) })
	}
	for i, key := range m.Reads["nodeAnnotations"] {
		scalar(7, uint32(i), typeU32, func(n *rowNode) []byte { return u32(nil, valueID(d, n.Annotations, key)) })
	}
	if m.has("node", "taints") {
		lists(8, typeTaint, func(node *rowNode) []byte {
			var b []byte
			for _, i := range perm(len(node.Taints), r) {
				t := node.Taints[i]
				b = u32(b, d.id(t.Key), d.id(t.Value), effect(t.Effect))
			}
			return b
		})
	}
	if m.has("node", "ports") {
		lists(9, typePort, func(n *rowNode) []byte {
			var b []byte
			for _, p := range n.pods {
				b = ports(b, d, p.HostPorts)
			}
			return b
		})
	}
	if m.has("node", "images") {
		lists(10, typeImg, func(n *rowNode) []byte {
			var b []byte
			for _, name := range slices.Sorted(maps.Keys(n.Images)) {
				b = i64(u32(b, d.id(name), 0), n.Images[name])
			}
			return b
		})
	}
	for i, typ := range m.Reads["nodeConditions"] {
		scalar(11, uint32(i), typeU8, func(n *rowNode) []byte {
			return []byte{map[string]byte{"True": 1, "False": 2, "Unknown": 3}[n.Conditions[typ]]}
		})
	}
	if m.has("node", "pods") {
		lists(12, typeU32, func(node *rowNode) []byte {
			var b []byte
			for _, i := range perm(len(node.pods), r) {
				b = u32(b, slots[node.pods[i]])
			}
			return b
		})
	}
	if m.has("node", "generation") {
		g := uint64(0)
		scalar(13, 0, typeU64, func(*rowNode) []byte { g++; return i64(nil, int64(g)) })
	}
	for i, key := range m.Reads["nodeLabels"] {
		scalar(14, uint32(i), typeU32, func(n *rowNode) []byte { return u32(nil, valueID(d, n.Labels, key)) })
	}
	if m.has("node", "zone") {
		scalar(16, 0, typeU32, func(n *rowNode) []byte {
			for _, key := range []string{"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"} {
				if id := valueID(d, n.Labels, key); id != 0 {
					return u32(nil, id)
				}
			}
			return u32(nil, 0)
		})
	}
	return t
}

func requested(n *rowNode, resource string) int64 {
	if resource == "pods" {
		return int64(len(n.pods))
	}
	sum := int64(0)
	for _, p := range n.pods {
		sum += p.Requests[resource]
	}
	return sum
}

func nonZero(p *Pod) [2]int64 {
	v := p.NonZero
	for i, name := range [2]string{"cpu", "memory"} {
		if v[i] == 0 {
			v[i] = p.Requests[name]
		}
	}
	return v
}

func valueID(d *dict, m map[string]string, key string) uint32 {
	if v, ok := m[key]; ok {
		return d.id(v)
	}
	return 0
}

func owner(d *dict, p *Pod) uint32 {
	if p.Owner == "" {
		return 0
	}
	return d.id(p.Owner)
}

func pairs(d *dict, m map[string]string, r *rand.Rand) []byte {
	keys := slices.Sorted(maps.Keys(m))
	var b []byte
	for _, i := range perm(len(keys), r) {
		b = u32(b, d.id(keys[i]), d.id(m[keys[i]]))
	}
	return b
}

func ports(b []byte, d *dict, ports []Port) []byte {
	for _, p := range ports {
		ip := p.IP
		if ip == "" {
			ip = "0.0.0.0"
		}
		b = binary.LittleEndian.AppendUint16(u32(b, d.id(ip)), p.Port)
		b = append(b, map[string]byte{"": 1, "TCP": 1, "UDP": 2, "SCTP": 3}[p.Protocol], 0)
	}
	return b
}

func effect(name string) uint32 {
	e, ok := map[string]uint32{"": 0, "NoSchedule": 1, "PreferNoSchedule": 2, "NoExecute": 3}[name]
	if !ok {
		panic(fmt.Sprintf("berthtest: unknown taint effect %q", name))
	}
	return e
}
