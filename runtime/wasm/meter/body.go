package meter

import (
	"slices"

	"github.com/berth-scheduler/berth/abi/wire"
)

// frame is a block, loop, if or function body that is open.
type frame struct {
	op byte // opBlock, opLoop, opIf, opElse; opCall for the function
	// level counts the labels of the new code that are outside of this one's.
	level int
	// base is the height of the operand stack without the parameters.
	base            int
	params, results []wire.ValType
	// live says that the beginning of the frame can be reached.
	live bool
	// start is the path to the beginning. If joined, join combines all paths from inside
	// to the label.
	start, join path
	joined      bool
	// sets counts the assignments of locals before the frame.
	sets int
	// nested says that a loop is written in the form that body.loop shows. costs are the
	// places in the code of the cost of an iteration, or of the function; extra is the part
	// of it that is known before the end.
	nested bool
	costs  places
	extra  int
}

// places are positions at which numbers are filled in later; 0 is none.
type places [3]int

// path is what was executed on the way to a position: the weight since the last check, and the
// fuel that was not charged yet. Where paths meet, each is the maximum of them.
type path struct{ weight, unpaid int }

func (p path) with(q path) path {
	return path{weight: max(p.weight, q.weight), unpaid: max(p.unpaid, q.unpaid)}
}

// plus returns the path after more code of a weight and fuel.
func (p path) plus(weight, fuel int) path {
	return path{weight: p.weight + weight, unpaid: p.unpaid + fuel}
}

// joins adds a path to the label of f.
func (f *frame) joins(p path) {
	f.join, f.joined = f.join.with(p), true
}

// body rewrites one function.
type body struct {
	r        *rewriter
	in       reader
	function wire.FuncType
	start    int            // of the code, after the size
	locals   []wire.ValType // parameters included
	shape    shape

	out    code
	copied int // the input up to this position is in out
	frames []frame
	level  int // labels that are open in the new code

	// path is the path to the present position, operands are the types on the operand
	// stack, and highest is the most that were on it. In dead code, path and operands mean
	// nothing.
	path     path
	operands []wire.ValType
	highest  int
	dead     bool

	// payer is the frame, a loop or the function, from whose beginning there is only one
	// way to the present position; or manyWays.
	payer int

	// constant is the number of the previous instruction, if it was i32.const.
	constant int

	// Counts: loops, checks, calls, the labels of br_table; places where control flow
	// splits or meets; assignments of locals; and locals that may have to be moved where
	// control flow meets.
	loops, checks, calls, targets, blocks, sets, moves int
	// values counts the slots of the values that instructions make. A compiler may give each
	// of them a place of its own in the frame.
	values int
}

// shape is what must be known about a function before its first byte is written. The rewriter
// guesses, and starts again if the guess was wrong.
type shape struct {
	calls bool // it counts as a frame until its end: it calls, or its frame is large
	slots int  // of 8 bytes, that its frame may need
}

// frameWeight is by how much the function counts in the depth.
func (s shape) frameWeight() int { return 1 + s.slots/frameSlots }

const (
	// notConstant is body.constant after any other instruction.
	notConstant = -1
	// manyWays is body.payer where code is not always reached, or from several places.
	manyWays = -1
)

const (
	// frameSlots is how many slots of 8 bytes fit into a frame that counts once.
	frameSlots = 64
	// largeFrame is from how many slots on a frame counts though its function calls no other.
	largeFrame = 4096
	// vectorSlots is how many a v128 takes.
	vectorSlots = 2
)

// FrameBytes is what a frame that counts once takes of a stack at most, in bytes. Its slots
// are more than its values, so there is room for the registers that it saves.
const FrameBytes = 8 * frameSlots

// rewrite appends the new body of a function, without its size, to out. in is at the beginning
// of the old body.
func (b *body) rewrite(in reader, function wire.FuncType, out code) code {
	b.function, b.start, b.shape = function, in.pos, shape{}
	for begin := len(out); ; out = out[:begin] {
		b.in, b.out = in, out
		if b.try() {
			return b.out
		}
		out = b.out
	}
}

// try rewrites the function. It returns false if the shape was wrong; the next try has the
// right one.
func (b *body) try() bool {
	b.loops, b.checks, b.calls, b.targets, b.blocks, b.sets, b.moves, b.values = 0, 0, 0, 0, 0, 0, 0, 0
	b.frames, b.level, b.operands, b.highest, b.dead = b.frames[:0], 0, b.operands[:0], 0, false
	b.constant = notConstant
	b.readLocals()
	moves := min(len(b.locals)/movesPerWeight, mergeLimit)
	b.path = path{}.plus(moves, moves)
	b.payer = 0
	b.push(frame{op: opCall, results: b.function.Results, extra: fuelEntry, costs: b.enter()})
	for len(b.frames) > 0 {
		if !b.step() {
			return false
		}
	}
	if n := b.in.left(); n > 0 {
		b.in.malformed(b.in.pos, "%d bytes are left over at the end of the function", n)
	}
	slots := b.slots()
	if !b.shape.calls && slots >= largeFrame && b.r.config.Omit&PartDepth == 0 {
		b.shape = shape{calls: true, slots: slots}
		return false
	}
	if b.shape.calls && slots/frameSlots != b.shape.slots/frameSlots {
		b.shape.slots = slots
		return false
	}
	return true
}

// slots returns how many slots the frame may need: for locals, for arguments, for each value,
// and for each local where control flow meets.
func (b *body) slots() int {
	moves := b.moves
	if slotsOf(b.locals) > len(b.locals) {
		moves *= vectorSlots
	}
	return slotsOf(b.locals) + vectorSlots*b.highest + b.values + moves
}

// slotsOf returns how many slots values of these types take.
func slotsOf(types []wire.ValType) int {
	n := len(types)
	for _, t := range types {
		if t == wire.ValV128 {
			n += vectorSlots - 1
		}
	}
	return n
}

// readLocals reads and copies the types of the locals.
func (b *body) readLocals() {
	limits := &b.r.config.Limits
	b.locals = append(b.locals[:0], b.function.Params...)
	b.copied = b.in.pos
	for range b.in.count("groups of locals", limits.Locals) {
		at := b.in.pos
		n := int(b.in.u32())
		b.in.limit(at, len(b.locals)+n, limits.Locals, "locals")
		t := b.in.valueType()
		for range n {
			b.locals = append(b.locals, t)
		}
	}
	b.flush(b.in.pos)
}

// valueType reads a value type.
func (r *reader) valueType() wire.ValType {
	at := r.pos
	t := wire.ValType(r.byte())
	if t.String() == "unknown" {
		r.fail(at, "compile for WebAssembly 2.0 without garbage collection (ABI-1.1)", "type %#x is unknown", byte(t))
	}
	return t
}

// flush copies the input up to a position.
func (b *body) flush(to int) {
	b.out = append(b.out, b.in.data[b.copied:to]...)
	b.copied = to
}

// replace copies the input up to an instruction that was read, and leaves it out. The
// instruction begins at at.
func (b *body) replace(at int) {
	b.flush(at)
	b.copied = b.in.pos
}

// newBody prepares for the functions of a module.
func newBody(r *rewriter) *body { return &body{r: r, frames: slices.Grow([]frame(nil), 64)} }
