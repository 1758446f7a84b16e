package meter

// Opcodes that the rewriter treats on their own.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableSet     = 0x26
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opMisc         = 0xfc
	opSIMD         = 0xfd
)

// Opcodes that the rewriter writes.
const (
	opI32LtS        = 0x48
	opI32GtU        = 0x4b
	opI64LtS        = 0x53
	opI64GtU        = 0x56
	opI32Add        = 0x6a
	opI32Sub        = 0x6b
	opI32Mul        = 0x6c
	opI32DivU       = 0x6e
	opI32Or         = 0x72
	opI64Add        = 0x7c
	opI64Sub        = 0x7d
	opI64Shl        = 0x86
	opI32WrapI64    = 0xa7
	opI64ExtendI32S = 0xac
	opI64ExtendI32U = 0xad
)

// Opcodes behind opMisc.
const (
	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17
	miscCount      = 18
)

// immediate is what follows an opcode.
type immediate byte

const (
	immUnknown immediate = iota // no instruction that the rewriter knows
	immSpecial                  // read where the instruction is treated
	immNone
	immLocal
	immGlobal
	immTable
	immI32
	immI64
	imm4
	imm8
	imm16
	immMemarg
	immMemargLane
	immLane
	immShuffle
)

// Weights: what an instruction costs, in the time of a simple one. They bound the
// time between two checks, so they are made for the slowest realistic case: an
// access of memory that misses caches, a division that is not predictable.
const (
	weightSimple = 1
	weightAccess = 4  // of memory, of a table
	weightSlow   = 16 // division, square root
	weightCall   = 4  // besides parameters and results
	weightHost   = 64 // leaves machine code for the host
)

// instruction is what the rewriter has to know about an opcode.
type instruction struct {
	imm          immediate
	pops, pushes int8
	weight       uint8
}

// instructions are those with a single byte, and those behind opMisc and opSIMD.
type instructions struct {
	plain [256]instruction
	misc  [miscCount]instruction
	simd  [256]instruction
}

func newInstructions() *instructions {
	t := &instructions{}
	t.control()
	t.memory()
	t.numeric()
	t.miscellaneous()
	t.vector()
	return t
}

func set(list []instruction, from, to int, i instruction) {
	for op := from; op <= to; op++ {
		list[op] = i
	}
}

func (t *instructions) control() {
	special := instruction{imm: immSpecial, weight: weightSimple}
	free := instruction{imm: immSpecial}
	for _, op := range []int{opBlock, opLoop, opElse, opEnd} {
		t.plain[op] = free
	}
	for _, op := range []int{opUnreachable, opIf, opBr, opBrIf, opReturn} {
		t.plain[op] = special
	}
	t.plain[0x01] = instruction{imm: immNone, weight: weightSimple} // nop
	t.plain[opBrTable] = instruction{imm: immSpecial, weight: 4 * weightSimple}
	t.plain[opCall] = instruction{imm: immSpecial, weight: weightCall}
	t.plain[opCallIndirect] = instruction{imm: immSpecial, weight: weightCall + 2*weightAccess}
	t.plain[opDrop] = instruction{imm: immNone, pops: 1, weight: weightSimple}
	t.plain[0x1b] = instruction{imm: immNone, pops: 3, pushes: 1, weight: weightSimple} // select
	t.plain[opSelectTyped] = instruction{imm: immSpecial, pops: 3, pushes: 1, weight: weightSimple}
	t.plain[opLocalGet] = instruction{imm: immLocal, pushes: 1, weight: weightSimple}
	t.plain[opLocalSet] = instruction{imm: immLocal, pops: 1, weight: weightSimple}
	t.plain[opLocalTee] = instruction{imm: immLocal, pops: 1, pushes: 1, weight: weightSimple}
	t.plain[opGlobalGet] = instruction{imm: immGlobal, pushes: 1, weight: weightSimple}
	t.plain[opGlobalSet] = instruction{imm: immGlobal, pops: 1, weight: weightSimple}
	t.plain[0x25] = instruction{imm: immTable, pops: 1, pushes: 1, weight: weightAccess} // table.get
	t.plain[opTableSet] = instruction{imm: immTable, pops: 2, weight: weightAccess}
	t.plain[opRefNull] = instruction{imm: immSpecial, pushes: 1, weight: weightSimple}
	t.plain[0xd1] = instruction{imm: immNone, pops: 1, pushes: 1, weight: weightSimple} // ref.is_null
	t.plain[opRefFunc] = instruction{imm: immSpecial, pushes: 1, weight: weightHost}
}

func (t *instructions) memory() {
	load := instruction{imm: immMemarg, pops: 1, pushes: 1, weight: weightAccess}
	store := instruction{imm: immMemarg, pops: 2, weight: weightAccess}
	set(t.plain[:], 0x28, 0x35, load)
	set(t.plain[:], 0x36, 0x3e, store)
	t.plain[opMemorySize] = instruction{imm: immSpecial, pushes: 1, weight: weightSimple}
	t.plain[opMemoryGrow] = instruction{imm: immSpecial, pops: 1, pushes: 1, weight: weightCall}
}

func (t *instructions) numeric() {
	set1 := func(op int, imm immediate) { t.plain[op] = instruction{imm: imm, pushes: 1, weight: weightSimple} }
	set1(opI32Const, immI32)
	set1(opI64Const, immI64)
	set1(opF32Const, imm4)
	set1(opF64Const, imm8)
	unary := instruction{imm: immNone, pops: 1, pushes: 1, weight: weightSimple}
	binary := instruction{imm: immNone, pops: 2, pushes: 1, weight: weightSimple}
	p := t.plain[:]
	set(p, 0x45, 0x45, unary)  // i32.eqz
	set(p, 0x46, 0x4f, binary) // i32 comparisons
	set(p, 0x50, 0x50, unary)  // i64.eqz
	set(p, 0x51, 0x66, binary) // comparisons
	set(p, 0x67, 0x69, unary)  // i32.clz, ctz, popcnt
	set(p, 0x6a, 0x78, binary)
	set(p, 0x79, 0x7b, unary) // i64.clz, ctz, popcnt
	set(p, 0x7c, 0x8a, binary)
	set(p, 0x8b, 0x91, unary) // f32.abs … sqrt
	set(p, 0x92, 0x98, binary)
	set(p, 0x99, 0x9f, unary) // f64.abs … sqrt
	set(p, 0xa0, 0xa6, binary)
	set(p, 0xa7, 0xc4, unary) // conversions, sign extension
	// i32 and i64 division and remainder; f32 and f64 square root and division.
	for _, op := range []int{0x6d, 0x6e, 0x6f, 0x70, 0x7f, 0x80, 0x81, 0x82, 0x91, 0x95, 0x9f, 0xa3} {
		p[op].weight = weightSlow
	}
	// Conversions between floats and integers, with their checks; min and max, which
	// treat NaN and zero; rounding.
	for _, r := range [][2]int{{0xa8, 0xab}, {0xae, 0xba}, {0x8d, 0x90}, {0x9b, 0x9e}, {0x96, 0x97}, {0xa4, 0xa5}} {
		for op := r[0]; op <= r[1]; op++ {
			p[op].weight = 4 * weightSimple
		}
	}
}

func (t *instructions) miscellaneous() {
	set(t.misc[:], 0, 7, instruction{imm: immNone, pops: 1, pushes: 1, weight: 4 * weightSimple}) // saturating conversion
	bulk := instruction{imm: immSpecial, pops: 3, weight: weightCall}
	for _, op := range []int{miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy, miscTableFill} {
		t.misc[op] = bulk
	}
	t.misc[miscDataDrop] = instruction{imm: immSpecial, weight: weightAccess}
	t.misc[miscElemDrop] = instruction{imm: immSpecial, weight: weightAccess}
	t.misc[miscTableGrow] = instruction{imm: immSpecial, pops: 2, pushes: 1, weight: weightCall}
	t.misc[miscTableSize] = instruction{imm: immTable, pushes: 1, weight: weightAccess}
}

// vectorShapes has a letter for each SIMD opcode in the order of the
// specification (WebAssembly 2.0, 5.4.9): u, b and t take one, two and three
// operands and give one; U and B are those of them that are slow; l and s load and
// store, L and S one lane; c is a constant, h a shuffle, x extracts and r replaces
// a lane; - is no instruction.
const vectorShapes = "llllllllllls" + "chb" + "uuuuuu" + "xxrxxrxrxrxrxr" + // 0: memory, constants, splats, lanes
	"bbbbbbbbbb" + "bbbbbbbbbb" + "bbbbbbbbbb" + "bbbbbb" + "bbbbbb" + // 35: comparisons
	"ubbbbtu" + "LLLLSSSS" + "llUU" + // 77: bitwise, single lanes, zero loads, conversions
	"uuUuubbUUUU" + "BBBbbbbbb" + "UU" + "bbbb" + "U" + "b" + "uuuu" + // 96: i8x16
	"uubuubbuuuu" + "bbbbbbbbb" + "U" + "bbbbb" + "-" + "b" + "bbbb" + // 128: i16x8
	"uu-uu--uuuu" + "bbbb--b---bbbbb" + "b-bbbb" + // 160: i32x4
	"uu-uu--uuuu" + "bBbb--b---B" + "bbbbbb" + "bbbb" + // 192: i64x2
	"uu-Vbb" + "bWBBBB" + "uu-Vbb" + "bWBBBB" + // 224: f32x4, f64x2
	"UUUUUUUU" // 248: conversions

func (t *instructions) vector() {
	for op := range len(vectorShapes) {
		i := instruction{imm: immNone, pops: 1, pushes: 1, weight: 2 * weightSimple}
		switch shape := vectorShapes[op]; shape {
		case 'u':
		case 'U':
			i.weight = 8 * weightSimple
		case 'V':
			i.weight = 2 * weightSlow
		case 'b':
			i.pops = 2
		case 'B':
			i.pops, i.weight = 2, 8*weightSimple
		case 'W':
			i.pops, i.weight = 2, 2*weightSlow
		case 't':
			i.pops = 3
		case 'l':
			i.imm, i.weight = immMemarg, weightAccess
		case 's':
			i.imm, i.pops, i.pushes, i.weight = immMemarg, 2, 0, weightAccess
		case 'L':
			i.imm, i.pops, i.weight = immMemargLane, 2, weightAccess
		case 'S':
			i.imm, i.pops, i.pushes, i.weight = immMemargLane, 2, 0, weightAccess
		case 'c':
			i.imm, i.pops = imm16, 0
		case 'h':
			i.imm, i.pops, i.weight = immShuffle, 2, 8*weightSimple
		case 'x':
			i.imm = immLane
		case 'r':
			i.imm, i.pops = immLane, 2
		default:
			i = instruction{}
		}
		t.simd[op] = i
	}
}

// proposalOf names the proposal that an unknown instruction belongs to, for
// errors. second is the opcode behind a prefix.
func proposalOf(op byte, second uint32) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return "exception handling"
	case op == 0x12, op == 0x13:
		return "tail calls"
	case op == 0x14, op == 0x15, op >= 0xd3 && op <= 0xd6:
		return "typed function references"
	case op == 0xfb:
		return "garbage collection"
	case op == 0xfe:
		return "threads"
	case op == opSIMD && second >= 0x100:
		return "relaxed SIMD"
	case op == opMisc && second >= 19:
		return "wide arithmetic"
	}
	return ""
}
