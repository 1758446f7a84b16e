package interp

import (
	"encoding/binary"
	"math"
)

// frame is one call of a function.
type frame struct {
	i      *Instance
	f      *function
	locals []uint64
	stack  []uint64
	labels []label
	r      reader
}

// label is an open block: the target of a branch to it, and its results.
type label struct {
	to, height, arity int
	loop              bool
}

func (f *frame) push(v uint64) { f.stack = append(f.stack, v) }

func (f *frame) pop() uint64 {
	v := f.stack[len(f.stack)-1]
	f.stack = f.stack[:len(f.stack)-1]
	return v
}

func (f *frame) pop32() uint32 { return uint32(f.pop()) }

func (f *frame) pushBool(b bool) {
	if b {
		f.push(1)
	} else {
		f.push(0)
	}
}

// run runs to the end of the function.
func (f *frame) run() {
	for f.r.at < len(f.r.data) {
		if f.i.steps--; f.i.steps < 0 {
			trap("too many instructions")
		}
		at := f.r.at
		op := f.r.byte()
		switch {
		case op <= 0x1b:
			if f.control(op, at) {
				return
			}
		case op <= 0x26:
			f.variable(op)
		case op <= 0x3e:
			f.access(op)
		case op <= 0x40:
			f.r.unsigned()
			if op == 0x3f {
				f.push(uint64(len(f.i.memory) / pageSize))
			} else {
				f.push(f.i.grow(f.pop32()))
			}
		case op <= 0x44:
			f.constant(op)
		case op == 0xd0:
			f.r.byte()
			f.push(0)
		case op == 0xd1:
			f.pushBool(f.pop() == 0)
		case op == 0xd2:
			f.push(uint64(f.r.u32()) + 1)
		case op == 0xfc:
			f.bulk(f.r.u32())
		case op == 0xfd: // v128.const, where only the place on the stack matters
			f.r.u32()
			f.r.bytes(16)
			f.push(0)
		default:
			f.numeric(op)
		}
	}
}

// control runs a control instruction, and reports whether the function has ended.
func (f *frame) control(op byte, at int) bool {
	switch op {
	case 0x00:
		trap("unreachable")
	case 0x02, 0x03, 0x04:
		arity := 0
		params := 0
		switch t := f.r.signed(); {
		case t >= 0:
			typ := f.i.m.wire.Types[t]
			arity, params = len(typ.Results), len(typ.Params)
		case t != -0x40:
			arity = 1
		}
		j := f.f.jumps[at]
		taken := op != 0x04 || f.pop32() != 0
		l := label{to: j.end, height: len(f.stack) - params, arity: arity}
		if op == 0x03 {
			l.to, l.arity, l.loop = at, params, true
		}
		switch {
		case taken:
			f.labels = append(f.labels, l)
		case j.otherwise > 0:
			f.labels = append(f.labels, l)
			f.r.at = j.otherwise
		default:
			f.r.at = j.end
		}
	case 0x05: // the end of then
		f.branch(0)
	case 0x0b:
		if len(f.labels) == 0 {
			return true
		}
		f.labels = f.labels[:len(f.labels)-1]
	case 0x0c:
		return f.branch(f.r.u32())
	case 0x0d:
		if n := f.r.u32(); f.pop32() != 0 {
			return f.branch(n)
		}
	case 0x0e:
		var targets []uint32
		for range f.r.u32() + 1 {
			targets = append(targets, f.r.u32())
		}
		return f.branch(targets[min(int(f.pop32()), len(targets)-1)])
	case 0x0f:
		return true
	case 0x10:
		f.invoke(f.r.u32())
	case 0x11:
		typ := f.i.m.wire.Types[f.r.u32()]
		table := f.i.tables[f.r.u32()]
		n := f.pop32()
		if uint64(n) >= uint64(len(table)) || table[n] == 0 {
			trap("the table has no function %d", n)
		}
		if got, _ := f.i.m.wire.FuncType(uint32(table[n] - 1)); !got.Equal(typ) {
			trap("the function in the table has another type")
		}
		f.invoke(uint32(table[n] - 1))
	case 0x1a:
		f.pop()
	case 0x1b:
		c := f.pop32()
		b, a := f.pop(), f.pop()
		if c != 0 {
			f.push(a)
		} else {
			f.push(b)
		}
	}
	return false
}

// branch jumps to the n-th label, and reports whether that ends the function.
func (f *frame) branch(n uint32) bool {
	if int(n) >= len(f.labels) {
		return true
	}
	l := f.labels[len(f.labels)-1-int(n)]
	kept := f.stack[len(f.stack)-l.arity:]
	f.stack = append(f.stack[:l.height], kept...)
	f.labels = f.labels[:len(f.labels)-1-int(n)]
	f.r.at = l.to
	return false
}

func (f *frame) invoke(index uint32) {
	typ, _ := f.i.m.wire.FuncType(index)
	n := len(typ.Params)
	args := append([]uint64(nil), f.stack[len(f.stack)-n:]...)
	f.stack = f.stack[:len(f.stack)-n]
	f.stack = append(f.stack, f.i.call(index, args)...)
}

func (f *frame) variable(op byte) {
	n := f.r.u32()
	switch op {
	case 0x20:
		f.push(f.locals[n])
	case 0x21:
		f.locals[n] = f.pop()
	case 0x22:
		f.locals[n] = f.stack[len(f.stack)-1]
	case 0x23:
		f.push(f.i.globals[n])
	case 0x24:
		f.i.globals[n] = f.pop()
	case 0x25:
		f.push(f.i.tables[n][f.pop32()])
	case 0x26:
		v := f.pop()
		f.i.tables[n][f.pop32()] = v
	}
}

func (f *frame) constant(op byte) {
	switch op {
	case 0x41:
		f.push(uint64(uint32(f.r.signed())))
	case 0x42:
		f.push(uint64(f.r.signed()))
	case 0x44:
		f.push(binary.LittleEndian.Uint64(f.r.bytes(8)))
	}
}

// access is a load or a store.
func (f *frame) access(op byte) {
	f.r.unsigned()
	offset := f.r.unsigned()
	sizes := [...]uint64{4, 8, 4, 8, 1, 1, 2, 2, 1, 1, 2, 2, 4, 4, 4, 8, 4, 8, 1, 2, 1, 2, 4}
	size := sizes[op-0x28]
	if op >= 0x36 {
		v := f.pop()
		at := f.i.bytes(uint64(f.pop32())+offset, size)
		for k := range at {
			at[k] = byte(v >> (8 * k))
		}
		return
	}
	var v uint64
	for k, b := range f.i.bytes(uint64(f.pop32())+offset, size) {
		v |= uint64(b) << (8 * k)
	}
	switch op {
	case 0x2c:
		v = uint64(uint32(int32(int8(v))))
	case 0x2e:
		v = uint64(uint32(int32(int16(v))))
	case 0x30:
		v = uint64(int64(int8(v)))
	case 0x32:
		v = uint64(int64(int16(v)))
	case 0x34:
		v = uint64(int64(int32(v)))
	}
	f.push(v)
}

// bulk is an instruction with the prefix 0xfc.
func (f *frame) bulk(sub uint32) {
	switch sub {
	case 2: // i32.trunc_sat_f64_s
		v := math.Float64frombits(f.pop())
		switch {
		case v != v:
			f.push(0)
		default:
			f.push(uint64(uint32(int32(max(math.MinInt32, min(math.MaxInt32, v))))))
		}
	case 8:
		s := f.i.m.data[f.r.u32()]
		f.r.byte()
		n, from, to := f.pop32(), f.pop32(), f.pop32()
		if uint64(from)+uint64(n) > uint64(len(s.bytes)) {
			trap("a segment is out of bounds")
		}
		copy(f.i.bytes(uint64(to), uint64(n)), s.bytes[from:])
	case 9, 13:
		if n := f.r.u32(); sub == 13 {
			f.i.dropped[int(n)] = true
		}
	case 10:
		f.r.bytes(2)
		n, from, to := f.pop32(), f.pop32(), f.pop32()
		copy(f.i.bytes(uint64(to), uint64(n)), f.i.bytes(uint64(from), uint64(n)))
	case 11:
		f.r.byte()
		n, v, to := f.pop32(), f.pop32(), f.pop32()
		at := f.i.bytes(uint64(to), uint64(n))
		for k := range at {
			at[k] = byte(v)
		}
	case 12:
		elem := f.r.u32()
		f.r.byte()
		n, from, to := f.pop32(), f.pop32(), f.pop32()
		f.i.tableInit(int(elem), to, from, n)
	}
}
