package meter

import "math"

// Bulk instructions are charged a grain for each 8 bytes besides their own cost. They run in
// steps of chunkBytes, with a check before each. Growth is charged likewise.
const (
	chunkBytes     = 64 << 10
	grainShift     = 3
	pageShift      = 16
	referenceShift = 3 // an element of a table has 8 bytes
	referenceBytes = 1 << referenceShift
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
	// most is the smaller of the length and the maximum, each of size bytes.
	most := func(n, size int) int {
		if length != notConstant {
			n = min(n, length)
		}
		return n * size
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
		b.bounded(at, most(b.r.data[segment], 1), helper{kind: helpMemoryInit, a: segment})
	case miscMemoryCopy:
		in.zero()
		in.zero()
		b.memory(at)
		b.bounded(at, most(math.MaxUint32, 1), helper{kind: helpMemoryCopy})
	case miscMemoryFill:
		in.zero()
		b.memory(at)
		b.bounded(at, most(math.MaxUint32, 1), helper{kind: helpMemoryFill})
	case miscElemDrop:
		in.index("element segment", len(b.r.elements))
		b.r.info.DropsSegments = true
	case miscTableInit:
		segment := in.index("element segment", len(b.r.elements))
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.bounded(at, most(b.r.elements[segment], referenceBytes), helper{kind: helpTableInit, a: segment, b: table})
	case miscTableCopy:
		to, from := in.index("table", len(m.Tables)), in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.bounded(at, most(int(min(m.Tables[to].Max, m.Tables[from].Max)), referenceBytes), helper{kind: helpTableCopy, a: to, b: from})
	case miscTableGrow:
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.help(at, helper{kind: helpTableGrow, a: table})
	case miscTableFill:
		table := in.index("table", len(m.Tables))
		b.r.info.ChangesTables = true
		b.bounded(at, most(int(m.Tables[table].Max), referenceBytes), helper{kind: helpTableFill, a: table})
	}
}

// bounded keeps an instruction that cannot handle more than a step. It charges for the most
// that the instruction can handle; if that is little, as for other instructions.
func (b *body) bounded(at, bytes int, h helper) {
	switch {
	case bytes > chunkBytes:
		b.help(at, h)
	case b.dead:
	case bytes>>grainShift <= checkEvery:
		b.spend(at, bytes>>grainShift, bytes>>grainShift)
	default:
		b.flush(at)
		b.check(1 + bytes>>grainShift)
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
