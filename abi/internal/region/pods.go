package region

import "slices"

// Pod is a row of the table of pods.
type Pod struct {
	Namespace, Name, UID string
	Labels, Annotations  map[string]string
	Priority             int32
	// Owner is `Kind/name`, empty for none.
	Owner string
	// Requests is in milli-CPU, bytes or a count; NonZero is cpu and memory with
	// kube-scheduler's values for containers without a request.
	Requests    func(resource string) int64
	NonZero     [2]int64
	Ports       []Port
	Terminating bool
	// Limits is as Requests; −1 for none.
	Limits func(resource string) int64
	QOS    string
	// AssignedAt and CreatedAt are in seconds since 1970; 0 for none.
	AssignedAt, CreatedAt int64
	Running, Ready        bool
}

// Pods writes table 2, by slot. A slot without a pod, or with one that the plugin
// may not see, is nil (ABI-4.10, ABI-4.11).
func (e *Encoder) Pods(all []*Pod) Table {
	t := Table{ID: 2, Rows: uint32(len(all))}
	r := &e.Reads
	has := func(name string) bool { return slices.Contains(r.Pods, name) }
	text := func(b []byte, s string) []byte { return append(b, s...) }
	if has("namespace") {
		column(&t, all, 64, 0, typeU32, func(b []byte, p *Pod) []byte { return u32(b, e.ID(p.Namespace)) })
	}
	if has("priority") {
		column(&t, all, 65, 0, typeI32, func(b []byte, p *Pod) []byte { return u32(b, uint32(p.Priority)) })
	}
	for i, name := range r.Resources {
		if has("requests") {
			column(&t, all, 66, i, typeI64, func(b []byte, p *Pod) []byte { return i64(b, p.Requests(name)) })
		}
	}
	if has("labels") {
		lists(e, &t, all, 67, typePair, func(b []byte, p *Pod) []byte { return e.Pairs(b, p.Labels) })
	}
	keyed(e, &t, all, 68, r.PodAnnotations, func(p *Pod) map[string]string { return p.Annotations })
	if has("owner") {
		column(&t, all, 69, 0, typeU32, func(b []byte, p *Pod) []byte { return u32(b, e.Text(p.Owner)) })
	}
	keyed(e, &t, all, 70, r.PodLabels, func(p *Pod) map[string]string { return p.Labels })
	if has("flags") {
		column(&t, all, 71, 0, typeU8, func(b []byte, p *Pod) []byte { return e.flags(b, p.Terminating) })
	}
	if has("uid") {
		lists(e, &t, all, 73, typeBytes, func(b []byte, p *Pod) []byte { return text(b, p.UID) })
	}
	if has("name") {
		lists(e, &t, all, 74, typeBytes, func(b []byte, p *Pod) []byte { return text(b, p.Name) })
	}
	e.laterOfPods(&t, all, has)
	return t
}

// laterOfPods writes the columns that came with ABI 1.1.
func (e *Encoder) laterOfPods(t *Table, all []*Pod, has func(string) bool) {
	for i, name := range e.Reads.Resources {
		if has("limits") {
			column(t, all, 75, i, typeI64, func(b []byte, p *Pod) []byte { return i64(b, p.Limits(name)) })
		}
	}
	if has("qos") {
		column(t, all, 76, 0, typeU32, func(b []byte, p *Pod) []byte { return u32(b, e.Text(p.QOS)) })
	}
	if has("assignedAt") {
		column(t, all, 77, 0, typeI64, func(b []byte, p *Pod) []byte { return i64(b, p.AssignedAt) })
	}
	if has("createdAt") {
		column(t, all, 78, 0, typeI64, func(b []byte, p *Pod) []byte { return i64(b, p.CreatedAt) })
	}
	if has("state") {
		column(t, all, 79, 0, typeU8, func(b []byte, p *Pod) []byte { return e.flags(b, p.Running, p.Ready) })
	}
}

// Namespace is a row of the table of namespaces.
type Namespace struct {
	Name   string
	Labels map[string]string
	// Requested is what its pods on nodes request of a resource; for pods their number.
	Requested func(resource string) int64
	// Objects has what objects of the namespace say, by columns as manifests have them.
	Objects map[string]Values
}

// HasNode reports whether a name is in the list node.
func (r *Reads) HasNode(name string) bool { return slices.Contains(r.Node, name) }

// HasNamespaces reports whether there is a table of namespaces.
func (r *Reads) HasNamespaces() bool {
	return len(r.Namespaces) > 0 || len(r.NamespaceLabels) > 0 ||
		slices.ContainsFunc(r.ObjectColumns, func(column string) bool { return r.joined(column, "namespace") })
}

// Namespaces writes table 4, in which names are always (ABI-4.14). Rows that are nil
// are empty.
func (e *Encoder) Namespaces(all []*Namespace) Table {
	t := Table{ID: 4, Rows: uint32(len(all))}
	column(&t, all, 224, 0, typeU32, func(b []byte, n *Namespace) []byte { return u32(b, e.ID(n.Name)) })
	if slices.Contains(e.Reads.Namespaces, "labels") {
		lists(e, &t, all, 225, typePair, func(b []byte, n *Namespace) []byte { return e.Pairs(b, n.Labels) })
	}
	keyed(e, &t, all, 226, e.Reads.NamespaceLabels, func(n *Namespace) map[string]string { return n.Labels })
	if slices.Contains(e.Reads.Namespaces, "requested") {
		for i, name := range e.Reads.Resources {
			column(&t, all, 227, i, typeI64, func(b []byte, n *Namespace) []byte { return i64(b, n.Requested(name)) })
		}
	}
	objects(e, &t, all, 228, 229, "namespace", func(n *Namespace) map[string]Values { return n.Objects })
	return t
}
