package mirror

import (
	"iter"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Projection says which part of a snapshot a plugin sees: the columns that its manifest
// declares, and nothing else. It does not change.
type Projection struct {
	columns         []wire.DeclaredColumn
	node, pods, pod map[string]bool
	hasNamespaces   bool
	resources       []v1.ResourceName
	nodeLabels      []string
	nodeAnnotations []string
	nodeConditions  []string
	podLabels       []string
	podAnnotations  []string
	namespaceLabels []string
	feeds           []string // names without units
	objects         []wire.ObjectView
	objectKeys      []string // of objects
	now             func(at int64) int64
	// timed are the points that see the time.
	timed fields.Points
	// namespaces are those whose pods the plugin may see, sorted; nil means all.
	namespaces []string
}

// NewProjection returns the projection of what a manifest reads. namespaces are those whose
// pods the plugin may see; none means all.
func NewProjection(m *wire.Manifest, namespaces []string) *Projection {
	reads := &m.Reads
	p := &Projection{
		objects: m.ObjectViews(),
		columns: reads.Columns(), node: setOf(reads.Node), pods: setOf(reads.Pods), pod: setOf(reads.Pod),
		nodeLabels: reads.NodeLabels, nodeAnnotations: reads.NodeAnnotations, nodeConditions: reads.NodeConditions,
		podLabels: reads.PodLabels, podAnnotations: reads.PodAnnotations,
		hasNamespaces: reads.HasNamespaces(), namespaceLabels: reads.NamespaceLabels, now: reads.Now,
		namespaces: slices.Sorted(slices.Values(namespaces)), timed: fields.Of(abi.IncomingNow).Points,
	}
	for _, feed := range reads.Feeds {
		name, _, _ := strings.Cut(feed, ":")
		p.feeds = append(p.feeds, name)
	}
	for i := range p.objects {
		p.objectKeys = append(p.objectKeys, p.objects[i].Key())
	}
	for _, name := range reads.Resources {
		p.resources = append(p.resources, v1.ResourceName(name))
	}
	return p
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// Sees reports whether the plugin may see pods of a namespace.
func (p *Projection) Sees(namespace string) bool {
	if p.namespaces == nil {
		return true
	}
	_, ok := slices.BinarySearch(p.namespaces, namespace)
	return ok
}

// restricted reports whether there are pods that the plugin may not see. Then nothing in its memory,
// not even an order, may depend on them.
func (p *Projection) restricted() bool { return p.namespaces != nil }

// SeesNamespaceLabels reports whether the record of the pod has the labels of its namespace.
func (p *Projection) SeesNamespaceLabels() bool { return p.pod["namespaceLabels"] }

// HasPods reports whether the plugin sees pods on nodes at all.
func (p *Projection) HasPods() bool { return p.node["pods"] }

// HasNominated reports whether the plugin sees the pods that are nominated to nodes.
func (p *Projection) HasNominated() bool { return p.node["nominated"] }

// args yields the args of the columns of objects of a join.
func (p *Projection) args(join string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range p.objects {
			if p.objects[i].Join != join {
				continue
			}
			for _, arg := range p.objects[i].Args {
				if !yield(arg) {
					return
				}
			}
		}
	}
}

// HasNamespaces reports whether the plugin sees the namespaces table.
func (p *Projection) HasNamespaces() bool { return p.hasNamespaces }

// namespacesTable is the index of the namespaces table in the layout.
func (p *Projection) namespacesTable() int {
	if p.HasPods() {
		return podsTable + 1
	}
	return podsTable
}
