package state

import v1 "k8s.io/api/core/v1"

// Namespace is a namespace decoded once. It is immutable; a change of the object
// makes a new Namespace.
type Namespace struct {
	// Object is the API's object. It is shared with informers: never write to it.
	Object *v1.Namespace
	Name   string
	// Labels is metadata.labels, which the namespaceSelector of a PodAffinityTerm
	// is about. Never write to it either.
	Labels map[string]string
}

// NewNamespace compiles a namespace.
func NewNamespace(object *v1.Namespace) *Namespace {
	return &Namespace{Object: object, Name: object.Name, Labels: object.Labels}
}

// NamespaceInfo is what the cache knows of one row of the namespaces table.
type NamespaceInfo struct {
	// Namespace is nil for a row that no namespace has any more.
	Namespace *Namespace
	Row       uint32
	// Generation changes with Namespace. It is taken from the same counter as
	// those of nodes and pods and never used twice.
	Generation uint64
}
