package pipeline

import (
	"math"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// turns has the calls of plugins.Ordered in the order of blocks, however many workers evaluate these. Workers begin blocks
// in that order, so the lowest block that has not ended never waits.
type turns struct {
	mu     sync.Mutex
	ready  sync.Cond
	blocks [][]uint32
	passed []int // stages that are over, by block
}

// begin begins with blocks of which no stage is over.
func (t *turns) begin(blocks [][]uint32) {
	t.ready.L = &t.mu
	t.blocks, t.passed = blocks, append(t.passed[:0], make([]int, len(blocks))...)
}

// pass says that stages of a block are over.
func (t *turns) pass(block, stages int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed[block] = stages
	t.ready.Broadcast()
}

// end says that all stages of a block are over.
func (t *turns) end(block int) { t.pass(block, math.MaxInt) }

// wait waits until a stage is over in the earlier blocks of the same lane.
func (t *turns) wait(block, stage, lanes int) {
	number := func(block int) int { return int(t.blocks[block][0]/plugin.BlockRows) % lanes }
	t.mu.Lock()
	defer t.mu.Unlock()
	for earlier := range block {
		for number(earlier) == number(block) && t.passed[earlier] <= stage {
			t.ready.Wait()
		}
	}
}

// turn is where a worker is among turns; nil turns if it is alone.
type turn struct {
	of           *turns
	block, stage int
}

// wait waits for the turn of a plugin that is about to be called.
func (t *turn) wait(c *plugin.Cycle, p plugin.Plugin, point abi.Point) {
	if o, ok := p.(plugin.Ordered); ok && t.of != nil {
		t.of.wait(t.block, t.stage, o.Lanes(c, point))
	}
}

// pass says that the stage of the worker is over. Without an order nobody waits for it.
func (t *turn) pass(p plugin.Plugin) {
	t.stage++
	if _, ok := p.(plugin.Ordered); ok && t.of != nil {
		t.of.pass(t.block, t.stage)
	}
}
