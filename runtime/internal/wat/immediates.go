package wat

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// immediates counts the immediates of an instruction at the front of rest.
func (b *body) immediates(op string, rest []*expr) int {
	n := 0
	isNumber := func(e *expr) bool {
		return e.isName() || e.isAtom() && e.atom != "" && strings.IndexByte("0123456789+-", e.atom[0]) >= 0
	}
	switch code := b.m.ops[op]; code.kind {
	case kindOne, kindConst:
		return min(1, len(rest))
	case kindMemarg:
		for n < len(rest) && rest[n].isAtom() && (strings.HasPrefix(rest[n].atom, "offset=") || strings.HasPrefix(rest[n].atom, "align=")) {
			n++
		}
	case kindTable, kindOptional:
		for n < len(rest) && isNumber(rest[n]) {
			n++
		}
	case kindIndirect:
		if n < len(rest) && isNumber(rest[n]) {
			n++
		}
		for n < len(rest) && (rest[n].is("type") || rest[n].is("param") || rest[n].is("result")) {
			n++
		}
	case kindSelect:
		if n < len(rest) && rest[n].is("result") {
			n++
		}
	}
	return n
}

func (b *body) encode(op *expr, code opcode, args []*expr) {
	if (code.kind == kindOne || code.kind == kindConst) && len(args) == 0 {
		fail(op, "%s needs an operand", op)
	}
	switch code.kind {
	case kindOne:
		b.out = uleb(b.out, b.operand(op, args[0]))
	case kindOptional:
		for i := range code.zeros {
			if i < len(args) {
				b.out = uleb(b.out, b.operand(op, args[i]))
			} else {
				b.out = append(b.out, 0)
			}
		}
	case kindConst:
		b.constant(op, args[0])
	case kindMemarg:
		b.memarg(code, args)
	case kindTable:
		if len(args) == 0 {
			fail(op, "br_table needs a label")
		}
		b.out = uleb(b.out, uint64(len(args)-1))
		for _, a := range args {
			b.out = uleb(b.out, b.label(a))
		}
	case kindIndirect:
		table := uint64(0)
		if len(args) > 0 && !args[0].isList {
			table, args = b.m.spaces["table"].index(args[0]), args[1:]
		}
		index, _, _ := b.m.typeUse(args)
		b.out = uleb(uleb(b.out, index), table)
	case kindSelect:
		if len(args) == 0 {
			b.out = append(b.out, 0x1b)
		} else {
			b.out = append(append(b.out, 0x1c), text(types(args[0]))...)
		}
	}
}

// operand resolves a name in the index space that the instruction uses.
func (b *body) operand(op, e *expr) uint64 {
	prefix, _, _ := strings.Cut(op.atom, ".")
	switch {
	case op.atom == "ref.null":
		return map[string]uint64{"func": 0x70, "extern": 0x6f}[e.atom]
	case prefix == "br" || prefix == "br_if":
		return b.label(e)
	case prefix == "local":
		return b.locals.index(e)
	case prefix == "call" || prefix == "ref":
		return b.m.spaces["func"].index(e)
	case op.atom == "memory.init" || prefix == "data":
		return b.m.data.index(e)
	case op.atom == "table.init" || prefix == "elem":
		return b.m.elems.index(e)
	}
	return b.m.spaces[prefix].index(e)
}

func (b *body) constant(op, e *expr) {
	switch op.atom {
	case "i32.const":
		b.out = sleb(b.out, integer(e, 32))
	case "i64.const":
		b.out = sleb(b.out, integer(e, 64))
	default:
		v, err := strconv.ParseFloat(e.atom, 64)
		if err != nil {
			fail(e, "expected a number, found %s", e)
		}
		raw, size := math.Float64bits(v), 8
		if op.atom == "f32.const" {
			raw, size = uint64(math.Float32bits(float32(v))), 4
		}
		for i := range size {
			b.out = append(b.out, byte(raw>>(8*i)))
		}
	}
}

func (b *body) memarg(code opcode, args []*expr) {
	offset, align := uint64(0), uint64(code.align)
	for _, a := range args {
		name, value, _ := strings.Cut(a.atom, "=")
		v := unsigned(&expr{line: a.line, atom: value})
		if name == "offset" {
			offset = v
			continue
		}
		align = uint64(bits.Len64(max(v, 1) - 1))
	}
	b.out = uleb(uleb(b.out, align), offset)
}
