// Package bestfit is a plugin that shares GPUs and packs pods on the node with the least CPU
// and GPU left: the Best-Fit policy that Fragmentation Gradient Descent was compared with (see
// package fgd, the folder above).
package bestfit

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// Amounts with equal weights, on every node: 128 CPUs and 8 GPUs.
const (
	milliCPU = 128_000
	milliGPU = 8 * gpushare.Whole
)

// BestFit is the plugin.
type BestFit struct{ gpushare.Plugin }

var (
	_ berth.Preparer = (*BestFit)(nil)
	_ berth.Filterer = (*BestFit)(nil)
	_ berth.Scorer   = (*BestFit)(nil)
	_ berth.Reserver = (*BestFit)(nil)
)

// New returns the plugin.
func New() *BestFit { return &BestFit{gpushare.New(Manifest)} }

// Score is 100 if the pod takes everything that is left of a node, and lower the more remains.
// The manifest asks the host to normalize it with `minmax`.
func (p *BestFit) Score(_ berth.Pod, node berth.Node) int64 {
	n := p.Node(node)
	return score(n.CPU-p.Demand.CPU, n.GPU()-int64(p.Demand.GPUs)*p.Demand.Milli)
}

// score scores what remains, in milli-CPU and milli-GPU. Products are rounded before they are
// added, by explicit conversions, so that all machines agree to the bit.
func score(cpu, gpu int64) int64 {
	remains := float64(float64(cpu)/milliCPU*0.5) + float64(float64(gpu)/milliGPU*0.5)
	return floor(float64((1 - remains) * 100))
}

// floor returns the greatest whole number that is not greater than x.
func floor(x float64) int64 {
	whole := int64(x)
	if float64(whole) > x {
		whole--
	}
	return whole
}

// Reserve assigns the fullest GPU that has enough left to a pod that shares a GPU.
func (p *BestFit) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	return p.Take(pod, node, func(n *gpushare.Node) int { return fullest(n, p.Demand.Milli) })
}

// fullest returns the GPU with the least left that has enough, the first of equals.
func fullest(n *gpushare.Node, milli int64) int {
	best := -1
	for i, left := range n.Free[:n.N] {
		if int64(left) >= milli && (best < 0 || left < n.Free[best]) {
			best = i
		}
	}
	return best
}
