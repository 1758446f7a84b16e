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
	// base is the height of the operand stack below the parameters.
	base            int
	params, results int
	// live: the beginning of the frame can be reached.
	live bool
	// start is the path to the beginning; join stands for all paths to the label from
	// inside, if joined.
	start, join path
	joined      bool
	// sets counts assignments of locals inside, of which each may be a move where
	// control flow meets.
	sets int
	// nested: a loop that is written as checks.go says; costs are the places of its
	// cost in the code.
	nested bool
	costs  [3]int
}

// path is what was executed on the way to a place: the weight since the last
// check, and the weight that was not charged yet. Where paths meet, either is the
// most of any of them.
type path struct{ weight, unpaid int }

func (p path) with(q path) path {
	return path{weight: max(p.weight, q.weight), unpaid: max(p.unpaid, q.unpaid)}
}

// plus returns the path after something of a weight.
func (p path) plus(weight int) path {
	return path{weight: p.weight + weight, unpaid: p.unpaid + weight}
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
	start    int // of the code, after the size
	locals   int // parameters included
	shape    shape

	out    code
	copied int // the input up to here is in out
	frames []frame
	level  int // labels that are open in the new code

	// path is that to here, height that of the operand stack; neither means anything
	// where the code is dead.
	path            path
	height, highest int
	dead            bool

	loops, checks, calls, merges, targets int
}

// shape is what has to be known of a function before its first byte is written. It
// is found out by trying: what does not fit, starts again.
type shape struct {
	calls bool // it calls, so it counts as a frame
	exit  bool // there is code at its end
	slots int  // locals and operands
}

// frameWeight is what the function counts for in the depth.
func (s shape) frameWeight() int { return 1 + s.slots/frameSlots }

// frameSlots is how many values fit into a frame that counts once.
const frameSlots = 64

// rewrite appends the body of a function, without its size, to out. in is at the
// beginning of the old one.
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

// try rewrites the function, and returns false if it turned out to be of another
// shape, which is then that of the next try.
func (b *body) try() bool {
	b.loops, b.checks, b.calls, b.merges, b.targets = 0, 0, 0, 0, 0
	b.frames, b.level, b.height, b.highest, b.dead = b.frames[:0], 0, 0, 0, false
	b.readLocals()
	b.copied = b.start
	b.flush(b.in.pos)
	b.path = path{}.plus(min(b.locals/movesPerWeight, mergeLimit))
	b.enter()
	b.push(frame{op: opCall, results: len(b.function.Results)})
	for len(b.frames) > 0 {
		if !b.step() {
			return false
		}
	}
	if n := b.in.left(); n > 0 {
		b.in.malformed(b.in.pos, "%d bytes are left over at the end of the function", n)
	}
	if slots := b.locals + b.highest; b.shape.calls && slots/frameSlots != b.shape.slots/frameSlots {
		b.shape.slots = slots
		return false
	}
	return true
}

// readLocals reads how many locals there are.
func (b *body) readLocals() {
	limits := &b.r.config.Limits
	b.locals = len(b.function.Params)
	groups := b.in.count("groups of locals", limits.Locals)
	for range groups {
		at := b.in.pos
		n := b.in.u32()
		b.in.limit(at, b.locals+int(n), limits.Locals, "locals")
		b.locals += int(n)
		b.in.valueType()
	}
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

// flush copies the input up to a place.
func (b *body) flush(to int) {
	b.out = append(b.out, b.in.data[b.copied:to]...)
	b.copied = to
}

// replace copies the input up to an instruction, which begins at at and was read,
// and leaves that out.
func (b *body) replace(at int) {
	b.flush(at)
	b.copied = b.in.pos
}

func (b *body) top() *frame { return &b.frames[len(b.frames)-1] }

// pop takes n operands, which must be there.
func (b *body) pop(at, n int) {
	if b.dead {
		return
	}
	if b.height-n < b.floor() {
		b.in.malformed(at, "an instruction takes %d operands, %d are there", n, b.height-b.floor())
	}
	b.height -= n
}

func (b *body) floor() int {
	if len(b.frames) == 0 {
		return 0
	}
	return b.top().base
}

func (b *body) give(at, n int) {
	if b.dead {
		return
	}
	b.height += n
	if b.height > b.highest {
		b.highest = b.height
		b.in.limit(at, b.height, b.r.config.Limits.Operands, "operands on the stack")
	}
}

// push opens a frame, whose label has been written.
func (b *body) push(f frame) {
	f.live, f.base, f.start = !b.dead, b.height-f.params, b.path
	if b.dead {
		f.base = b.height
	}
	f.level = b.level
	b.level++
	b.frames = append(b.frames, f)
}

// label reads a label: the frame that a branch goes to, and its number.
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

// arity is how many operands a branch takes to the frame.
func (f *frame) arity() int {
	if f.op == opLoop {
		return f.params
	}
	return f.results
}

// branch is a path to the label of f.
func (b *body) branch(at int, f *frame) {
	n := f.arity()
	if b.dead {
		return
	}
	if b.height-n < b.floor() {
		b.in.malformed(at, "a branch takes %d operands, %d are there", n, b.height-b.floor())
	}
	if f.op == opLoop {
		b.settle(at)
	}
	f.joins(b.path.plus(n / movesPerWeight))
}

// end closes the innermost frame, whose end was read but not written.
func (b *body) end(at int) bool {
	f := *b.top()
	if !b.dead {
		if b.height != f.base+f.results {
			b.in.malformed(at, "%d operands are there at the end of a block, %d are expected", b.height-f.base, f.results)
		}
		if f.op != opLoop {
			f.joins(b.path)
		}
	}
	moves := min(f.sets, b.locals, mergeLimit) / movesPerWeight
	switch f.op {
	case opLoop:
		b.closeLoop(&f, moves)
	case opIf:
		if f.params != f.results {
			b.in.malformed(at, "an if without an else has %d parameters and %d results", f.params, f.results)
		}
		if f.live {
			f.joins(f.start)
		}
	case opCall:
		if !b.leave(&f) {
			return false
		}
	}
	if f.op != opLoop {
		b.dead, b.path = !f.joined, f.join.plus(moves)
	}
	b.frames = b.frames[:len(b.frames)-1]
	if b.level = f.level; f.nested {
		b.level -= nestedLabels
	}
	if b.dead = b.dead || !f.live; !b.dead {
		b.height = f.base
		b.give(at, f.results)
	} else {
		b.height = f.base + f.params // as it was before; nothing looks at it
	}
	if len(b.frames) > 0 {
		b.top().sets += f.sets
	}
	return true
}

const (
	// movesPerWeight is how many values are moved in the time of a simple
	// instruction.
	movesPerWeight = 4
	// mergeLimit bounds how many values are taken to move where control flow meets.
	mergeLimit = 4096
)

// newBody prepares for the functions of a module.
func newBody(r *rewriter) *body { return &body{r: r, frames: slices.Grow([]frame(nil), 64)} }
