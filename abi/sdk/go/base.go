package berth

import "unsafe"

// Base ties a plugin to the host. A plugin embeds it, and gets it from [Load].
//
// A Base serves one call at a time.
type Base struct{ c *core }

// core is what a plugin's views and answers are made of.
type core struct {
	reads   reads
	mem     memory
	native  *Native // nil in a module
	callAt  uint32
	call    *callRecord // at callAt; stale when the memory moved
	columns columns
	pod     podView // the pod to be placed, or the one of the pod list that is asked about
	added   podView // add_pod's and remove_pod's
	event   eventView
	consts  constants
	reasons reasons
	asked   directives
	answer  buffer // pre_filter's row set
	copies  []byte // what host functions returned in this call
}

// Load reads the plugin's manifest, which resolves handles. It panics if the
// manifest is not one: a plugin embeds its manifest, so that is a mistake of the
// program.
func Load(manifest []byte) Base {
	r, err := readManifest(manifest)
	if err != nil {
		panic("berth: manifest.json: " + err.Error())
	}
	c := &core{reads: r, mem: memory{limit: wholeMemory}}
	c.columns.core = c
	c.columns.size(&c.reads)
	for _, v := range []*podView{&c.pod, &c.added, &c.event.oldPod, &c.event.newPod} {
		v.prepare(c)
	}
	return Base{c: c}
}

func (b Base) core() *core { return b.c }

// handle returns the index of a declared name.
func (b Base) handle(l list, name string) uint32 {
	for i, known := range b.c.reads.lists[l] {
		if known == name {
			return uint32(i)
		}
	}
	panic("berth: manifest.json: reads." + listNames[l] + " does not list " + name)
}

// Resource returns the handle of a resource, such as `cpu`. Like the other
// handles it must be listed in the manifest, or Resource panics.
func (b Base) Resource(name string) Resource { return Resource(b.handle(listResources, name)) }

// NodeLabel returns the handle of a label key of nodes.
func (b Base) NodeLabel(key string) NodeLabel { return NodeLabel(b.handle(listNodeLabels, key)) }

// NodeAnnotation returns the handle of an annotation key of nodes.
func (b Base) NodeAnnotation(key string) NodeAnnotation {
	return NodeAnnotation(b.handle(listNodeAnnotations, key))
}

// NodeCondition returns the handle of a type of node condition.
func (b Base) NodeCondition(typ string) NodeCondition {
	return NodeCondition(b.handle(listNodeConditions, typ))
}

// PodLabel returns the handle of a label key of pods on nodes.
func (b Base) PodLabel(key string) PodLabel { return PodLabel(b.handle(listPodLabels, key)) }

// PodAnnotation returns the handle of an annotation key of pods, the incoming one
// and those on nodes.
func (b Base) PodAnnotation(key string) PodAnnotation {
	return PodAnnotation(b.handle(listPodAnnotations, key))
}

// NamespaceLabel returns the handle of a label key of namespaces.
func (b Base) NamespaceLabel(key string) NamespaceLabel {
	return NamespaceLabel(b.handle(listNamespaceLabels, key))
}

// Published returns the handle of a key that another plugin publishes, as
// `plugin/key`.
func (b Base) Published(name string) Published { return Published(b.handle(listPublished, name)) }

// Const returns a constant string, whose id is at hand in every call. Constants
// are made with the plugin or in Configure.
func (b Base) Const(text string) Const { return b.c.consts.add(text) }

// Reason returns a reason of one or more texts, which people read in events;
// kube-scheduler's words are best where it has them ("node(s) had …").
//
// A reason that is made with the plugin or in Configure lasts, and using it does
// not allocate. One that is made in a call holds for that call. A call, of all
// nodes or of a block of them, has room for 1,024 reasons of 65,536 bytes in all;
// further ones are 0, no reason. So a reason that is different for every node does
// not scale.
func (b Base) Reason(texts ...string) Reason { return b.c.reasons.add(texts) }

// Text returns the string of an id; the empty string for Absent.
func (b Base) Text(id ID) string { return b.c.columns.text(id) }

// Snapshot returns the snapshot of this call.
func (b Base) Snapshot() Snapshot { return Snapshot{&b.c.columns} }

// str returns bytes as a string without copying them.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
