package meter

import "github.com/berth-scheduler/berth/abi/wire"

// step rewrites one instruction. It returns false if the function's shape was wrong.
func (b *body) step() bool {
	at := b.in.pos
	op := b.in.byte()
	i := &b.r.instructions.plain[op]
	second := uint32(0)
	if op == opMisc || op == opSIMD {
		i, second = b.prefixed(at, op)
	}
	if i.imm == immUnknown {
		b.unknown(at, op, second)
	}
	b.spend(at, int(i.weight), int(i.fuel))
	b.pop(at, int(i.pops))
	constant := b.constant
	b.constant = notConstant
	fits := true
	switch {
	case i.imm != immSpecial:
		b.plain(at, op, i.imm)
	case op == opMisc:
		b.bulk(at, second, constant)
	case op == opCall || op == opCallIndirect:
		fits = b.call(at, op)
	case op == opSelect || op == opSelectTyped:
		b.choose(at, op)
	case op == opEnd:
		if b.end(at); len(b.frames) == 0 {
			b.flush(b.in.pos)
		}
	default:
		b.control(at, op)
	}
	if i.result != noResult {
		b.give(at, i.result)
	}
	return fits
}

// plain reads the immediates of an instruction that is copied.
func (b *body) plain(at int, op byte, imm immediate) {
	n := b.immediate(imm)
	switch op {
	case opLocalGet, opLocalTee:
		b.give(at, b.locals[n])
		b.values -= slotsOf(b.locals[n : n+1]) // it exists already
	case opGlobalGet:
		b.give(at, b.r.module.Globals[n].Type)
	case opTableGet:
		b.give(at, b.r.module.Tables[n].Elem)
	case opTableSet:
		b.r.info.ChangesTables = true
	case opI32Const:
		b.constant = int(uint32(n))
	}
	if op == opLocalSet || op == opLocalTee {
		b.sets++
	}
}

// prefixed reads the opcode after a prefix. It must have its shortest form: after 0xfd wazero
// reads a single byte, and takes the 0x01 after 0x80 or more for a nop. So another form would
// mean another instruction.
func (b *body) prefixed(at int, op byte) (*instruction, uint32) {
	start := b.in.pos
	second := b.in.u32()
	if n := len(appendU32(nil, second)); n != b.in.pos-start {
		b.in.malformed(at, "the opcode after %#x has %d bytes instead of %d", op, b.in.pos-start, n)
	}
	switch {
	case op == opMisc && second < miscCount:
		return &b.r.instructions.misc[second], second
	case op == opSIMD && second < uint32(len(b.r.instructions.simd)):
		return &b.r.instructions.simd[second], second
	}
	return &instruction{}, second
}

func (b *body) unknown(at int, op byte, second uint32) {
	const fix = "compile for WebAssembly 2.0 (ABI-1.1)"
	proposal := proposalOf(op, second)
	if proposal != "" {
		proposal = " of the proposal for " + proposal
	}
	if op == opMisc || op == opSIMD {
		b.in.fail(at, fix, "unknown instruction %#x %d%s", op, second, proposal)
	}
	b.in.fail(at, fix, "unknown instruction %#x%s", op, proposal)
}

// immediate reads what follows an opcode, to copy it. It returns an index or an i32.
func (b *body) immediate(imm immediate) int {
	in := &b.in
	switch imm {
	case immLocal:
		return in.index("local", len(b.locals))
	case immGlobal:
		return in.index("global", len(b.r.module.Globals))
	case immTable:
		return in.index("table", len(b.r.module.Tables))
	case immI32:
		return int(in.signed(32))
	case immI64:
		in.signed(64)
	case imm4:
		in.skip(4)
	case imm8:
		in.skip(8)
	case imm16, immShuffle:
		in.skip(16)
	case immLane:
		in.skip(1)
	case immMemarg:
		b.memarg()
	case immMemargLane:
		b.memarg()
		in.skip(1)
	}
	return 0
}

// memarg reads alignment and offset.
func (b *body) memarg() {
	at := b.in.pos
	if align := b.in.u32(); align >= 32 {
		b.in.fail(at, "compile for a single memory (ABI-1.1)", "an access of memory has flags %#x", align)
	}
	b.in.u32()
	b.memory(at)
}

func (b *body) memory(at int) {
	if len(b.r.module.Memories) == 0 {
		b.in.malformed(at, "an instruction needs a memory, and there is none")
	}
}

// call rewrites call and call_indirect.
func (b *body) call(at int, op byte) bool {
	var t wire.FuncType
	if op == opCall {
		f := b.in.index("function", len(b.r.typeOf))
		if f < b.r.imported {
			b.spend(at, weightHost, fuelHost)
		}
		t = b.r.module.Types[b.r.typeOf[f]]
		if n := b.r.newFunction(f); n != f {
			b.replace(at)
			b.out.indexed(opCall, n)
		}
	} else {
		t = b.r.module.Types[b.in.index("type", len(b.r.module.Types))]
		b.in.index("table", len(b.r.module.Tables))
		b.pop(at, 1)
	}
	b.pop(at, len(t.Params))
	b.give(at, t.Results...)
	if b.dead {
		return true
	}
	values := len(t.Params) + len(t.Results)
	b.path = b.path.plus(values/2, values+fuelValue*max(0, values-freeValues))
	b.calls++
	if !b.shape.calls && b.r.config.Omit&PartDepth == 0 {
		b.shape.calls = true
		return false
	}
	return true
}

// control rewrites the other instructions that need their own treatment.
func (b *body) control(at int, op byte) {
	switch op {
	case opUnreachable:
		b.dead = true
	case opBlock, opLoop, opIf:
		b.block(at, op)
	case opElse:
		b.otherwise(at)
	case opBr, opBrIf:
		if op == opBrIf {
			b.splits(at, 1)
			b.pop(at, 1)
		}
		f, depth := b.label()
		b.branch(at, f)
		if label := b.labelOf(f); label != depth {
			b.replace(at)
			b.out.indexed(op, label)
		}
		b.dead = b.dead || op == opBr
	case opBrTable:
		b.table(at)
	case opReturn:
		f := &b.frames[0]
		b.branch(at, f)
		if b.shape.calls {
			b.replace(at)
			b.out.indexed(opBr, b.labelOf(f))
		}
		b.dead = true
	case opRefNull:
		b.give(at, b.in.heapType())
	case opRefFunc:
		f := b.in.index("function", len(b.r.typeOf))
		if !b.r.declared[f] { // checked here, since an added export could declare it
			b.in.malformed(at, "ref.func of function %d, which no export, global or element segment names", f)
		}
		if n := b.r.newFunction(f); n != f {
			b.replace(at)
			b.out.indexed(op, n)
		}
	case opMemorySize:
		b.in.zero()
		b.memory(at)
	case opMemoryGrow:
		b.in.zero()
		b.memory(at)
		b.help(at, helper{kind: helpMemoryGrow})
	}
}

// choose reads select.
func (b *body) choose(at int, op byte) {
	if op == opSelectTyped {
		if n := b.in.byte(); n != 1 {
			b.in.malformed(at, "select has %d types instead of one", n)
		}
		b.in.valueType()
	}
	b.pop(at, 1)
	if b.dead {
		return
	}
	b.need(at, 2)
	t := b.operands[len(b.operands)-1]
	b.pop(at, 2)
	b.give(at, t)
}

// table rewrites br_table.
func (b *body) table(at int) {
	b.pop(at, 1)
	limits := &b.r.config.Limits
	n := b.in.count("labels of br_table", limits.Targets)
	b.targets += n
	b.in.limit(at, b.targets, limits.AllTargets, "labels of br_table in the function")
	b.splits(at, 1)
	begin, moved := b.in.pos, false
	for range n + 1 {
		f, depth := b.label()
		b.branch(at, f)
		moved = moved || b.labelOf(f) != depth
	}
	if moved {
		b.flush(begin)
		b.in.pos = begin
		for range n + 1 {
			f, _ := b.label()
			b.out = appendU32(b.out, uint32(b.labelOf(f)))
		}
		b.copied = b.in.pos
	}
	b.dead = true
}
