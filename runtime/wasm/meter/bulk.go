package meter

// Bulk instructions are charged one unit and one more for each unitBytes, and done
// in steps of chunkBytes with a check before each.
const (
	chunkBytes     = 64 << 10
	unitBytes      = 256
	referenceBytes = 8 // of an element of a table
	pageUnits      = 65_536 / unitBytes
)

// helperKind is a kind of function that is added to a module.
type helperKind byte

const (
	helpMemoryGrow helperKind = iota
	helpMemoryFill
	helpMemoryCopy
	helpMemoryInit // a: segment
	helpTableGrow  // a: table
	helpTableFill  // a: table
	helpTableCopy  // a: destination, b: source
	helpTableInit  // a: segment, b: table
)

// helper is what a function that is added does instead of an instruction; a and b
// are the immediates of that.
type helper struct {
	kind helperKind
	a, b int
}

// bulk rewrites the instructions behind opMisc that are treated on their own.
func (b *body) bulk(at int, second uint32) {
	in, m := &b.in, b.r.module
	switch second {
	case miscMemoryInit, miscDataDrop:
		if !b.r.hasSection(sectionDataCount) {
			in.malformed(at, "an instruction for a data segment needs a data count section")
		}
		segment := in.index("data segment", len(b.r.data))
		if second == miscDataDrop {
			b.r.info.DropsSegments = true
			return
		}
		in.zero()
		b.memory(at)
		b.bounded(at, b.r.data[segment], helper{kind: helpMemoryInit, a: segment})
	case miscMemoryCopy:
		in.zero()
		in.zero()
		b.memory(at)
		b.help(at, helper{kind: helpMemoryCopy})
	case miscMemoryFill:
		in.zero()
		b.memory(at)
		b.help(at, helper{kind: helpMemoryFill})
	case miscElemDrop:
		in.index("element segment", len(b.r.elements))
		b.r.info.DropsSegments = true
	case miscTableInit:
		segment := in.index("element segment", len(b.r.elements))
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.bounded(at, b.r.elements[segment]*referenceBytes, helper{kind: helpTableInit, a: segment, b: table})
	case miscTableCopy:
		to, from := in.index("table", len(m.Tables)), in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		most := min(m.Tables[to].Max, m.Tables[from].Max)
		b.bounded(at, int(most)*referenceBytes, helper{kind: helpTableCopy, a: to, b: from})
	case miscTableGrow:
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.help(at, helper{kind: helpTableGrow, a: table})
	case miscTableFill:
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.bounded(at, int(m.Tables[table].Max)*referenceBytes, helper{kind: helpTableFill, a: table})
	}
}

// bounded leaves an instruction that cannot handle more than a chunk as it is, and
// charges for the most that it can.
func (b *body) bounded(at, bytes int, h helper) {
	if bytes > chunkBytes {
		b.help(at, h)
		return
	}
	if !b.dead {
		b.flush(at)
		b.check(1 + bytes/unitBytes)
	}
}

// help replaces an instruction with a call of a helper.
func (b *body) help(at int, h helper) {
	if !b.dead {
		b.calls++
		b.replace(at)
		b.out.indexed(opCall, b.r.helpers.find(h))
	}
}
