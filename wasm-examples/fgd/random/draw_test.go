package random

import (
	"fmt"
	"math"
	"testing"

	"github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"
)

// TestUniform: over seeds every node, and every GPU that has enough, is drawn about equally
// often; the bounds are five standard deviations.
func TestUniform(t *testing.T) {
	const seeds, nodes = 40_000, 10
	won, chosen := make([]int, nodes), make([]int, 5)
	n := gpushare.Node{N: 5, Free: [gpushare.Most]int16{500, 100, 500, 1000, 499}}
	for seed := range uint64(seeds) {
		best, highest := 0, int64(math.MinInt64)
		for i := range nodes {
			if score := int64(draw(seed, fmt.Sprint("node-", i))); score > highest {
				best, highest = i, score
			}
		}
		won[best]++
		chosen[anyOf(&n, 500, seed)]++
	}
	near := func(got int, p float64) bool {
		return math.Abs(float64(got)-seeds*p) < 5*math.Sqrt(seeds*p*(1-p))
	}
	for i, times := range won {
		if !near(times, 1.0/nodes) {
			t.Errorf("node %d is drawn %d times of %d", i, times, seeds)
		}
	}
	for i, times := range chosen {
		if fits := n.Free[i] >= 500; !fits && times > 0 || fits && !near(times, 1.0/3) {
			t.Errorf("GPU %d is drawn %d times of %d", i, times, seeds)
		}
	}
}
