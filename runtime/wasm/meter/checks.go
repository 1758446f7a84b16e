package meter

import "github.com/berth-scheduler/berth/abi/wire"

const (
	// grain is the weight that a unit of fuel pays for.
	grain = 32
	// block is the most weight between two checks on any path through a function.
	block = 256
	// maxCost is the most that a loop's iteration is charged with, so that the number
	// takes one byte and can be filled in later.
	maxCost = 63
)

// units is what is charged for a path.
func units(weight int) int { return weight / grain }

// The globals that are added, counted from the first of them.
type globalIndices struct{ fuel, slice, depth, status int }

// spend adds the weight of an instruction to the path. Before the path gets too
// long it writes a check.
func (b *body) spend(at, weight int) {
	if b.dead {
		return
	}
	if b.path.weight+weight > block && b.path.weight >= grain {
		b.flush(at)
		b.check(max(units(b.path.unpaid), 1))
		b.path = path{unpaid: b.path.unpaid % grain}
	}
	b.path = b.path.plus(weight)
}

// settle charges for the path to here, without a check.
func (b *body) settle(at int) {
	if cost := units(b.path.unpaid); cost > 0 {
		b.flush(at)
		b.take(cost)
		b.path.unpaid %= grain
	}
}

// check writes the charge of cost units:
//
//	if (slice < cost) refill(cost)
//	slice -= cost
//
// It does not touch operands, so it can stand before any instruction.
func (b *body) check(cost int) (costs [3]int) {
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

// tooLittle writes slice < cost; like refill and take, it returns the place of the
// cost.
func (b *body) tooLittle(cost int) int {
	b.out.indexed(opGlobalGet, b.r.globals.slice)
	b.out.i32(int32(cost))
	place := len(b.out) - 1
	b.out.op(opI32LtS)
	return place
}

// refill writes the call of the helper.
func (b *body) refill(cost int) int {
	b.out.i32(int32(cost))
	place := len(b.out) - 1
	b.out.indexed(opCall, b.r.helpers.refill())
	return place
}

// take writes slice -= cost.
func (b *body) take(cost int) int {
	b.out.indexed(opGlobalGet, b.r.globals.slice)
	b.out.i32(int32(cost))
	place := len(b.out) - 1
	b.out.op(opI32Sub)
	b.out.indexed(opGlobalSet, b.r.globals.slice)
	return place
}

// exits reports whether there is code at the end of the function; its body is in
// a block then, to whose end all branches out of the function go.
func (b *body) exits() bool { return b.shape.calls || b.shape.exit }

// enter writes what stands before the body: a charge of one unit, and the counting
// of frames if the function calls. Functions that do not call are not counted:
// there can only be one of them above those that are.
func (b *body) enter() {
	charged := b.reachesLoop() // whose check is that of the entry, too
	switch {
	case b.shape.calls:
		b.enterFrame(charged)
	case !charged:
		b.check(1)
	}
	if b.exits() {
		b.out.op(opBlock)
		b.out = append(b.out, b.r.types.blockType(b.function.Results)...)
		b.level++
	}
}

// enterFrame writes, with a single test for both since the sign of an or is that of
// either:
//
//	slice -= 1
//	depth -= weight of the frame
//	if ((slice | depth) < 0) enter(1)
//
// or, if charged, the same without slice.
func (b *body) enterFrame(charged bool) {
	g := &b.r.globals
	cost := 0
	if !charged {
		cost = 1
		b.checks++
		b.take(cost)
	}
	b.calls++
	b.out.indexed(opGlobalGet, g.depth)
	b.out.i32(int32(b.shape.frameWeight()))
	b.out.op(opI32Sub)
	b.out.indexed(opGlobalSet, g.depth)
	b.out.indexed(opGlobalGet, g.depth)
	if !charged {
		b.out.indexed(opGlobalGet, g.slice)
		b.out.op(opI32Or)
	}
	b.out.i32(0)
	b.out.op(opI32LtS, opIf, empty)
	b.out.i32(int32(cost))
	b.out.indexed(opCall, b.r.helpers.enter())
	b.out.op(opEnd)
}

// leave writes what stands behind the body: the frame is given back, and the path
// to here is charged for.
func (b *body) leave(f *frame) bool {
	// What is not checked here adds up when many frames return one after the other.
	cost := 0
	if f.joined && f.join.weight >= grain {
		cost = max(units(f.join.unpaid), 1)
	}
	if cost > 0 && !b.exits() {
		b.shape.exit = true
		return false
	}
	if !b.exits() {
		return true
	}
	b.flush(b.in.pos)
	if b.shape.calls {
		b.out.indexed(opGlobalGet, b.r.globals.depth)
		b.out.i32(int32(b.shape.frameWeight()))
		b.out.op(opI32Add)
		b.out.indexed(opGlobalSet, b.r.globals.depth)
	}
	if cost > 0 {
		b.check(cost)
	}
	b.out.op(opEnd)
	return true
}

// reachesLoop looks ahead for a loop that the function enters whatever happens,
// before it did much.
func (b *body) reachesLoop() bool {
	saved := b.in
	defer func() { b.in = saved }()
	for weight := 0; weight <= grain; weight++ {
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

// nestedLabels are the labels that loop writes besides that of the loop itself.
const nestedLabels = 3

// loop opens a loop. Paths to it, from before and from inside, are charged for
// where they end; each iteration, the first included, is charged with a unit, and
// with what is left over of a path from inside. A loop without parameters,
// as nearly all are, is written so that the way to the host is not inside of the
// innermost loop, since compilers find better code for that:
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
	b.settle(at)
	b.path = path{}
	if len(f.params) > 0 {
		b.flush(b.in.pos)
		f.costs = b.check(1)
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
	f.costs[0] = b.tooLittle(1)
	b.out.indexed(opBrIf, 1)
	f.costs[1] = b.take(1)
}

// closeLoop fills the cost of an iteration in, and writes the rest of a loop.
// moves is the weight of what the end of an iteration may have to move.
func (b *body) closeLoop(f *frame, moves int) {
	if !f.live {
		return
	}
	cost := 1
	if f.joined {
		cost = min(1+units(f.join.unpaid+moves), maxCost)
	}
	if f.nested {
		b.flush(b.in.pos)
		b.calls++
		b.out.indexed(opBr, 2)
		b.out.op(opEnd)
		f.costs[2] = b.refill(cost)
		b.out.indexed(opBr, 0)
		b.out.op(opEnd, opEnd)
	}
	for _, place := range f.costs {
		b.out[place] = byte(cost)
	}
}
