package berthtest

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/berth-scheduler/berth/abi"
)

// record writes a pod record (ABI-6.1).
func (img *image) record(m *Manifest, c *content, p *Pod) []byte {
	d, e := &img.dict, &img.encoder
	type field struct {
		id, arg, count uint32
		data           []byte
	}
	var fields []field
	add := func(id, arg, count uint32, data []byte) {
		if !m.hides(abi.ColumnID(id), arg) {
			fields = append(fields, field{id, arg, count, data})
		}
	}
	one := func(id, arg uint32, data []byte) { add(id, arg, 1, data) }
	if m.shows("name") {
		add(128, 0, uint32(len(p.Name)), []byte(p.Name))
	}
	if m.shows("uid") {
		add(152, 0, uint32(len(p.uid())), []byte(p.uid()))
	}
	if m.shows("nodeName") {
		add(129, 0, uint32(len(p.NodeName)), []byte(p.NodeName))
	}
	if m.shows("schedulingGates") {
		var b []byte
		for _, name := range p.SchedulingGates {
			b = u32(b, d.id(name))
		}
		add(134, 0, uint32(len(p.SchedulingGates)), b)
	}
	if m.shows("namespaceLabels") {
		var labels map[string]string
		for i := range c.namespaces {
			if c.namespaces[i].Name == p.Namespace {
				labels = c.namespaces[i].Labels
			}
		}
		add(151, 0, uint32(len(labels)), e.Pairs(nil, labels))
	}
	if m.shows("hostPorts") {
		add(132, 0, uint32(len(p.HostPorts)), e.Ports(nil, ports(p.HostPorts)))
	}
	if m.shows("tolerations") {
		add(131, 0, uint32(len(p.Tolerations)), tolerations(d, p.Tolerations))
	}
	if m.shows("images") {
		var b []byte
		for _, name := range p.Images {
			b = u32(b, d.id(name))
		}
		add(133, 0, uint32(len(p.Images)), b)
	}
	if m.shows("namespace") {
		one(140, 0, u32(nil, d.id(p.Namespace)))
	}
	if m.shows("priority") {
		one(141, 0, i64(nil, int64(p.Priority)))
	}
	if m.shows("requests") {
		for i, name := range m.Reads["resources"] {
			one(142, uint32(i), i64(nil, p.request(name)))
		}
	}
	if m.shows("labels") {
		add(143, 0, uint32(len(p.Labels)), e.Pairs(nil, p.Labels))
	}
	if m.shows("annotations") {
		for i, key := range m.Reads["podAnnotations"] {
			one(144, uint32(i), u32(nil, e.Value(p.Annotations, key)))
		}
	}
	if m.shows("owner") {
		one(145, 0, u32(nil, e.Text(p.Owner)))
	}
	if m.shows("nonZeroRequested") {
		v := nonZero(p)
		add(150, 0, 2, i64(i64(nil, v[0]), v[1]))
	}
	if m.shows("createdAt") {
		one(154, 0, i64(nil, p.CreatedAt))
	}
	for i, text := range []string{p.PriorityClass, p.ServiceAccount, cmp.Or(p.PreemptionPolicy, "PreemptLowerPriority"), p.Group} {
		if m.shows([]string{"priorityClass", "serviceAccount", "preemptionPolicy", "group"}[i]) {
			one(155+uint32(i), 0, u32(nil, e.Text(text)))
		}
	}
	if m.shows("limits") {
		for i, name := range m.Reads["resources"] {
			one(159, uint32(i), i64(nil, p.limit(name)))
		}
	}
	if m.shows("qos") {
		one(160, 0, u32(nil, d.id(p.qos())))
	}
	if m.shows("claims") {
		var b []byte
		for _, name := range p.Claims {
			b = u32(b, d.id(name))
		}
		add(161, 0, uint32(len(p.Claims)), b)
	}
	if m.shows("now") {
		one(164, 0, i64(nil, m.Manifest.Reads.Now(c.now)))
	}
	if m.shows("containers") {
		var b, amounts []byte
		for i := range p.Containers {
			c := &p.Containers[i]
			kind := map[string]uint32{"app": 1, "init": 2, "sidecar": 3}[c.Kind]
			b = u32(b, d.id(c.Name), kind, d.id(c.Image), uint32(len(amounts)/8))
			for _, name := range m.Reads["resources"] {
				limit, limited := c.Limits[name]
				if !limited {
					limit = -1
				}
				amounts = i64(i64(amounts, c.Requests[name]), limit)
			}
		}
		add(165, 0, uint32(len(p.Containers)), b)
		add(166, 0, uint32(len(amounts)/8), amounts)
	}
	s := selectors{dict: d}
	if m.shows("nodeSelector") {
		var all []Requirement
		for _, key := range slices.Sorted(maps.Keys(p.NodeSelector)) {
			all = append(all, Requirement{Key: key, Operator: "In", Values: []string{p.NodeSelector[key]}})
		}
		add(130, 0, uint32(len(all)), s.write(all))
	}
	if m.shows("affinity") {
		if p.Required != nil {
			add(146, 0, uint32(len(p.Required)), s.terms(p.Required, func(int) int32 { return 0 }))
		}
		terms := make([][]Requirement, len(p.Preferred))
		for i := range p.Preferred {
			terms[i] = p.Preferred[i].Requirements
		}
		add(147, 0, uint32(len(terms)), s.terms(terms, func(i int) int32 { return p.Preferred[i].Weight }))
	}
	if m.shows("affinity") || m.shows("nodeSelector") {
		add(148, 0, uint32(len(s.requirements)/24), s.requirements)
		add(149, 0, uint32(len(s.values)/4), s.values)
	}
	slices.SortFunc(fields, func(a, b field) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.arg, b.arg)) })

	head := u32(nil, uint32(len(fields)), 0)
	var data []byte
	start := uint32(8 + 16*len(fields))
	for _, f := range fields {
		for len(data)%8 != 0 {
			data = append(data, 0)
		}
		head = u32(head, f.id, f.arg, start+uint32(len(data)), f.count)
		data = append(data, f.data...)
	}
	binary.LittleEndian.PutUint32(head[4:], start+uint32(len(data)))
	return append(head, data...)
}

func tolerations(d *dict, all []Toleration) []byte {
	var b []byte
	for _, t := range all {
		key, operator, seconds := uint32(0), uint32(1), int64(-1)
		if t.Key != "" {
			key = d.id(t.Key)
		}
		if t.Operator == "Exists" {
			operator = 2
		}
		if t.Seconds != nil {
			seconds = *t.Seconds
		}
		b = i64(u32(b, key, d.id(t.Value), operator, effect(t.Effect)), seconds)
	}
	return b
}

// selectors writes requirements and the ids that they refer to.
type selectors struct {
	dict                 *dict
	requirements, values []byte
}

func (s *selectors) write(all []Requirement) []byte {
	var b []byte
	for _, r := range all {
		operator := map[string]uint32{"In": 1, "NotIn": 2, "Exists": 3, "DoesNotExist": 4, "Gt": 5, "Lt": 6}[r.Operator]
		first, number := uint32(len(s.values)/4), int64(0)
		if operator >= 5 {
			number, _ = strconv.ParseInt(r.Values[0], 10, 64)
			r.Values = nil
		}
		for _, v := range r.Values {
			s.values = u32(s.values, s.dict.id(v))
		}
		b = i64(u32(b, s.dict.id(r.Key), operator, first, uint32(len(r.Values))), number)
	}
	return b
}

func (s *selectors) terms(all [][]Requirement, weight func(int) int32) []byte {
	var b []byte
	for i, term := range all {
		b = u32(b, uint32(len(s.requirements)/24), uint32(len(term)), uint32(weight(i)), 0)
		s.requirements = append(s.requirements, s.write(term)...)
	}
	return b
}
