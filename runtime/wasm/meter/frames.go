package meter

import (
	"slices"

	"github.com/berth-scheduler/berth/abi/wire"
)

const (
	// movesPerWeight is how many values move in the time of a simple instruction.
	movesPerWeight = 4
	// mergeLimit bounds how many values count as moved where control flow meets.
	mergeLimit = 4096
)

func (b *body) top() *frame { return &b.frames[len(b.frames)-1] }

// pop takes n operands, which must exist.
func (b *body) pop(at, n int) {
	if b.dead {
		return
	}
	b.need(at, n)
	b.operands = b.operands[:len(b.operands)-n]
}

// need fails unless there are n operands.
func (b *body) need(at, n int) {
	if there := len(b.operands) - b.top().base; there < n {
		b.in.malformed(at, "an instruction takes %d operands, there are %d", n, there)
	}
}

func (b *body) give(at int, types ...wire.ValType) {
	if b.dead {
		return
	}
	b.operands = append(b.operands, types...)
	b.values += slotsOf(types)
	if n := len(b.operands); n > b.highest {
		b.highest = n
		b.in.limit(at, n, b.r.config.Limits.Operands, "operands on the stack")
	}
}

// push opens a frame. Its label has been written.
func (b *body) push(f frame) {
	f.live, f.start, f.sets = !b.dead, b.path, b.sets
	if f.base = len(b.operands); f.live {
		f.base -= len(f.params)
	}
	f.level = b.level
	b.level++
	b.frames = append(b.frames, f)
}

// label reads a label, and returns the frame that a branch goes to and its number.
func (b *body) label() (f *frame, depth int) {
	at := b.in.pos
	n := b.in.u32()
	if uint64(n) >= uint64(len(b.frames)) {
		b.in.malformed(at, "label %d does not exist: %d are open", n, len(b.frames))
	}
	return &b.frames[len(b.frames)-1-int(n)], int(n)
}

// labelOf returns the number of a frame's label in the new code.
func (b *body) labelOf(f *frame) int { return b.level - 1 - f.level }

// takes returns the types that a branch takes to the frame.
func (f *frame) takes() []wire.ValType {
	if f.op == opLoop {
		return f.params
	}
	return f.results
}

// branch is a path to the label of f.
func (b *body) branch(at int, f *frame) {
	if b.dead {
		return
	}
	n := len(f.takes())
	b.need(at, n)
	if f.op == opLoop && b.path.unpaid >= worthCharge {
		b.settle(at)
	}
	b.meet(at, f)
	f.joins(b.path.plus(n/movesPerWeight, n/movesPerWeight))
	b.payer = manyWays
}

// meet counts a path that meets others at the label of f, and returns how many locals may have
// to be moved: those that were assigned inside of the frame.
func (b *body) meet(at int, f *frame) int {
	moves := min(b.sets-f.sets, len(b.locals))
	b.moves += moves
	b.in.limit(at, b.moves, b.r.config.Limits.Moves, "locals assigned between the blocks of the function")
	return moves
}

// splits counts n places where control flow splits or meets.
func (b *body) splits(at, n int) {
	limits := &b.r.config.Limits
	b.blocks += n
	b.in.limit(at, b.blocks, limits.Blocks, "blocks and branches in the function")
	b.in.limit(at, b.blocks*len(b.locals), limits.Merges, "locals times blocks and branches in the function")
}

// end closes the innermost frame. Its end was read but not written.
func (b *body) end(at int) {
	f := *b.top()
	if !b.dead {
		b.expect(at, &f)
		if f.op != opLoop {
			f.joins(b.path)
		}
	}
	moves := min(b.meet(at, &f), mergeLimit) / movesPerWeight
	switch f.op {
	case opLoop:
		b.closeLoop(&f, moves)
		b.payer = manyWays
	case opIf:
		if !slices.Equal(f.params, f.results) {
			b.in.malformed(at, "an if without an else has parameters and results of other types")
		}
		if f.live {
			f.joins(f.start)
		}
	case opCall:
		b.leave(&f)
	}
	if f.op != opLoop {
		b.dead, b.path = !f.joined, f.join.plus(moves, moves)
	}
	// After the frame come its results. In dead code nothing looks at them.
	b.frames = b.frames[:len(b.frames)-1]
	if b.level = f.level; f.nested {
		b.level -= nestedLabels
	}
	b.dead = b.dead || !f.live
	b.operands = b.operands[:f.base]
	b.give(at, f.results...)
}

// expect fails unless the operands are exactly the results of a frame.
func (b *body) expect(at int, f *frame) {
	if there := len(b.operands) - f.base; there != len(f.results) {
		b.in.malformed(at, "%d operands at the end of a block, %d are expected", there, len(f.results))
	}
}
