package meter

import "github.com/berth-scheduler/berth/abi/wire"

// The compiler of wazero 1.12 for amd64 can give garbage for a select of floats or
// vectors if its second operand is not in a register (wazero issue 2534, mended
// after that release). Calls, which checks are, take values out of registers. So
// such selects are written as ifs, which needs three locals:
//
//	local.set $condition
//	local.set $second
//	local.set $first
//	local.get $condition
//	if
//	  local.get $first
//	else
//	  local.get $second
//	end

// choiceTypes are the types of which a select is written anew, by shape.choices.
func choiceTypes() [3]wire.ValType { return [3]wire.ValType{wire.ValF32, wire.ValF64, wire.ValV128} }

// choose rewrites a select, of which the condition was popped.
func (b *body) choose(at int) bool {
	if b.dead {
		return true
	}
	b.need(at, 2)
	t := b.operands[len(b.operands)-1]
	b.pop(at, 2)
	b.give(at, t)
	first, found := len(b.locals)+1, false
	for i, choice := range choiceTypes() {
		if choice == t {
			if found = true; !b.shape.choices[i] {
				b.shape.choices[i] = true
				return false
			}
			break
		}
		if b.shape.choices[i] {
			first += 2
		}
	}
	if !found {
		return true
	}
	b.replace(at)
	b.splits(at, 1)
	condition, second := len(b.locals), first+1
	b.out.indexed(opLocalSet, condition)
	b.out.indexed(opLocalSet, second)
	b.out.indexed(opLocalSet, first)
	b.out.indexed(opLocalGet, condition)
	b.out.op(opIf, byte(t))
	b.out.indexed(opLocalGet, first)
	b.out.op(opElse)
	b.out.indexed(opLocalGet, second)
	b.out.op(opEnd)
	return true
}

// writeLocals writes the declaration of locals: those that were there, the
// condition of selects, and two of each type that is chosen between.
func (b *body) writeLocals() {
	var added []byte
	groups := b.groups
	for i, t := range choiceTypes() {
		if b.shape.choices[i] {
			added = append(added, 2, byte(t))
			groups++
		}
	}
	if groups > b.groups {
		groups++
		added = append([]byte{1, byte(wire.ValI32)}, added...)
	}
	b.out = appendU32(b.out, uint32(groups))
	b.flush(b.in.pos)
	b.out.op(added...)
}
