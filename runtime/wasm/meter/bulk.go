package meter

import "math"

// Bulk instructions run in steps of chunkBytes, with a check before each, and are charged besides their own cost: a grain
// for each 4 bytes of memory, each element of a table, and each 8 bytes by which one of them grows. Growth is the host's
// work and takes no values out of the guest's memory.
const (
	chunkBytes     = 64 << 10
	growShift      = 3
	pageShift      = 16
	referenceShift = 3 // an element of a table has 8 bytes
)

// area is what a bulk instruction works on.
type area struct {
	step  int // bytes or elements, the most that run at once
	shift int // a grain pays for 1 << shift
}

func inMemory() area { return area{chunkBytes, 2} }
func inTable() area  { return area{chunkBytes >> referenceShift, 0} }

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
	helpPrice      // a: imported function, b: of Config.Prices
)

// helper is an added function that replaces an instruction or an imported function; a and b
// are the immediates of that.
type helper struct {
	kind helperKind
	a, b int
}

// bulk rewrites the instructions after opMisc that need their own treatment. length is how many
// bytes or elements they handle, if that is a constant.
func (b *body) bulk(at int, second uint32, length int) {
	in, m := &b.in, b.r.module
	// most is the smaller of the length and the maximum.
	most := func(n int) int {
		if length != notConstant {
			n = min(n, length)
		}
		return n
	}
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
		b.bounded(at, most(b.r.data[segment]), inMemory(), helper{kind: helpMemoryInit, a: segment})
	case miscMemoryCopy:
		in.zero()
		in.zero()
		b.memory(at)
		b.bounded(at, most(math.MaxUint32), inMemory(), helper{kind: helpMemoryCopy})
	case miscMemoryFill:
		in.zero()
		b.memory(at)
		b.bounded(at, most(math.MaxUint32), inMemory(), helper{kind: helpMemoryFill})
	case miscElemDrop:
		in.index("element segment", len(b.r.elements))
		b.r.info.DropsSegments = true
	case miscTableInit:
		segment := in.index("element segment", len(b.r.elements))
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.bounded(at, most(b.r.elements[segment]), inTable(), helper{kind: helpTableInit, a: segment, b: table})
	case miscTableCopy:
		to, from := in.index("table", len(m.Tables)), in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.bounded(at, most(int(min(m.Tables[to].Max, m.Tables[from].Max))), inTable(), helper{kind: helpTableCopy, a: to, b: from})
	case miscTableGrow:
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.help(at, helper{kind: helpTableGrow, a: table})
	case miscTableFill:
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.bounded(at, most(int(m.Tables[table].Max)), inTable(), helper{kind: helpTableFill, a: table})
	}
}

// bounded keeps an instruction that cannot handle more than a step. It charges for the n bytes or elements that the
// instruction can handle at most; if that is little, as for other instructions.
func (b *body) bounded(at, n int, in area, h helper) {
	grains := n >> in.shift
	switch {
	case n > in.step:
		b.help(at, h)
	case b.dead:
	case grains <= checkEvery:
		b.spend(at, grains, grains)
	default:
		b.flush(at)
		b.check(1 + grains)
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
