package berth

import (
	"slices"
	"unsafe"
)

// Base connects a plugin to the host. A plugin embeds the Base that [Load] returns.
//
// A Base serves one call at a time.
type Base struct{ c *core }

// core has the data for a plugin's views and answers.
type core struct {
	reads   reads
	mem     memory
	native  *Native // nil in a module
	callAt  uint32
	call    *callRecord // at callAt; invalid after the memory moves
	columns columns
	pod     podView // the pod to be placed, or the current one of the pod list
	added   podView // for add_pod and remove_pod
	event   eventView
	consts  constants
	reasons reasons
	asked   directives
	answer  buffer // pre_filter's row set
	copies  []byte // results of host functions in this call
	// answered is false until a call ends, and stays so if it panics.
	answered bool
}

// Load reads the plugin's manifest, which resolves handles. It panics if the manifest is
// invalid: a plugin embeds its manifest, so that is a bug of the plugin.
func Load(manifest []byte) Base {
	r, err := readManifest(manifest)
	if err != nil {
		panic("berth: manifest.json: " + err.Error())
	}
	c := &core{reads: r, mem: memory{limit: wholeMemory}}
	c.columns.core = c
	c.size()
	return Base{c: c}
}

// size makes room for what is declared.
func (c *core) size() {
	c.columns.size(&c.reads)
	for _, v := range []*podView{&c.pod, &c.added, &c.event.oldPod, &c.event.newPod} {
		v.prepare(c)
	}
}

func (b Base) core() *core { return b.c }

// find returns the index of a declared name.
func (b Base) find(l list, name string) (uint32, bool) {
	i := slices.Index(b.c.reads.lists[l], name)
	return uint32(i), i >= 0
}

// handle returns the index of a declared name.
func (b Base) handle(l list, name string) uint32 {
	i, ok := b.find(l, name)
	if !ok {
		panic("berth: manifest.json: reads." + listNames[l] + " does not list " + name)
	}
	return i
}

// Resource returns the handle of a resource, such as `cpu`. As for all handles, the manifest
// must list the resource, itself or by fromConfig; otherwise Resource panics. The names of the
// configuration are there in Configure, not before. FindResource and its like report whether a
// name is there.
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

// Feed returns the handle of a feed, with its unit as the manifest has it, such as `node.cpu.usage:milli`.
func (b Base) Feed(name string) Feed { return Feed(b.handle(listFeeds, name)) }

// ObjectColumn returns the handle of a column of objects, as the manifest has it, such as `zones.status.zones[*].free:quantity`.
func (b Base) ObjectColumn(column string) ObjectColumn {
	return ObjectColumn(b.handle(listObjectColumns, column))
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

// Published returns the handle of a key that another plugin publishes, as `plugin/key`.
func (b Base) Published(name string) Published { return Published(b.handle(listPublished, name)) }

// Const returns a constant string whose id is available in every call. Make constants with the
// plugin or in Configure.
func (b Base) Const(text string) Const { return b.c.consts.add(text) }

// Reason returns a reason of one or more texts, which people read in events; use
// kube-scheduler's words if it has them ("node(s) had …").
//
// A reason that is made with the plugin or in Configure is permanent, and using it does not
// allocate. One that is made in a call is valid in that call. A call, for all nodes or a block
// of them, has room for 1,024 reasons of 65,536 bytes in total; further ones are 0, no reason.
// So a different reason for every node does not scale.
func (b Base) Reason(texts ...string) Reason { return b.c.reasons.add(texts) }

// Text returns the string of an id; the empty string for Absent.
func (b Base) Text(id ID) string { return b.c.columns.text(id) }

// Snapshot returns the snapshot of this call.
func (b Base) Snapshot() Snapshot { return Snapshot{&b.c.columns} }

// str returns bytes as a string without copying them.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
