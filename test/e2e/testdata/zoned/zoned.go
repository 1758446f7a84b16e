// Package zoned is a plugin that rejects nodes of which no NUMA zone has enough CPU, as NodeResourceTopology objects say.
package zoned

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

//go:embed manifest.json
var manifest []byte

// Zoned is the plugin.
type Zoned struct {
	berth.Base
	policy, name, free berth.ObjectColumn
	cpu                berth.Resource
	isCPU, single      berth.Const
	none               berth.Reason
}

// New returns the plugin.
func New() *Zoned {
	b := berth.Load(manifest)
	return &Zoned{
		Base: b, policy: b.ObjectColumn("nrt.attributes[name=topologyManagerPolicy].value:string"),
		name: b.ObjectColumn("nrt.zones[*].resources[*].name:string"), free: b.ObjectColumn("nrt.zones[*].resources[*].available:quantity"),
		cpu: b.Resource("cpu"), isCPU: b.Const("cpu"), single: b.Const("single-numa-node"), none: b.Reason("no zone has enough CPU"),
	}
}

// Filter looks for a zone.
func (p *Zoned) Filter(pod berth.Pod, node berth.Node) berth.Status {
	policy := node.ObjectTexts(p.policy)
	if len(policy) == 0 || policy[0] != p.single.ID() {
		return berth.Success
	}
	free := node.ObjectNumbers(p.free)
	for i, name := range node.ObjectTexts(p.name) {
		if name == p.isCPU.ID() && free[i] >= pod.Request(p.cpu) {
			return berth.Success
		}
	}
	return berth.Unschedulable(p.none)
}
