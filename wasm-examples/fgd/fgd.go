// Package fgd is a plugin that packs pods onto GPUs so that what is left can still
// be used: Fragmentation Gradient Descent (Weng et al., "Beware of Fragmentation:
// Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC
// 2023). A node is rated by how much its fragment grows with the pod: that part of
// its GPUs which pods typical of the workload could not use.
package fgd

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// ModelLabel is the label of a node that says which GPUs it has.
const ModelLabel = "berth.dev/gpu-model"

// FGD is the plugin.
type FGD struct {
	gpushare.Plugin
	model    berth.NodeLabel
	models   []berth.Const
	workload workload
	memo     memo
}

var (
	_ berth.Configurer = (*FGD)(nil)
	_ berth.Preparer   = (*FGD)(nil)
	_ berth.Filterer   = (*FGD)(nil)
	_ berth.Scorer     = (*FGD)(nil)
	_ berth.Reserver   = (*FGD)(nil)
)

// New returns the plugin.
func New() *FGD {
	p := gpushare.New(Manifest)
	return &FGD{Plugin: p, model: p.NodeLabel(ModelLabel)}
}

// Prepare looks at the pod.
func (p *FGD) Prepare(pod berth.Pod) berth.Status {
	status := p.Plugin.Prepare(pod)
	if status == berth.Success {
		p.memo.begin(p.Demand)
	}
	return status
}

// Score rates a node by how much of it becomes a fragment: 50 for nothing, less for
// some, more if fragments become of use.
func (p *FGD) Score(_ berth.Pod, node berth.Node) int64 {
	s := p.state(node)
	known := p.memo.at(node.Row(), &s)
	if *known == unknown {
		score, _ := p.workload.rate(&s, p.Demand)
		*known = uint8(score)
	}
	return int64(*known)
}

// Reserve gives a pod that shares a GPU the one by which the node had its score.
func (p *FGD) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	return p.Take(pod, node, func(n *gpushare.Node) int {
		_, device := p.workload.rate(&state{Node: *n, model: p.modelOf(node)}, p.Demand)
		return device
	})
}

// state is what a score depends on, beside the pod.
type state struct {
	gpushare.Node
	model uint32 // a bit
}

func (p *FGD) state(node berth.Node) state {
	return state{Node: p.Node(node), model: p.modelOf(node)}
}

// modelOf returns the bit of a node's model; that of a model which no typical pod
// names is otherModel.
func (p *FGD) modelOf(node berth.Node) uint32 {
	id := node.Label(p.model)
	for i := range p.models {
		if p.models[i].Is(id) {
			return 1 << i
		}
	}
	return otherModel
}
