package interp

import "math/bits"

// numeric runs an instruction on integers.
func (f *frame) numeric(op byte) {
	switch {
	case op == 0x45:
		f.pushBool(f.pop32() == 0)
	case op >= 0x46 && op <= 0x4f:
		b, a := f.pop32(), f.pop32()
		f.pushBool(compare(op-0x46, uint64(a), uint64(b), int64(int32(a)), int64(int32(b))))
	case op == 0x50:
		f.pushBool(f.pop() == 0)
	case op >= 0x51 && op <= 0x5a:
		b, a := f.pop(), f.pop()
		f.pushBool(compare(op-0x51, a, b, int64(a), int64(b)))
	case op >= 0x67 && op <= 0x69:
		a := f.pop32()
		f.push(uint64([]int{bits.LeadingZeros32(a), bits.TrailingZeros32(a), bits.OnesCount32(a)}[op-0x67]))
	case op >= 0x6a && op <= 0x78:
		b, a := f.pop32(), f.pop32()
		f.push(uint64(arithmetic32(op-0x6a, a, b)))
	case op >= 0x79 && op <= 0x7b:
		a := f.pop()
		f.push(uint64([]int{bits.LeadingZeros64(a), bits.TrailingZeros64(a), bits.OnesCount64(a)}[op-0x79]))
	case op >= 0x7c && op <= 0x8a:
		b, a := f.pop(), f.pop()
		f.push(arithmetic64(op-0x7c, a, b))
	default:
		f.convert(op)
	}
}

func (f *frame) convert(op byte) {
	a := f.pop()
	switch op {
	case 0xa7, 0xad: // i32.wrap_i64, i64.extend_i32_u
		f.push(uint64(uint32(a)))
	case 0xac:
		f.push(uint64(int64(int32(a))))
	case 0xc0:
		f.push(uint64(uint32(int32(int8(a)))))
	case 0xc1:
		f.push(uint64(uint32(int32(int16(a)))))
	case 0xc2:
		f.push(uint64(int64(int8(a))))
	case 0xc3:
		f.push(uint64(int64(int16(a))))
	case 0xc4:
		f.push(uint64(int64(int32(a))))
	}
}

// compare is eq, ne, lt_s, lt_u, gt_s, gt_u, le_s, le_u, ge_s, ge_u.
func compare(op byte, a, b uint64, sa, sb int64) bool {
	switch op {
	case 0:
		return a == b
	case 1:
		return a != b
	case 2:
		return sa < sb
	case 3:
		return a < b
	case 4:
		return sa > sb
	case 5:
		return a > b
	case 6:
		return sa <= sb
	case 7:
		return a <= b
	case 8:
		return sa >= sb
	}
	return a >= b
}

// arithmetic32 is add, sub, mul, div_s, div_u, rem_s, rem_u, and, or, xor, shl,
// shr_s, shr_u, rotl, rotr.
func arithmetic32(op byte, a, b uint32) uint32 {
	switch op {
	case 3:
		divisor(uint64(b), a == 1<<31 && int32(b) == -1)
		return uint32(int32(a) / int32(b))
	case 5:
		divisor(uint64(b), false)
		if int32(b) == -1 {
			return 0
		}
		return uint32(int32(a) % int32(b))
	case 10:
		return a << (b & 31)
	case 11:
		return uint32(int32(a) >> (b & 31))
	case 12:
		return a >> (b & 31)
	case 13:
		return bits.RotateLeft32(a, int(b&31))
	case 14:
		return bits.RotateLeft32(a, -int(b&31))
	}
	return uint32(arithmetic64(op, uint64(a), uint64(b)))
}

func arithmetic64(op byte, a, b uint64) uint64 {
	switch op {
	case 0:
		return a + b
	case 1:
		return a - b
	case 2:
		return a * b
	case 3:
		divisor(b, a == 1<<63 && int64(b) == -1)
		return uint64(int64(a) / int64(b))
	case 4:
		divisor(b, false)
		return a / b
	case 5:
		divisor(b, false)
		if int64(b) == -1 {
			return 0
		}
		return uint64(int64(a) % int64(b))
	case 6:
		divisor(b, false)
		return a % b
	case 7:
		return a & b
	case 8:
		return a | b
	case 9:
		return a ^ b
	case 10:
		return a << (b & 63)
	case 11:
		return uint64(int64(a) >> (b & 63))
	case 12:
		return a >> (b & 63)
	case 13:
		return bits.RotateLeft64(a, int(b&63))
	}
	return bits.RotateLeft64(a, -int(b&63))
}

func divisor(b uint64, overflow bool) {
	if b == 0 {
		trap("division by zero")
	}
	if overflow {
		trap("integer overflow")
	}
}
