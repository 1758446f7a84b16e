package wasm

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// readsOf returns what a module's answers can depend on: what its manifest declares, and what
// its imported host functions return.
func readsOf(m *wire.Manifest) (out []plugin.Read) {
	r := &m.Reads
	resources := append([]string{}, r.Resources...) // nil would mean all
	placed := []string{}                            // of pods on nodes no more than what is declared below
	read := func(column abi.ColumnID, args ...string) {
		out = append(out, plugin.Read{Column: column, Args: args})
	}
	for _, name := range r.Pods {
		switch name {
		case "namespace":
			read(abi.PodNamespace)
		case "priority":
			read(abi.PodPriority)
		case "requests":
			read(abi.PodRequests, resources...)
		case "labels":
			read(abi.PodLabels)
		case "owner":
			read(abi.PodOwner)
		case "flags":
			read(abi.PodFlags)
		case "uid":
			read(abi.PodUID)
		case "name":
			read(abi.PlacedPodName)
		default:
			placed = nil // so that an answer holds only as long as nothing changes
		}
	}
	for _, name := range r.Node {
		switch name {
		case "name":
			read(abi.NodeName)
		case "flags":
			read(abi.NodeFlags)
		case "allocatable":
			read(abi.NodeAllocatable, resources...)
		case "requested":
			read(abi.NodeRequested, resources...)
		case "nonZeroRequested":
			read(abi.NodeNonZeroRequested)
		case "labels":
			read(abi.NodeLabels)
		case "taints":
			read(abi.NodeTaints)
		case "ports":
			read(abi.NodePorts)
		case "images":
			read(abi.NodeImages)
		case "pods":
			read(abi.NodePods, placed...)
		case "zone":
			read(abi.NodeZone)
		default: // generation
			read(abi.NodeGenerations)
		}
	}
	for _, keyed := range []struct {
		column abi.ColumnID
		args   []string
	}{
		{abi.NodeLabel, r.NodeLabels}, {abi.NodeAnnotations, r.NodeAnnotations}, {abi.NodeConditions, r.NodeConditions},
		{abi.PodLabel, r.PodLabels}, {abi.PodAnnotations, r.PodAnnotations},
	} {
		if len(keyed.args) > 0 {
			read(keyed.column, keyed.args...)
		}
	}
	for _, name := range r.Pod {
		for _, column := range podFields(name) {
			switch column {
			case abi.IncomingRequests:
				read(column, resources...)
			case abi.IncomingAnnotations:
				read(column, r.PodAnnotations...)
			default:
				read(column)
			}
		}
	}
	if slices.Contains(m.Host, abi.HostNodeObject) {
		read(abi.NodeGenerations)
	}
	if slices.Contains(m.Host, abi.HostPodObject) {
		read(abi.PodWhole)
	}
	return out
}

// podFields returns the fields of the pod record that a name in reads.pod selects.
func podFields(name string) []abi.ColumnID {
	switch name {
	case "name":
		return []abi.ColumnID{abi.PodName}
	case "hostPorts":
		return []abi.ColumnID{abi.PodHostPorts}
	case "tolerations":
		return []abi.ColumnID{abi.PodTolerations}
	case "images":
		return []abi.ColumnID{abi.PodImages}
	case "namespace":
		return []abi.ColumnID{abi.IncomingNamespace}
	case "priority":
		return []abi.ColumnID{abi.IncomingPriority}
	case "requests":
		return []abi.ColumnID{abi.IncomingRequests}
	case "labels":
		return []abi.ColumnID{abi.IncomingLabels}
	case "annotations":
		return []abi.ColumnID{abi.IncomingAnnotations}
	case "owner":
		return []abi.ColumnID{abi.IncomingOwner}
	case "nodeSelector":
		return []abi.ColumnID{abi.PodNodeSelector}
	case "affinity":
		return []abi.ColumnID{abi.PodRequiredTerms, abi.PodPreferredTerms}
	case "nonZeroRequested":
		return []abi.ColumnID{abi.IncomingNonZero}
	case "namespaceLabels":
		return []abi.ColumnID{abi.IncomingNamespaceLabels}
	case "uid":
		return []abi.ColumnID{abi.IncomingUID}
	case "nodeName":
		return []abi.ColumnID{abi.PodNodeName}
	case "schedulingGates":
		return []abi.ColumnID{abi.PodSchedulingGates}
	}
	return []abi.ColumnID{abi.PodWhole} // an unknown name: no answer is kept
}
