// Package fgd is a plugin that packs pods onto GPUs so that the remaining GPU capacity stays
// usable: Fragmentation Gradient Descent (Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023). A node's score
// depends on how much the pod would increase its fragmentation: the share of its GPUs that pods
// typical of the workload could not use.
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

// ModelLabel is the node label that names the GPU model.
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

// Prepare reads what the pod requests.
func (p *FGD) Prepare(pod berth.Pod) berth.Status {
	status := p.Plugin.Prepare(pod)
	if status == berth.Success {
		p.memo.begin(p.Demand)
	}
	return status
}

// Score scores a node by the change in fragmentation: 50 for no change, less if fragmentation
// grows, more if it shrinks.
func (p *FGD) Score(_ berth.Pod, node berth.Node) int64 {
	s := p.state(node)
	known := p.memo.at(node.Row(), &s)
	if *known == unknown {
		score, _ := p.workload.rate(&s, p.Demand)
		*known = uint8(score)
	}
	return int64(*known)
}

// Reserve assigns to a pod that shares a GPU the GPU on which the node's score was based.
func (p *FGD) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	return p.Take(pod, node, func(n *gpushare.Node) int {
		_, device := p.workload.rate(&state{Node: *n, model: p.modelOf(node)}, p.Demand)
		return device
	})
}

// state is what a score depends on, apart from the pod.
type state struct {
	gpushare.Node
	model uint32 // a bit
}

func (p *FGD) state(node berth.Node) state {
	return state{Node: p.Node(node), model: p.modelOf(node)}
}

// modelOf returns the bit of a node's GPU model, otherModel if no typical pod names that model.
func (p *FGD) modelOf(node berth.Node) uint32 {
	id := node.Label(p.model)
	for i := range p.models {
		if p.models[i].Is(id) {
			return 1 << i
		}
	}
	return otherModel
}
