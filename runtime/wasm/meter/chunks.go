package meter

import "github.com/berth-scheduler/berth/abi/wire"

// helper returns the code of a helper.
func (r *rewriter) helper(h helper) function {
	tableSize := func(table int) []byte { return appendU32([]byte{opMisc, miscTableSize}, uint32(table)) }
	memory := extent{size: []byte{opMemorySize, 0}, shift: 16}
	misc := func(second byte, immediates ...int) []byte {
		out := []byte{opMisc, second}
		for _, i := range immediates {
			out = appendU32(out, uint32(i))
		}
		return out
	}
	memorySteps, tableSteps := steps{area: inMemory()}, steps{area: inTable()}
	switch h.kind {
	case helpPrice:
		return r.price(h.a, &r.config.Prices[h.b])
	case helpMemoryGrow:
		return r.grow("memory.grow", nil, memory.size, r.module.Memories[0].Max, pageShift-growShift, []byte{opMemoryGrow, 0})
	case helpTableGrow:
		table := r.module.Tables[h.a]
		return r.grow("table.grow", []wire.ValType{table.Elem}, tableSize(h.a), table.Max, referenceShift-growShift, misc(miscTableGrow, h.a))
	case helpMemoryFill:
		s := memorySteps
		s.name, s.op, s.to = "memory.fill", misc(miscMemoryFill, 0), memory
		return r.chunks(s, wire.ValI32)
	case helpMemoryCopy:
		s := memorySteps
		s.name, s.op, s.to, s.from = "memory.copy", misc(miscMemoryCopy, 0, 0), memory, memory
		return r.chunks(s, wire.ValI32)
	case helpMemoryInit:
		s := memorySteps
		s.name, s.op, s.to, s.segment = "memory.init", misc(miscMemoryInit, h.a, 0), memory, true
		return r.chunks(s, wire.ValI32)
	case helpTableFill:
		s := tableSteps
		s.name, s.op, s.to = "table.fill", misc(miscTableFill, h.a), extent{size: tableSize(h.a)}
		return r.chunks(s, r.module.Tables[h.a].Elem)
	case helpTableCopy:
		s := tableSteps
		s.name, s.op = "table.copy", misc(miscTableCopy, h.a, h.b)
		s.to, s.from = extent{size: tableSize(h.a)}, extent{size: tableSize(h.b)}
		return r.chunks(s, wire.ValI32)
	default: // helpTableInit
		s := tableSteps
		s.name, s.op, s.to, s.segment = "table.init", misc(miscTableInit, h.a, h.b), extent{size: tableSize(h.b)}, true
		return r.chunks(s, wire.ValI32)
	}
}

// grow returns a helper for memory.grow or table.grow. Growth that cannot succeed costs nothing
// and gives -1. Other growth is charged 1 + growth << shift, or >> if shift is negative.
func (r *rewriter) grow(name string, value []wire.ValType, size []byte, most uint32, shift int, op []byte) function {
	f := function{name: name, t: signature(append(value, wire.ValI32), i32()), locals: i32()}
	c := &f.code
	by := len(value)
	cost := by + 1
	c.indexed(opLocalGet, by)
	c.i32(int32(most))
	c.op(size...)
	c.op(opI32Sub, opI32GtU, opIf, empty)
	c.i32(-1)
	c.op(opReturn, opEnd)
	c.indexed(opLocalGet, by)
	if shift < 0 {
		c.i32(int32(-shift))
		c.op(opI32ShrU)
	} else {
		c.i32(int32(shift))
		c.op(opI32Shl)
	}
	c.i32(1)
	c.op(opI32Add)
	c.indexed(opLocalSet, cost)
	r.charge(c, cost)
	for i := range cost {
		c.indexed(opLocalGet, i)
	}
	c.op(op...)
	return f
}

// extent is an instruction that gives the size of a memory or table in units of 1 << shift.
// Without an instruction there is nothing to check.
type extent struct {
	size  []byte
	shift int
}

// steps is a bulk instruction that runs in steps. It takes a destination, a second operand and
// a length. The second operand is a source if from or segment is set.
type steps struct {
	name     string
	op       []byte
	to, from extent
	segment  bool // the source is a segment; no instruction gives its size
	area
}

// The locals of a helper made by chunks.
const (
	chunkTo = iota
	chunkFrom
	chunkLength
	chunkCost
)

// chunks returns a helper for a bulk instruction.
//
// The semantics are those of the whole instruction: if it is out of bounds it traps before it
// writes anything, and overlapping ranges are copied as if the source were read first. To
// trap, the original instruction runs.
func (r *rewriter) chunks(s steps, second wire.ValType) function {
	f := function{name: s.name, t: signature([]wire.ValType{wire.ValI32, second, wire.ValI32}, nil), locals: i32()}
	c := &f.code
	c.indexed(opLocalGet, chunkLength)
	c.i32(int32(s.step))
	c.op(opI32GtU, opIf, empty)
	r.bounds(c, s)
	if s.from.size == nil {
		r.forwards(c, s)
	} else {
		c.indexed(opLocalGet, chunkTo)
		c.indexed(opLocalGet, chunkFrom)
		c.op(opI32GtU, opIf, empty)
		r.backwards(c, s)
		c.op(opElse)
		r.forwards(c, s)
		c.op(opEnd)
	}
	c.op(opEnd)
	c.indexed(opLocalGet, chunkLength)
	c.i32(int32(s.shift))
	c.op(opI32ShrU)
	c.i32(1)
	c.op(opI32Add)
	c.indexed(opLocalSet, chunkCost)
	r.charge(c, chunkCost)
	whole(c, s)
	return f
}

// whole writes the instruction for all that is left.
func whole(c *code, s steps) {
	for _, local := range []int{chunkTo, chunkFrom, chunkLength} {
		c.indexed(opLocalGet, local)
	}
	c.op(s.op...)
}

// bounds writes code that traps if a range is out of bounds.
func (r *rewriter) bounds(c *code, s steps) {
	end := func(local int) { // its end, as an i64
		c.indexed(opLocalGet, local)
		c.op(opI64ExtendI32U)
		c.indexed(opLocalGet, chunkLength)
		c.op(opI64ExtendI32U, opI64Add)
	}
	trap := func() {
		c.op(opI64GtU, opIf, empty)
		whole(c, s)
		c.op(opUnreachable, opEnd)
	}
	for local, e := range []extent{chunkTo: s.to, chunkFrom: s.from} {
		if e.size == nil {
			continue
		}
		end(local)
		c.op(e.size...)
		c.op(opI64ExtendI32U)
		c.i64(int64(e.shift))
		c.op(opI64Shl)
		trap()
	}
	if s.segment {
		// A segment may have been dropped, so only the instruction itself knows its size:
		// with length 0 it traps if the source is beyond the end.
		end(chunkFrom)
		c.i64(1<<32 - 1)
		trap()
		c.i32(0)
		c.indexed(opLocalGet, chunkFrom)
		c.indexed(opLocalGet, chunkLength)
		c.op(opI32Add)
		c.i32(0)
		c.op(s.op...)
	}
}

// step writes the charge for one step.
func (r *rewriter) step(c *code, s steps) {
	c.i32(int32(1 + s.step>>s.shift))
	c.indexed(opLocalSet, chunkCost)
	r.charge(c, chunkCost)
}

// move writes local = local op step.
func move(c *code, s steps, local int, op byte) {
	c.indexed(opLocalGet, local)
	c.i32(int32(s.step))
	c.op(op)
	c.indexed(opLocalSet, local)
}

// again writes the end of a loop that continues while more than a step is left.
func again(c *code, s steps) {
	c.indexed(opLocalGet, chunkLength)
	c.i32(int32(s.step))
	c.op(opI32GtU)
	c.indexed(opBrIf, 0)
	c.op(opEnd)
}

// forwards writes a loop over steps from the beginning. It leaves the last step.
func (r *rewriter) forwards(c *code, s steps) {
	c.op(opLoop, empty)
	r.step(c, s)
	c.indexed(opLocalGet, chunkTo)
	c.indexed(opLocalGet, chunkFrom)
	c.i32(int32(s.step))
	c.op(s.op...)
	move(c, s, chunkTo, opI32Add)
	if s.from.size != nil || s.segment {
		move(c, s, chunkFrom, opI32Add)
	}
	move(c, s, chunkLength, opI32Sub)
	again(c, s)
}

// backwards writes a loop over steps from the end. It leaves the first step.
func (r *rewriter) backwards(c *code, s steps) {
	c.op(opLoop, empty)
	r.step(c, s)
	move(c, s, chunkLength, opI32Sub)
	for _, local := range []int{chunkTo, chunkFrom} {
		c.indexed(opLocalGet, local)
		c.indexed(opLocalGet, chunkLength)
		c.op(opI32Add)
	}
	c.i32(int32(s.step))
	c.op(s.op...)
	again(c, s)
}
