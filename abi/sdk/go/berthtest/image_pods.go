package berthtest

import "math/rand/v2"

// place gives each pod on a row a slot; some slots stay free.
func place(rows []*rowNode, r *rand.Rand) (map[*Pod]uint32, []*Pod) {
	var pods []*Pod
	seen := map[*Pod]bool{}
	for _, row := range rows {
		if row == nil {
			continue
		}
		for _, pod := range row.pods {
			if !seen[pod] {
				seen[pod], pods = true, append(pods, pod)
			}
		}
	}
	placed := make([]*Pod, len(pods))
	if r != nil {
		placed = make([]*Pod, len(pods)+2)
	}
	slots := map[*Pod]uint32{}
	for i, slot := range perm(len(placed), r)[:len(pods)] {
		placed[slot], slots[pods[i]] = pods[i], uint32(slot)
	}
	return slots, placed
}

// pods writes the pods table.
func (img *image) pods(m *Manifest, placed []*Pod, r *rand.Rand) table {
	d := &img.dict
	t := table{id: 2, rows: uint32(len(placed)), capacity: uint32(len(placed))}
	scalar := func(id, arg, typ uint32, f func(*Pod) []byte) {
		var data []byte
		for _, pod := range placed {
			if pod == nil {
				data = append(data, make([]byte, elementSize[typ])...)
			} else {
				data = append(data, f(pod)...)
			}
		}
		t.each(id, arg, typ, data)
	}
	if m.has("pods", "namespace") {
		scalar(64, 0, typeU32, func(p *Pod) []byte { return u32(nil, d.id(p.Namespace)) })
	}
	if m.has("pods", "priority") {
		scalar(65, 0, typeI32, func(p *Pod) []byte { return u32(nil, uint32(p.Priority)) })
	}
	if m.has("pods", "requests") {
		for i, name := range m.Reads["resources"] {
			scalar(66, uint32(i), typeI64, func(p *Pod) []byte { return i64(nil, p.Requests[name]) })
		}
	}
	if m.has("pods", "labels") {
		rows := make([][]byte, len(placed))
		for i, pod := range placed {
			if pod != nil {
				rows[i] = pairs(d, pod.Labels, r)
			}
		}
		t.spans(67, typePair, rows)
	}
	for i, key := range m.Reads["podAnnotations"] {
		scalar(68, uint32(i), typeU32, func(p *Pod) []byte { return u32(nil, valueID(d, p.Annotations, key)) })
	}
	if m.has("pods", "owner") {
		scalar(69, 0, typeU32, func(p *Pod) []byte { return u32(nil, owner(d, p)) })
	}
	for i, key := range m.Reads["podLabels"] {
		scalar(70, uint32(i), typeU32, func(p *Pod) []byte { return u32(nil, valueID(d, p.Labels, key)) })
	}
	if m.has("pods", "flags") {
		scalar(71, 0, typeU8, func(p *Pod) []byte {
			if p.Terminating {
				return []byte{1}
			}
			return []byte{0}
		})
	}
	texts := func(id uint32, f func(*Pod) string) {
		rows := make([][]byte, len(placed))
		for i, pod := range placed {
			if pod != nil {
				rows[i] = []byte(f(pod))
			}
		}
		t.spans(id, typeBytes, rows)
	}
	if m.has("pods", "uid") {
		texts(73, (*Pod).uid)
	}
	if m.has("pods", "name") {
		texts(74, func(p *Pod) string { return p.Name })
	}
	return t
}

// namespaces writes the namespaces table, with an empty row between the others.
func (img *image) namespaces(m *Manifest, all []Namespace, r *rand.Rand) table {
	d := &img.dict
	var rows []*Namespace
	if len(all) > 0 {
		rows = make([]*Namespace, len(all)+1)
	}
	for i, row := range perm(len(rows), r)[:len(all)] {
		rows[row] = &all[i]
	}
	t := table{id: 4, rows: uint32(len(rows)), capacity: uint32(len(rows))}
	scalar := func(id, arg uint32, f func(*Namespace) uint32) {
		var data []byte
		for _, n := range rows {
			if n == nil {
				data = u32(data, 0)
			} else {
				data = u32(data, f(n))
			}
		}
		t.each(id, arg, typeU32, data)
	}
	if m.has("namespaces", "name") {
		scalar(224, 0, func(n *Namespace) uint32 { return d.id(n.Name) })
	}
	if m.has("namespaces", "labels") {
		lists := make([][]byte, len(rows))
		for i, n := range rows {
			if n != nil {
				lists[i] = pairs(d, n.Labels, r)
			}
		}
		t.spans(225, typePair, lists)
	}
	for i, key := range m.Reads["namespaceLabels"] {
		scalar(226, uint32(i), func(n *Namespace) uint32 { return valueID(d, n.Labels, key) })
	}
	return t
}
