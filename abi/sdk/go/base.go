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
	pod     podView
	consts  constants
	reasons reasons
	answer  buffer // pre_filter's row set
	state   []byte // what StateGet returned in this call
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
	c.pod.core = c
	c.pod.requests = make([]int64, len(r.lists[listResources]))
	c.pod.annotations = make([]ID, len(r.lists[listPodAnnotations]))
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

// Level is how important a text of a log is.
type Level int32

// The levels.
const (
	Debug Level = iota
	Info
	Warning
	Failure
)

// Log writes to the plugin's log. It needs `log` in the manifest's list `host`.
func (b Base) Log(level Level, text string) { b.c.log(level, text) }

// StateGet returns the value of a key of the plugin's state of this pod's cycle.
// It is valid until the call returns. It needs `state_get` in the list `host`.
func (b Base) StateGet(key string) (value []byte, ok bool) { return b.c.stateGet(key) }

// StateSet sets the value of a key, and reports whether the limits allow it.
// State outlives instances and must hold no ids and no row numbers. In a plugin
// of scope node only PreFilter may set state. It needs `state_set` in the list
// `host`.
func (b Base) StateSet(key string, value []byte) bool { return b.c.stateSet(key, value) }

// str returns bytes as a string without copying them.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
