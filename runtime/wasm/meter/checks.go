package meter

import "github.com/berth-scheduler/berth/abi/wire"

const (
	// worthCheck is the weight from which on a path gets a check of its own.
	worthCheck = 32
	// checkEvery is the maximum weight between two checks on any path through a function.
	checkEvery = 256
	// worthCharge is the fuel from which on a path back to a loop is charged on that path,
	// and not with every iteration.
	worthCharge = 256
	// maxCost is the maximum charge of an iteration or a function, so that the number has a
	// fixed size and can be filled in later.
	maxCost = 1<<20 - 1
)

// The added globals, counted from the first of them.
type globalIndices struct{ fuel, slice, depth, status int }

// spend adds an instruction to the path. It writes a check before the path gets too long.
func (b *body) spend(at, weight, fuel int) {
	if b.dead {
		return
	}
	if b.path.weight+weight > checkEvery && b.path.weight >= worthCheck {
		b.flush(at)
		b.check(max(b.path.unpaid, 1))
		b.path = path{}
	}
	b.path = b.path.plus(weight, fuel)
}

// settle charges for the path so far, without a check.
func (b *body) settle(at int) {
	if b.path.unpaid > 0 {
		b.flush(at)
		b.take(b.path.unpaid)
		b.path.unpaid = 0
	}
}

// check writes the charge of cost units:
//
//	if (slice < cost) refill(cost)
//	slice -= cost
//
// It does not touch operands, so it can stand before any instruction.
func (b *body) check(cost int) (costs places) {
	b.splits(b.in.pos, 1)
	b.checks++
	b.calls++
	costs[0] = b.tooLittle(cost)
	b.out.op(opIf, empty)
	costs[1] = b.refill(cost)
	b.out.op(opEnd)
	costs[2] = b.take(cost)
	return costs
}

// unknownCost is a cost that is filled in later.
const unknownCost = -1

// cost writes a cost, and returns its place.
func (b *body) cost(cost int) int {
	if cost != unknownCost {
		b.out.i32(int32(cost))
		return 0
	}
	b.out.op(opI32Const, 0x80, 0x80, 0)
	return len(b.out) - 3
}

// fill writes a cost that was left open.
func (b *body) fill(costs places, cost int) {
	cost = min(cost, maxCost)
	for _, place := range costs {
		if place != 0 {
			b.out[place], b.out[place+1], b.out[place+2] = byte(cost)|0x80, byte(cost>>7)|0x80, byte(cost>>14)
		}
	}
}

// tooLittle writes slice < cost; like refill and take, it returns the place of the
// cost.
func (b *body) tooLittle(cost int) int {
	b.out.indexed(opGlobalGet, b.r.globals.slice)
	place := b.cost(cost)
	b.out.op(opI32LtS)
	return place
}

// refill writes the call of the helper.
func (b *body) refill(cost int) int {
	place := b.cost(cost)
	b.out.indexed(opCall, b.r.helpers.refill())
	return place
}

// take writes slice -= cost.
func (b *body) take(cost int) int {
	b.out.indexed(opGlobalGet, b.r.globals.slice)
	place := b.cost(cost)
	b.out.op(opI32Sub)
	b.out.indexed(opGlobalSet, b.r.globals.slice)
	return place
}

// enter writes the code before the body: a charge, and the counting of frames if the function
// calls. Functions that do not call are not counted: at any time only the innermost frame can
// be such a function. It returns the places of the cost of the function.
func (b *body) enter() places {
	charged := b.reachesLoop() // the loop's check serves the entry too
	switch {
	case b.shape.calls:
		costs := b.enterFrame(charged)
		b.out.op(opBlock) // all branches out of the function go to its end
		b.out = append(b.out, b.r.types.blockType(b.function.Results)...)
		b.level++
		return costs
	case charged:
		return places{b.take(unknownCost)}
	}
	return b.check(unknownCost)
}

// enterFrame writes the following. One test serves both, since an or is negative if either
// operand is:
//
//	slice -= cost
//	depth -= weight of the frame
//	if ((slice | depth) < 0) enter(cost)
//
// or, if the next check is near, the same without the test of slice.
func (b *body) enterFrame(charged bool) (costs places) {
	g := &b.r.globals
	costs[0] = b.take(unknownCost)
	b.calls++
	b.out.indexed(opGlobalGet, g.depth)
	b.out.i32(int32(b.shape.frameWeight()))
	b.out.op(opI32Sub)
	b.out.indexed(opGlobalSet, g.depth)
	b.out.indexed(opGlobalGet, g.depth)
	if !charged {
		b.checks++
		b.out.indexed(opGlobalGet, g.slice)
		b.out.op(opI32Or)
	}
	b.out.i32(0)
	b.out.op(opI32LtS, opIf, empty)
	costs[1] = b.cost(unknownCost)
	b.out.indexed(opCall, b.r.helpers.enter())
	b.out.op(opEnd)
	return costs
}

// leave fills in the cost of the function, and writes the code after the body, which returns
// the frame. The cost since the last check is part of the cost of the entry. If it is large,
// it is charged here with a check, since it adds up when many frames return in a row.
func (b *body) leave(f *frame) {
	cost := f.extra
	check := b.shape.calls && f.join.weight >= worthCheck
	if !check {
		cost += f.join.unpaid
	}
	b.fill(f.costs, cost)
	if !b.shape.calls {
		return
	}
	b.flush(b.in.pos)
	b.out.indexed(opGlobalGet, b.r.globals.depth)
	b.out.i32(int32(b.shape.frameWeight()))
	b.out.op(opI32Add)
	b.out.indexed(opGlobalSet, b.r.globals.depth)
	if check {
		b.check(max(f.join.unpaid, 1))
	}
	b.out.op(opEnd)
}

// reachesLoop looks ahead for a loop that the function always enters, and soon.
func (b *body) reachesLoop() bool {
	saved := b.in
	defer func() { b.in = saved }()
	for weight := 0; weight <= worthCheck; weight++ {
		op := b.in.byte()
		i := &b.r.instructions.plain[op]
		switch {
		case op == opBlock:
			b.in.signed(33)
		case op == opLoop:
			return true
		case i.imm == immSpecial || i.imm == immUnknown:
			return false
		default:
			weight += int(i.weight)
			b.immediate(i.imm)
		}
	}
	return false
}

// block opens a block, a loop or an if.
func (b *body) block(at int, op byte) {
	if op == opIf {
		b.pop(at, 1)
		b.payer = manyWays
	}
	limits := &b.r.config.Limits
	b.in.limit(at, len(b.frames), limits.Nesting, "blocks in one another")
	b.splits(at, 1)
	start := b.in.pos
	t := b.blockType()
	if !b.dead {
		b.need(at, len(t.Params))
	}
	f := frame{op: op, params: t.Params, results: t.Results}
	if op == opLoop && !b.dead {
		b.loop(at, &f, b.in.data[start:b.in.pos])
	}
	b.push(f)
}

// blockType reads the type of a block.
func (b *body) blockType() wire.FuncType {
	at := b.in.pos
	v := b.in.signed(33)
	if v >= 0 {
		if v >= int64(len(b.r.module.Types)) {
			b.in.malformed(at, "type %d does not exist: there are %d", v, len(b.r.module.Types))
		}
		return b.r.module.Types[v]
	}
	t := wire.ValType(v & 0x7f)
	switch {
	case v == empty-0x80:
		return wire.FuncType{}
	case v < -0x40 || t.String() == "unknown":
		b.in.fail(at, "compile for WebAssembly 2.0 without garbage collection (ABI-1.1)", "type %#x of a block is unknown", v&0x7f)
	}
	return wire.FuncType{Results: []wire.ValType{t}}
}

// otherwise rewrites else.
func (b *body) otherwise(at int) {
	f := b.top()
	if f.op != opIf {
		b.in.malformed(at, "an else without an if")
	}
	if !b.dead {
		b.expect(at, f)
		f.joins(b.path)
	}
	f.op = opElse
	b.dead, b.path = !f.live, f.start
	b.operands = b.operands[:f.base]
	b.give(at, f.params...)
}

// nestedLabels counts the labels that loop writes besides that of the loop itself.
const nestedLabels = 3

// loop opens a loop. A path to it is charged where it ends, or with the beginning of the
// function or loop that leads here if there is only one way. Each iteration, the first
// included, is charged its own cost, and the rest of a path from inside. A loop without
// parameters, as nearly all are, is written so that the call of the host is outside of the
// innermost loop, since compilers generate better code for that:
//
//	block $done
//	  loop $again
//	    block $slow
//	      loop               ;; the loop of the source
//	        slice < cost
//	        br_if $slow
//	        slice -= cost
//	        …
//	      end
//	      br $done
//	    end
//	    refill(cost)
//	    br $again
//	  end
//	end
func (b *body) loop(at int, f *frame, blockType []byte) {
	b.loops++
	if b.payer >= 0 {
		b.frames[b.payer].extra += b.path.unpaid
	} else {
		b.settle(at)
	}
	b.path = path{}
	b.payer = len(b.frames)
	f.extra = fuelLoop
	if len(f.params) > 0 {
		b.flush(b.in.pos)
		f.costs = b.check(unknownCost)
		return
	}
	b.replace(at)
	open := func(op byte, t ...byte) { b.out = append(append(b.out, op), t...) }
	open(opBlock, blockType...)
	open(opLoop, blockType...)
	open(opBlock, empty)
	open(opLoop, blockType...)
	b.level += nestedLabels
	f.nested = true
	b.splits(at, nestedLabels+1)
	b.checks++
	f.costs[0] = b.tooLittle(unknownCost)
	b.out.indexed(opBrIf, 1)
	f.costs[1] = b.take(unknownCost)
}

// closeLoop fills in the cost of an iteration, and writes the rest of a loop. moves is the
// weight of the values that the end of an iteration may have to move.
func (b *body) closeLoop(f *frame, moves int) {
	if !f.live {
		return
	}
	if f.nested {
		b.flush(b.in.pos)
		b.calls++
		b.out.indexed(opBr, 2)
		b.out.op(opEnd)
		f.costs[2] = b.refill(unknownCost)
		b.out.indexed(opBr, 0)
		b.out.op(opEnd, opEnd)
	}
	b.fill(f.costs, f.extra+f.join.unpaid+moves)
}
