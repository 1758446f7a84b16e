package mirror

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// capacities are the sizes of a region, in rows and elements.
type capacities struct {
	rows, overlays, slots   uint32
	names                   uint32 // bytes
	labels, taints, ports   uint32
	images, pods, podLabels uint32
	nominated               uint32
	objects                 [abi.MaxReads]uint32 // by arg
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
	strings := wire.TableSpec{ID: abi.TableStrings, Capacity: c.strings}
	pods := wire.TableSpec{ID: abi.TablePods, Capacity: c.slots}
	namespaces := wire.TableSpec{ID: abi.TableNamespaces, Capacity: c.namespaces}
	of := map[abi.TableID]*wire.TableSpec{nodes.ID: &nodes, strings.ID: &strings, pods.ID: &pods, namespaces.ID: &namespaces}
	declared := p.columns
	for _, always := range []abi.ColumnID{abi.StringBytes, abi.NamespaceName} { // whenever their table is (ABI-4.13, ABI-4.14)
		if !slices.ContainsFunc(declared, func(d wire.DeclaredColumn) bool { return d.ID == always }) {
			declared = append([]wire.DeclaredColumn{{Entry: *fields.Of(always), Args: []int{0}}}, declared...)
		}
	}
	for i := range declared {
		if t := of[declared[i].Table]; t != nil {
			addColumns(t, &declared[i], c)
		}
	}
	tables := []wire.TableSpec{nodes, strings}
	if p.HasPods() {
		tables = append(tables, pods)
	}
	if p.HasNamespaces() {
		tables = append(tables, namespaces)
	}
	return wire.LayoutSpec{Tables: tables, PodRoom: c.podRoom, Batch: c.batch, RecordRoom: c.records, Keys: c.keys}
}

// addColumns adds the columns of an entry of package fields.
func addColumns(t *wire.TableSpec, d *wire.DeclaredColumn, c *capacities) {
	for _, arg := range d.Args {
		if !d.Span {
			t.Columns = append(t.Columns, wire.ColumnSpec{ID: d.ID, Arg: uint32(arg), Type: d.Type})
			continue
		}
		t.Columns = append(t.Columns, wire.ColumnSpec{ID: d.ID, Arg: uint32(arg), Type: abi.TypeSpan},
			wire.ColumnSpec{ID: d.ID + abi.ArenaOf, Arg: uint32(arg), Type: d.Type, Capacity: max(1, c.arena(d.ID, arg))})
	}
}

// arena returns the capacity of the arena of a column of spans.
func (c *capacities) arena(id abi.ColumnID, arg int) uint32 {
	switch id {
	case abi.NodeObjectNumbers, abi.NodeObjectTexts, abi.NamespaceObjectNumbers, abi.NamespaceObjectTexts:
		return c.objects[arg]
	case abi.NodeName:
		return c.names
	case abi.NodeLabels:
		return c.labels
	case abi.NodeTaints:
		return c.taints
	case abi.NodePorts:
		return c.ports
	case abi.NodeImages:
		return c.images
	case abi.NodePods:
		return c.pods
	case abi.NodeNominated:
		return c.nominated
	case abi.PodLabels:
		return c.podLabels
	case abi.PodUID:
		return c.podUIDs
	case abi.PlacedPodName:
		return c.podNames
	case abi.NamespaceLabels:
		return c.namespaceLabels
	case abi.StringBytes:
		return c.stringBytes
	}
	panic(fmt.Sprintf("BUG: mirror: column %d has no capacity", id))
}

// columns has the columns of a layout; one that is not declared is nil.
type columns struct {
	name, labels, taints, ports, images, pods, nominated list
	flags, generation, zone, createdAt                   *wire.ColumnLayout
	allocatable, capacity, requested, nonZero            []*wire.ColumnLayout // by resource
	annotations, conditions, label                       []*wire.ColumnLayout // by key
	feed, feedState                                      []*wire.ColumnLayout // by feed
	requestedSince                                       []*wire.ColumnLayout // by resource
	objects                                              []list               // by arg, of nodes or namespaces

	podNamespace, podPriority, podOwner, podFlags    *wire.ColumnLayout
	podQOS, podAssignedAt, podCreatedAt, podState    *wire.ColumnLayout
	podRequests, podLimits, podAnnotations, podLabel []*wire.ColumnLayout
	podLabels, podUID, podName                       list

	namespaceName      *wire.ColumnLayout
	namespaceLabel     []*wire.ColumnLayout // by key
	namespaceRequested []*wire.ColumnLayout // by resource
	namespaceLabels    list

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
	var objects []list
	for id, table := range map[abi.ColumnID]int{
		abi.NodeObjectNumbers: nodesTable, abi.NodeObjectTexts: nodesTable,
		abi.NamespaceObjectNumbers: namespacesTable, abi.NamespaceObjectTexts: namespacesTable,
	} {
		spans, arenas := at(table, id), at(table, id+abi.ArenaOf)
		for i := range spans {
			for uint32(len(objects)) <= spans[i].Arg {
				objects = append(objects, list{})
			}
			objects[spans[i].Arg] = list{spans[i], arenas[i]}
		}
	}
	return &columns{
		objects: objects,
		name:    both(nodesTable, abi.NodeName), labels: both(nodesTable, abi.NodeLabels),
		taints: both(nodesTable, abi.NodeTaints), ports: both(nodesTable, abi.NodePorts),
		images: both(nodesTable, abi.NodeImages), pods: both(nodesTable, abi.NodePods), nominated: both(nodesTable, abi.NodeNominated),
		flags: one(nodesTable, abi.NodeFlags), generation: one(nodesTable, abi.NodeGenerations), zone: one(nodesTable, abi.NodeZone),
		createdAt: one(nodesTable, abi.NodeCreatedAt), capacity: at(nodesTable, abi.NodeCapacity),
		allocatable: at(nodesTable, abi.NodeAllocatable), requested: at(nodesTable, abi.NodeRequested),
		nonZero: at(nodesTable, abi.NodeNonZeroRequested), annotations: at(nodesTable, abi.NodeAnnotations),
		feed: at(nodesTable, abi.NodeFeed), feedState: at(nodesTable, abi.NodeFeedState),
		requestedSince: at(nodesTable, abi.NodeRequestedSince),
		conditions:     at(nodesTable, abi.NodeConditions), label: at(nodesTable, abi.NodeLabel),
		podNamespace: one(podsTable, abi.PodNamespace), podPriority: one(podsTable, abi.PodPriority),
		podOwner: one(podsTable, abi.PodOwner), podFlags: one(podsTable, abi.PodFlags),
		podRequests: at(podsTable, abi.PodRequests), podAnnotations: at(podsTable, abi.PodAnnotations),
		podLabel: at(podsTable, abi.PodLabel), podLabels: both(podsTable, abi.PodLabels),
		podLimits: at(podsTable, abi.PlacedPodLimits), podQOS: one(podsTable, abi.PlacedPodQOS),
		podAssignedAt: one(podsTable, abi.PlacedPodAssignedAt), podCreatedAt: one(podsTable, abi.PlacedPodCreatedAt),
		podState: one(podsTable, abi.PlacedPodState),
		podUID:   both(podsTable, abi.PodUID), podName: both(podsTable, abi.PlacedPodName),
		namespaceName: one(namespacesTable, abi.NamespaceName), namespaceLabel: at(namespacesTable, abi.NamespaceLabel),
		namespaceLabels: both(namespacesTable, abi.NamespaceLabels), namespaceRequested: at(namespacesTable, abi.NamespaceRequested),
		strings: both(stringsTable, abi.StringBytes),
	}
}

// columnName returns what a manifest calls a column; its arena has the same name.
func columnName(table abi.TableID, id abi.ColumnID) string {
	if table == abi.TableStrings {
		return "strings"
	}
	if e := fields.Of(id); e != nil {
		return e.Manifest()
	}
	return fmt.Sprintf("column %d", id)
}
