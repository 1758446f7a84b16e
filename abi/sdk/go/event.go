package berth

import "github.com/berth-scheduler/berth/abi"

// EventKind is the resource of a cluster event; package abi has them all.
type EventKind = abi.EventKind

// EventAction is a set of changes; package abi has them all.
type EventAction = abi.EventAction

// HintResult is the answer of Hint, by the names of k8s.io/kube-scheduler/framework.
type HintResult uint8

// The answers of Hint.
const (
	// Queue means that the event makes another attempt worthwhile.
	Queue = HintResult(abi.Success)
	// QueueSkip leaves the pod parked.
	QueueSkip = HintResult(abi.Skip)
)

// Event is a cluster event. Its objects have one kind; an added object has no old version, a
// deleted one no new version.
type Event struct{ v *eventView }

// eventView is the event of a call.
type eventView struct {
	columns        *columns
	record         *eventRecord
	oldPod, newPod podView
}

// parse reads an event record.
func (v *eventView) parse(c *core, address uint32) {
	v.columns, v.record = &c.columns, at[eventRecord](&c.mem, address)
	v.oldPod.parse(&c.mem, v.record.oldPod.address, v.record.oldPod.size, -1)
	v.newPod.parse(&c.mem, v.record.newPod.address, v.record.newPod.size, -1)
}

// Resource is the kind of the object.
func (e Event) Resource() EventKind { return e.v.record.resource }

// Actions is what happened to the object. An update may have several.
func (e Event) Actions() EventAction { return e.v.record.actions }

// Is reports whether the event is about a resource and has at least one of some actions.
func (e Event) Is(resource EventKind, actions EventAction) bool {
	return e.v.record.resource == resource && e.v.record.actions&actions != 0
}

// OldPod is the old version of the pod; its fields are those that the manifest lists in `pod`.
func (e Event) OldPod() (pod Pod, ok bool) { return Pod{&e.v.oldPod}, e.v.record.oldPod.address != 0 }

// NewPod is the new version of the pod.
func (e Event) NewPod() (pod Pod, ok bool) { return Pod{&e.v.newPod}, e.v.record.newPod.address != 0 }

// OldNode is the old version of the node, with what the manifest lists, except the pods on it
// and what is computed from them.
func (e Event) OldNode() (node Node, ok bool) { return e.v.node(e.v.record.oldNode) }

// NewNode is the new version of the node.
func (e Event) NewNode() (node Node, ok bool) { return e.v.node(e.v.record.newNode) }

func (v *eventView) node(row uint32) (Node, bool) {
	if row == abi.EventNoNode {
		return Node{}, false
	}
	return Node{c: v.columns, row: row}, true
}

// Namespace is metadata.namespace of an object that is neither a pod nor a node.
func (e Event) Namespace() string { return e.v.text(e.v.record.namespace) }

// Name is metadata.name of an object that is neither a pod nor a node.
func (e Event) Name() string { return e.v.text(e.v.record.eventName) }

func (v *eventView) text(t text) string {
	return str(view[byte](&v.columns.core.mem, t.address, t.length))
}
