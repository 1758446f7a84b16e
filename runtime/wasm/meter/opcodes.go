package meter

import "github.com/berth-scheduler/berth/abi/wire"

// Opcodes that need their own treatment.
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
	opSelect       = 0x1b
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableGet     = 0x25
	opTableSet     = 0x26
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opRefNull      = 0xd0
	opRefIsNull    = 0xd1
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
	opI32Or         = 0x72
	opI32Shl        = 0x74
	opI32ShrU       = 0x76
	opI64Add        = 0x7c
	opI64Sub        = 0x7d
	opI64Shl        = 0x86
	opI32WrapI64    = 0xa7
	opI64ExtendI32S = 0xac
	opI64ExtendI32U = 0xad
)

// Opcodes after opMisc.
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
	immSpecial                  // read where the instruction is rewritten
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

// Weights: the usual time of an instruction, relative to a simple one. They bound the time
// between two checks. Costs are in fuel.go.
const (
	weightSimple = 1
	weightAccess = 4  // of memory, of a table
	weightSlow   = 16 // division, square root
	weightCall   = 4  // besides parameters and results
	weightHost   = 64 // leaves machine code for the host
)

// instruction is what the rewriter must know about an opcode: how many operands it takes; the
// type of its result, noResult if there is none or it depends on the instruction; its weight;
// and the fuel that it costs.
type instruction struct {
	imm    immediate
	pops   int8
	result wire.ValType
	weight uint8
	fuel   uint16
}

const noResult wire.ValType = 0

// instructions are those with a single byte, and those after opMisc and opSIMD.
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
	t.setFuel()
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
	for _, op := range []int{opSelect, opSelectTyped, opRefNull} {
		t.plain[op] = special
	}
	t.plain[opLocalGet] = instruction{imm: immLocal, weight: weightSimple}
	t.plain[opLocalSet] = instruction{imm: immLocal, pops: 1, weight: weightSimple}
	t.plain[opLocalTee] = instruction{imm: immLocal, pops: 1, weight: weightSimple}
	t.plain[opGlobalGet] = instruction{imm: immGlobal, weight: weightSimple}
	t.plain[opGlobalSet] = instruction{imm: immGlobal, pops: 1, weight: weightSimple}
	t.plain[opTableGet] = instruction{imm: immTable, pops: 1, weight: weightAccess}
	t.plain[opTableSet] = instruction{imm: immTable, pops: 2, weight: weightAccess}
	t.plain[opRefIsNull] = instruction{imm: immNone, pops: 1, result: wire.ValI32, weight: weightSimple}
	t.plain[opRefFunc] = instruction{imm: immSpecial, result: wire.ValFuncref, weight: weightHost}
}

func (t *instructions) memory() {
	load := func(from, to int, result wire.ValType) {
		set(t.plain[:], from, to, instruction{imm: immMemarg, pops: 1, result: result, weight: weightAccess})
	}
	load(0x28, 0x28, wire.ValI32)
	load(0x29, 0x29, wire.ValI64)
	load(0x2a, 0x2a, wire.ValF32)
	load(0x2b, 0x2b, wire.ValF64)
	load(0x2c, 0x2f, wire.ValI32)
	load(0x30, 0x35, wire.ValI64)
	set(t.plain[:], 0x36, 0x3e, instruction{imm: immMemarg, pops: 2, weight: weightAccess}) // stores
	t.plain[opMemorySize] = instruction{imm: immSpecial, result: wire.ValI32, weight: weightSimple}
	t.plain[opMemoryGrow] = instruction{imm: immSpecial, pops: 1, result: wire.ValI32, weight: weightCall}
}

func (t *instructions) numeric() {
	p := t.plain[:]
	constant := func(op int, imm immediate, result wire.ValType) {
		p[op] = instruction{imm: imm, result: result, weight: weightSimple}
	}
	constant(opI32Const, immI32, wire.ValI32)
	constant(opI64Const, immI64, wire.ValI64)
	constant(opF32Const, imm4, wire.ValF32)
	constant(opF64Const, imm8, wire.ValF64)
	unary := func(from, to int, result wire.ValType) {
		set(p, from, to, instruction{imm: immNone, pops: 1, result: result, weight: weightSimple})
	}
	binary := func(from, to int, result wire.ValType) {
		set(p, from, to, instruction{imm: immNone, pops: 2, result: result, weight: weightSimple})
	}
	unary(0x45, 0x45, wire.ValI32)  // i32.eqz
	binary(0x46, 0x4f, wire.ValI32) // comparisons of i32
	unary(0x50, 0x50, wire.ValI32)  // i64.eqz
	binary(0x51, 0x66, wire.ValI32) // comparisons of i64, f32, f64
	unary(0x67, 0x69, wire.ValI32)  // clz, ctz, popcnt
	binary(0x6a, 0x78, wire.ValI32)
	unary(0x79, 0x7b, wire.ValI64) // clz, ctz, popcnt
	binary(0x7c, 0x8a, wire.ValI64)
	unary(0x8b, 0x91, wire.ValF32) // abs … sqrt
	binary(0x92, 0x98, wire.ValF32)
	unary(0x99, 0x9f, wire.ValF64) // abs … sqrt
	binary(0xa0, 0xa6, wire.ValF64)
	unary(0xa7, 0xab, wire.ValI32) // conversions from here on
	unary(0xac, 0xb1, wire.ValI64)
	unary(0xb2, 0xb6, wire.ValF32)
	unary(0xb7, 0xbb, wire.ValF64)
	unary(0xbc, 0xbc, wire.ValI32)
	unary(0xbd, 0xbd, wire.ValI64)
	unary(0xbe, 0xbe, wire.ValF32)
	unary(0xbf, 0xbf, wire.ValF64)
	unary(0xc0, 0xc1, wire.ValI32)
	unary(0xc2, 0xc4, wire.ValI64)
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
	saturating := instruction{imm: immNone, pops: 1, result: wire.ValI32, weight: 4 * weightSimple}
	set(t.misc[:], 0, 3, saturating)
	saturating.result = wire.ValI64
	set(t.misc[:], 4, 7, saturating)
	bulk := instruction{imm: immSpecial, pops: 3, weight: weightCall}
	for _, op := range []int{miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy, miscTableFill} {
		t.misc[op] = bulk
	}
	t.misc[miscDataDrop] = instruction{imm: immSpecial, weight: weightAccess}
	t.misc[miscElemDrop] = instruction{imm: immSpecial, weight: weightAccess}
	t.misc[miscTableGrow] = instruction{imm: immSpecial, pops: 2, result: wire.ValI32, weight: weightCall}
	t.misc[miscTableSize] = instruction{imm: immTable, result: wire.ValI32, weight: weightAccess}
}

// vectorShapes has a letter for each SIMD opcode in the order of the
// specification (WebAssembly 2.0, 5.4.9): u, b and t take one, two and three
// operands and give a vector; U and B are slow ones of these, V and W very
// slow ones; i takes a vector and gives an i32; l and s load and store, L and S one lane;
// c is a constant, h a shuffle; x, y, z and w extract a lane as i32, i64, f32 and
// f64, r replaces one; - is no instruction.
const vectorShapes = "llllllllllls" + "chb" + "uuuuuu" + "xxrxxrxryrzrwr" + // 0: memory, constants, splats, lanes
	"bbbbbbbbbb" + "bbbbbbbbbb" + "bbbbbbbbbb" + "bbbbbb" + "bbbbbb" + // 35: comparisons
	"ubbbbti" + "LLLLSSSS" + "llUU" + // 77: bitwise, single lanes, zero loads, conversions
	"uuUiibbUUUU" + "BBBbbbbbb" + "UU" + "bbbb" + "U" + "b" + "uuuu" + // 96: i8x16
	"uubiibbuuuu" + "bbbbbbbbb" + "U" + "bbbbb" + "-" + "b" + "bbbb" + // 128: i16x8
	"uu-ii--uuuu" + "bbbb--b---bbbbb" + "b-bbbb" + // 160: i32x4
	"uu-ii--uuuu" + "bBbb--b---B" + "bbbbbb" + "bbbb" + // 192: i64x2
	"uu-Vbb" + "bWBBBB" + "uu-Vbb" + "bWBBBB" + // 224: f32x4, f64x2
	"UUUUUUUU" // 248: conversions

func (t *instructions) vector() {
	for op := range len(vectorShapes) {
		i := instruction{imm: immNone, pops: 1, result: wire.ValV128, weight: 2 * weightSimple}
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
		case 'i':
			i.result = wire.ValI32
		case 'l':
			i.imm, i.weight = immMemarg, weightAccess
		case 's':
			i.imm, i.pops, i.result, i.weight = immMemarg, 2, noResult, weightAccess
		case 'L':
			i.imm, i.pops, i.weight = immMemargLane, 2, weightAccess
		case 'S':
			i.imm, i.pops, i.result, i.weight = immMemargLane, 2, noResult, weightAccess
		case 'c':
			i.imm, i.pops = imm16, 0
		case 'h':
			i.imm, i.pops, i.weight = immShuffle, 2, 8*weightSimple
		case 'x', 'y', 'z', 'w':
			i.imm = immLane
			i.result = map[byte]wire.ValType{'x': wire.ValI32, 'y': wire.ValI64, 'z': wire.ValF32, 'w': wire.ValF64}[shape]
		case 'r':
			i.imm, i.pops = immLane, 2
		default:
			i = instruction{}
		}
		t.simd[op] = i
	}
}

// proposalOf names the proposal that an unknown instruction belongs to, for errors. second is
// the opcode after a prefix.
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
