package mirror

import (
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// capacities are the sizes of a region, in rows and elements.
type capacities struct {
	rows, overlays, slots   uint32
	names                   uint32 // bytes
	labels, taints, ports   uint32
	images, pods, podLabels uint32
	strings, stringBytes    uint32
	podRoom                 uint32 // bytes of a pod record
	podUIDs, podNames       uint32 // bytes
	namespaces              uint32 // rows
	namespaceLabels         uint32
	batch, records          uint32 // pods of a call, and bytes of their records
	keys                    bool
}

// Indices of tables in the layout; the namespaces table comes last.
const (
	nodesTable = iota
	stringsTable
	podsTable
)

// spec returns what a region with these capacities holds.
func (p *Projection) spec(c *capacities) wire.LayoutSpec {
	nodes := wire.TableSpec{ID: abi.TableNodes, Capacity: c.rows, Overlays: c.overlays}
	scalar := func(t *wire.TableSpec, declared bool, id abi.ColumnID, kind abi.Type) {
		if declared {
			t.Columns = append(t.Columns, wire.ColumnSpec{ID: id, Type: kind})
		}
	}
	list := func(t *wire.TableSpec, declared bool, id abi.ColumnID, kind abi.Type, capacity uint32) {
		if declared {
			t.Columns = append(t.Columns, wire.ColumnSpec{ID: id, Type: abi.TypeSpan},
				wire.ColumnSpec{ID: id + abi.ArenaOf, Type: kind, Capacity: max(1, capacity)})
		}
	}
	each := func(t *wire.TableSpec, declared bool, n int, id abi.ColumnID, kind abi.Type) {
		for arg := range uint32(n) {
			if declared {
				t.Columns = append(t.Columns, wire.ColumnSpec{ID: id, Arg: arg, Type: kind})
			}
		}
	}
	list(&nodes, p.node["name"], abi.NodeName, abi.TypeBytes, c.names)
	scalar(&nodes, p.node["flags"], abi.NodeFlags, abi.TypeU8)
	each(&nodes, p.node["allocatable"], len(p.resources), abi.NodeAllocatable, abi.TypeI64)
	each(&nodes, p.node["requested"], len(p.resources), abi.NodeRequested, abi.TypeI64)
	each(&nodes, p.node["nonZeroRequested"], 2, abi.NodeNonZeroRequested, abi.TypeI64)
	list(&nodes, p.node["labels"], abi.NodeLabels, abi.TypePair, c.labels)
	each(&nodes, true, len(p.nodeAnnotations), abi.NodeAnnotations, abi.TypeU32)
	list(&nodes, p.node["taints"], abi.NodeTaints, abi.TypeTaint, c.taints)
	list(&nodes, p.node["ports"], abi.NodePorts, abi.TypePort, c.ports)
	list(&nodes, p.node["images"], abi.NodeImages, abi.TypeImage, c.images)
	each(&nodes, true, len(p.nodeConditions), abi.NodeConditions, abi.TypeU8)
	list(&nodes, p.HasPods(), abi.NodePods, abi.TypeU32, c.pods)
	scalar(&nodes, p.node["generation"], abi.NodeGenerations, abi.TypeU64)
	each(&nodes, true, len(p.nodeLabels), abi.NodeLabel, abi.TypeU32)
	scalar(&nodes, p.node["zone"], abi.NodeZone, abi.TypeU32)

	strings := wire.TableSpec{ID: abi.TableStrings, Capacity: c.strings}
	list(&strings, true, abi.StringBytes, abi.TypeBytes, c.stringBytes)

	tables := []wire.TableSpec{nodes, strings}
	if p.HasPods() {
		pods := wire.TableSpec{ID: abi.TablePods, Capacity: c.slots}
		scalar(&pods, p.pods["namespace"], abi.PodNamespace, abi.TypeU32)
		scalar(&pods, p.pods["priority"], abi.PodPriority, abi.TypeI32)
		each(&pods, p.pods["requests"], len(p.resources), abi.PodRequests, abi.TypeI64)
		list(&pods, p.pods["labels"], abi.PodLabels, abi.TypePair, c.podLabels)
		each(&pods, true, len(p.podAnnotations), abi.PodAnnotations, abi.TypeU32)
		scalar(&pods, p.pods["owner"], abi.PodOwner, abi.TypeU32)
		each(&pods, true, len(p.podLabels), abi.PodLabel, abi.TypeU32)
		scalar(&pods, p.pods["flags"], abi.PodFlags, abi.TypeU8)
		list(&pods, p.pods["uid"], abi.PodUID, abi.TypeBytes, c.podUIDs)
		list(&pods, p.pods["name"], abi.PlacedPodName, abi.TypeBytes, c.podNames)
		tables = append(tables, pods)
	}
	if p.HasNamespaces() {
		namespaces := wire.TableSpec{ID: abi.TableNamespaces, Capacity: c.namespaces}
		scalar(&namespaces, true, abi.NamespaceName, abi.TypeU32)
		list(&namespaces, p.namespace["labels"], abi.NamespaceLabels, abi.TypePair, c.namespaceLabels)
		each(&namespaces, true, len(p.namespaceLabels), abi.NamespaceLabel, abi.TypeU32)
		tables = append(tables, namespaces)
	}
	return wire.LayoutSpec{Tables: tables, PodRoom: c.podRoom, Batch: c.batch, RecordRoom: c.records, Keys: c.keys}
}

// columns has the columns of a layout; one that is not declared is nil.
type columns struct {
	name, labels, taints, ports, images, pods list
	flags, generation, zone                   *wire.ColumnLayout
	allocatable, requested, nonZero           []*wire.ColumnLayout // by resource
	annotations, conditions, label            []*wire.ColumnLayout // by key

	podNamespace, podPriority, podOwner, podFlags *wire.ColumnLayout
	podRequests, podAnnotations, podLabel         []*wire.ColumnLayout
	podLabels, podUID, podName                    list

	namespaceName   *wire.ColumnLayout
	namespaceLabel  []*wire.ColumnLayout // by key
	namespaceLabels list

	strings list
}

// list is a column of spans and its arena.
type list struct{ spans, arena *wire.ColumnLayout }

func findColumns(l *wire.Layout, namespacesTable int) *columns {
	at := func(table int, id abi.ColumnID) (out []*wire.ColumnLayout) {
		if table >= len(l.Tables) {
			return nil
		}
		for i := range l.Tables[table].Columns {
			if c := &l.Tables[table].Columns[i]; c.ID == id {
				out = append(out, c)
			}
		}
		return out
	}
	one := func(table int, id abi.ColumnID) *wire.ColumnLayout {
		if found := at(table, id); len(found) > 0 {
			return found[0]
		}
		return nil
	}
	both := func(table int, id abi.ColumnID) list { return list{one(table, id), one(table, id+abi.ArenaOf)} }
	return &columns{
		name: both(nodesTable, abi.NodeName), labels: both(nodesTable, abi.NodeLabels),
		taints: both(nodesTable, abi.NodeTaints), ports: both(nodesTable, abi.NodePorts),
		images: both(nodesTable, abi.NodeImages), pods: both(nodesTable, abi.NodePods),
		flags: one(nodesTable, abi.NodeFlags), generation: one(nodesTable, abi.NodeGenerations), zone: one(nodesTable, abi.NodeZone),
		allocatable: at(nodesTable, abi.NodeAllocatable), requested: at(nodesTable, abi.NodeRequested),
		nonZero: at(nodesTable, abi.NodeNonZeroRequested), annotations: at(nodesTable, abi.NodeAnnotations),
		conditions: at(nodesTable, abi.NodeConditions), label: at(nodesTable, abi.NodeLabel),
		podNamespace: one(podsTable, abi.PodNamespace), podPriority: one(podsTable, abi.PodPriority),
		podOwner: one(podsTable, abi.PodOwner), podFlags: one(podsTable, abi.PodFlags),
		podRequests: at(podsTable, abi.PodRequests), podAnnotations: at(podsTable, abi.PodAnnotations),
		podLabel: at(podsTable, abi.PodLabel), podLabels: both(podsTable, abi.PodLabels),
		podUID: both(podsTable, abi.PodUID), podName: both(podsTable, abi.PlacedPodName),
		namespaceName: one(namespacesTable, abi.NamespaceName), namespaceLabel: at(namespacesTable, abi.NamespaceLabel),
		namespaceLabels: both(namespacesTable, abi.NamespaceLabels),
		strings:         both(stringsTable, abi.StringBytes),
	}
}

// columnName returns what a manifest calls a column; its arena has the same name.
func columnName(table abi.TableID, id abi.ColumnID) string {
	if table == abi.TableStrings {
		return "strings"
	}
	if id >= abi.ArenaOf {
		id -= abi.ArenaOf
	}
	switch id {
	case abi.NodeName:
		return "node: name"
	case abi.NodeFlags:
		return "node: flags"
	case abi.NodeAllocatable:
		return "node: allocatable"
	case abi.NodeRequested:
		return "node: requested"
	case abi.NodeNonZeroRequested:
		return "node: nonZeroRequested"
	case abi.NodeLabels:
		return "node: labels"
	case abi.NodeAnnotations:
		return "nodeAnnotations"
	case abi.NodeTaints:
		return "node: taints"
	case abi.NodePorts:
		return "node: ports"
	case abi.NodeImages:
		return "node: images"
	case abi.NodeConditions:
		return "nodeConditions"
	case abi.NodePods:
		return "node: pods"
	case abi.NodeGenerations:
		return "node: generation"
	case abi.NodeLabel:
		return "nodeLabels"
	case abi.PodNamespace:
		return "pods: namespace"
	case abi.PodPriority:
		return "pods: priority"
	case abi.PodRequests:
		return "pods: requests"
	case abi.PodLabels:
		return "pods: labels"
	case abi.PodAnnotations:
		return "podAnnotations"
	case abi.PodOwner:
		return "pods: owner"
	case abi.PodLabel:
		return "podLabels"
	case abi.PodFlags:
		return "pods: flags"
	case abi.PodUID:
		return "pods: uid"
	case abi.PlacedPodName:
		return "pods: name"
	case abi.NodeZone:
		return "node: zone"
	case abi.NamespaceName:
		return "namespaces: name"
	case abi.NamespaceLabels:
		return "namespaces: labels"
	case abi.NamespaceLabel:
		return "namespaceLabels"
	}
	return fmt.Sprintf("column %d", id)
}
