// Package random is a plugin that shares GPUs and places pods at random: the baseline that
// Fragmentation Gradient Descent was compared with (see package fgd, the folder above). The
// result depends only on the seed.
package random

import (
	_ "embed"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// Random is the plugin.
type Random struct{ gpushare.Plugin }

var (
	_ berth.Preparer   = (*Random)(nil)
	_ berth.Filterer   = (*Random)(nil)
	_ berth.Scorer     = (*Random)(nil)
	_ berth.Normalizer = (*Random)(nil)
	_ berth.Reserver   = (*Random)(nil)
)

// New returns the plugin.
func New() *Random { return &Random{gpushare.New(Manifest)} }

// Score draws a number for the node from its name, because the order of rows has no meaning.
func (p *Random) Score(_ berth.Pod, node berth.Node) int64 {
	return int64(draw(p.Snapshot().Seed(), node.Name()))
}

// Normalize gives 100 to the node with the highest number, and 0 to the others.
func (p *Random) Normalize(_ berth.Pod, _ berth.Nodes, scores []int64) berth.Status {
	best := 0
	for i := range scores {
		if scores[i] > scores[best] {
			best = i
		}
	}
	clear(scores)
	if len(scores) > 0 {
		scores[best] = 100
	}
	return berth.Success
}

// Reserve assigns a random GPU that has enough left to a pod that shares a GPU.
func (p *Random) Reserve(pod berth.Pod, node berth.Node) berth.Status {
	return p.Take(pod, node, func(n *gpushare.Node) int { return anyOf(n, p.Demand.Milli, p.Snapshot().Seed()) })
}

// anyOf returns a GPU that has enough left: of n the one at ⌊n·u⌋ for a u below 1.
func anyOf(n *gpushare.Node, milli int64, seed uint64) int {
	var fit []int
	for i, left := range n.Free[:n.N] {
		if int64(left) >= milli {
			fit = append(fit, i)
		}
	}
	return fit[uint64(len(fit))*(draw(seed, "")>>32)>>32]
}

// draw returns a number from a seed and a text: FNV-1a over the text, then the mixing of
// SplitMix64 (Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014).
func draw(seed uint64, text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return mix(mix(h) ^ seed)
}

func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
