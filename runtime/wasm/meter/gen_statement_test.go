package meter_test

// statement generates something that leaves the operand stack as it was.
func (g *gen) statement() {
	g.count()
	g.budget--
	if g.budget < 0 {
		g.opN(0x01)
		return
	}
	switch g.int("statement", 0, 21) {
	case 0, 1, 2:
		g.assign()
	case 3:
		t := g.int("global", 0, workGlobal-1)
		g.value(g.mod.globals[t])
		g.opN(0x24, t)
	case 4, 5:
		g.store()
	case 6, 7:
		g.branchy()
	case 8, 9:
		g.loop()
	case 10:
		g.block()
	case 11, 12:
		g.branch()
	case 13:
		g.branchTable()
	case 14, 15:
		g.call()
	case 16, 17:
		g.bulk()
	case 18:
		g.tables()
	case 19:
		g.value(tI32)
		g.open(0x04) // if
		g.values(g.fn.results)
		g.op(0x0f) // return
		g.close()
	case 20:
		g.value(tI32)
		g.opN(0x10, fnLog)
		g.op(0x1a)
	case 21:
		g.value(tI32)
		g.open(0x04)
		if g.int("trap", 0, 9) == 0 {
			g.op(0x00) // unreachable
			g.statement()
		} else {
			g.straight()
		}
		g.close()
	}
}

// workGlobal counts the work that a program does, in steps of workStep instructions.
const (
	workGlobal = 6
	workStep   = 4
)

// count counts itself.
func (g *gen) count() {
	g.opN(0x23, workGlobal)
	g.i64(1)
	g.op(0x7c) // i64.add
	g.opN(0x24, workGlobal)
}

// straight generates enough instructions for a check in the middle.
func (g *gen) straight() {
	for range g.int("repeat", 10, 200) {
		g.count()
	}
}

func (g *gen) assign() {
	if len(g.locals) == 0 {
		return
	}
	i := g.int("local", 0, len(g.locals)-1)
	g.value(g.locals[i])
	g.opN(0x21, i)
}

func (g *gen) address() {
	g.value(tI32)
	g.i32(int32(g.pick("mask", 0xff, 0x7f)) | 0x3ff00&int32(g.int("mask2", 0, 0x3ff00)))
	g.op(0x71) // and
}

func (g *gen) store() {
	g.address()
	s := [][3]byte{{0x36, tI32, 2}, {0x37, tI64, 3}, {0x38, tF32, 2}, {0x39, tF64, 3}, {0x3a, tI32, 0}, {0x3d, tI64, 1}}
	i := g.int("store", 0, len(s))
	if i == len(s) {
		g.value(tV128)
		g.simd(11)
		g.opN(0, g.int("offset", 0, 70_000))
		return
	}
	g.value(s[i][1])
	g.opN(s[i][0], int(s[i][2]), g.int("offset", 0, 70_000))
}

// branchy is an if, with values or without.
func (g *gen) branchy() {
	g.value(tI32)
	g.open(0x04)
	g.statements()
	if g.int("else", 0, 1) == 1 {
		g.op(0x05)
		g.statements()
	}
	g.close()
}

// open opens a block without parameters and results.
func (g *gen) open(op byte) {
	g.op(op, empty)
	g.labels = append(g.labels, label{})
}

func (g *gen) close() {
	g.labels = g.labels[:len(g.labels)-1]
	g.op(0x0b)
}

// loop has a counter as a rule, so that most programs terminate. Some loops take
// parameters.
func (g *gen) loop() {
	counter := len(g.locals) + len(g.spare) + g.loops
	g.loops++
	var params []byte
	if g.int("loop parameters", 0, 3) == 0 {
		params = g.types("loop parameters", 2)
	}
	g.i32(int32(g.int("iterations", 0, 12)))
	g.opN(0x21, counter)
	g.values(params)
	if len(params) == 0 {
		g.op(0x03, empty)
	} else {
		g.op(0x03)
		g.sleb(int64(g.mod.typeIndex(sig{params: params})))
	}
	g.labels = append(g.labels, label{types: params, loop: true})
	for i := len(params) - 1; i >= 0; i-- {
		g.opN(0x21, g.spare[params[i]])
	}
	g.statements()
	g.values(params)
	g.opN(0x20, counter)
	g.i32(1)
	g.op(0x6b)
	g.opN(0x22, counter)
	if g.int("for ever", 0, 19) == 0 {
		g.op(0x1a)
		g.opN(0x0c, 0)
		g.close()
		return
	}
	g.i32(0)
	g.op(0x4a) // gt_s
	g.opN(0x0d, 0)
	for range params {
		g.op(0x1a)
	}
	g.close()
}

// block takes values and gives values.
func (g *gen) block() {
	t := sig{params: g.types("block parameters", 2), results: g.types("block results", 3)}
	g.values(t.params)
	g.op(0x02)
	g.sleb(int64(g.mod.typeIndex(t)))
	g.labels = append(g.labels, label{types: t.results})
	for i := len(t.params) - 1; i >= 0; i-- {
		g.opN(0x21, g.spare[t.params[i]])
	}
	g.statements()
	g.values(t.results)
	g.close()
	for range t.results {
		g.op(0x1a)
	}
}

// branch goes to a label, on a condition or not.
func (g *gen) branch() {
	depth := g.int("label", 0, len(g.labels)-1)
	l := g.labels[len(g.labels)-1-depth]
	if l.loop && g.int("back", 0, 9) != 0 {
		return // seldom, since such loops often do not end
	}
	if g.int("always", 0, 3) == 0 {
		g.value(tI32)
		g.open(0x04)
		g.values(l.types)
		g.opN(0x0c, depth+1)
		g.statement() // dead
		g.close()
		return
	}
	g.values(l.types)
	g.value(tI32)
	g.opN(0x0d, depth)
	for range l.types {
		g.op(0x1a)
	}
}

// branchTable goes to one of the labels of the innermost block's type.
func (g *gen) branchTable() {
	var same []int
	first := g.labels[len(g.labels)-1]
	for i := range g.labels {
		if l := g.labels[len(g.labels)-1-i]; string(l.types) == string(first.types) && !l.loop {
			same = append(same, i)
		}
	}
	if len(same) == 0 {
		return
	}
	g.open(0x02)
	g.value(tI32)
	g.opN(0x0d, 0)
	g.values(first.types)
	g.value(tI32)
	g.opN(0x0e, len(same))
	for _, depth := range append(same, same[0]) {
		g.u32(depth + 1)
	}
	g.close()
}

// call calls a function, or what is in the table, and drops the results.
func (g *gen) call() {
	f := g.int("callee", 0, len(g.sigs)-1)
	g.values(g.sigs[f].params)
	if g.int("indirect", 0, 2) == 0 {
		g.i32(int32(g.int("entry", 0, 4)))
		g.opN(0x11, g.mod.typeIndex(g.sigs[f]), 0)
	} else {
		g.opN(0x10, f)
	}
	for range g.sigs[f].results {
		g.op(0x1a)
	}
}

// length generates a length that is small, large, or out of bounds.
func (g *gen) length(large int) {
	switch g.int("length", 0, 5) {
	case 0:
		g.value(tI32)
	case 1:
		g.i32(int32(g.int("large length", 0, large)))
	default:
		g.i32(int32(g.int("small length", 0, 9)))
	}
}

func (g *gen) bulk() {
	switch g.int("bulk", 0, 5) {
	case 0, 1: // memory.copy
		g.address()
		g.address()
		g.length(200_000)
		g.misc(10, 0, 0)
	case 2: // memory.fill
		g.address()
		g.value(tI32)
		g.length(200_000)
		g.misc(11, 0)
	case 3, 4: // memory.init
		g.address()
		g.i32(int32(g.int("source", 0, 20)))
		g.length(70_000)
		g.misc(8, g.int("segment", 0, 1), 0)
	case 5: // data.drop
		if g.int("drop", 0, 3) == 0 {
			g.misc(9, g.int("segment", 0, 1))
		}
	}
}

func (g *gen) tables() {
	small := func(label string) { g.i32(int32(g.int(label, 0, 6))) }
	switch g.int("table instruction", 0, 6) {
	case 0: // table.set
		small("entry")
		g.reference(tFuncref)
		g.opN(0x26, 0)
	case 1: // table.copy
		small("to")
		small("from")
		small("length")
		g.misc(14, 2*g.int("table", 0, 1), 2*g.int("table", 0, 1))
	case 2: // table.copy of externref, often large
		small("to")
		small("from")
		g.length(9_000)
		g.misc(14, 1, 1)
	case 3: // table.fill
		small("to")
		g.op(0xd0, tExternref)
		g.length(9_000)
		g.misc(17, 1)
	case 4: // table.init
		small("to")
		small("from")
		small("length")
		g.misc(12, 1+2*g.int("segment", 0, 1), 0)
	case 5: // table.grow
		t := g.int("table", 0, 2)
		g.reference(g.mod.tables[t].elem)
		g.length(9_000)
		g.misc(15, t)
		g.opN(0x21, g.spare[tI32])
	case 6: // elem.drop
		if g.int("drop", 0, 3) == 0 {
			g.misc(13, g.int("segment", 0, 3))
		}
	}
}

func (g *gen) reference(t byte) {
	if t == tExternref || g.int("null", 0, 1) == 0 {
		g.op(0xd0, t)
		return
	}
	g.opN(0xd2, g.int("function", 0, g.declared-1))
}
