package state

import v1 "k8s.io/api/core/v1"

// Namespace is a namespace decoded once. It is immutable; an updated object gets a new
// Namespace.
type Namespace struct {
	// Object is the API object. It is shared with informers: never change it.
	Object *v1.Namespace
	Name   string
	// Labels is metadata.labels, to which the namespaceSelector of a PodAffinityTerm applies.
	// Never change it either.
	Labels map[string]string
}

// NewNamespace decodes a namespace.
func NewNamespace(object *v1.Namespace) *Namespace {
	return &Namespace{Object: object, Name: object.Name, Labels: object.Labels}
}

// NamespaceInfo is what the cache knows about one row of the namespaces table.
type NamespaceInfo struct {
	// Namespace is nil for an unused row.
	Namespace *Namespace
	Row       uint32
	// Generation changes with Namespace. It comes from the same counter as those of nodes and
	// pods and is never reused.
	Generation uint64
	// Requested is what the pods of the namespace request that have a node, assumed ones included; Pods is their number. A sum beyond an
	// int64 is the nearest one. RequestedGeneration changes with it, and if another namespace gets the row; it has a counter of its own.
	Requested           Resources
	RequestedGeneration uint64
	// Cells, Feeds and FeedsGeneration are as in NodeInfo.
	Cells           []Cell
	Feeds           []string
	FeedsGeneration uint64
}
