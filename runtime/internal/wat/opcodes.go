package wat

import "strings"

// Kinds of immediates.
const (
	kindNone     = iota
	kindOne      // an index
	kindOptional // indices that may be left out, for 0
	kindConst
	kindMemarg
	kindTable    // of labels
	kindIndirect // type and table
	kindSelect
)

type opcode struct {
	bytes []byte
	kind  int
	zeros int // indices of kindOptional
	align int // natural alignment as a power of two
}

// opcodes returns all instructions that the package knows by name.
func opcodes() map[string]opcode {
	ops := map[string]opcode{
		"select":        {kind: kindSelect},
		"br_table":      {bytes: []byte{0x0e}, kind: kindTable},
		"call_indirect": {bytes: []byte{0x11}, kind: kindIndirect},
		"memory.size":   {bytes: []byte{0x3f}, kind: kindOptional, zeros: 1},
		"memory.grow":   {bytes: []byte{0x40}, kind: kindOptional, zeros: 1},
		"memory.copy":   {bytes: []byte{0xfc, 10}, kind: kindOptional, zeros: 2},
		"memory.fill":   {bytes: []byte{0xfc, 11}, kind: kindOptional, zeros: 1},
		"table.copy":    {bytes: []byte{0xfc, 14}, kind: kindOptional, zeros: 2},
		"table.grow":    {bytes: []byte{0xfc, 15}, kind: kindOptional, zeros: 1},
		"table.size":    {bytes: []byte{0xfc, 16}, kind: kindOptional, zeros: 1},
		"table.fill":    {bytes: []byte{0xfc, 17}, kind: kindOptional, zeros: 1},
		"table.get":     {bytes: []byte{0x25}, kind: kindOptional, zeros: 1},
		"table.set":     {bytes: []byte{0x26}, kind: kindOptional, zeros: 1},
		"memory.init":   {bytes: []byte{0xfc, 8}, kind: kindOptional, zeros: 2},
		"data.drop":     {bytes: []byte{0xfc, 9}, kind: kindOne},
		"table.init":    {bytes: []byte{0xfc, 12}, kind: kindOptional, zeros: 2},
		"elem.drop":     {bytes: []byte{0xfc, 13}, kind: kindOne},
	}
	add := func(first byte, kind int, names string) {
		for i, name := range strings.Fields(names) {
			ops[name] = opcode{bytes: []byte{first + byte(i)}, kind: kind}
		}
	}
	add(0x00, kindNone, "unreachable nop")
	add(0x0c, kindOne, "br br_if")
	add(0x0f, kindNone, "return")
	add(0x10, kindOne, "call")
	add(0x1a, kindNone, "drop")
	add(0x20, kindOne, "local.get local.set local.tee global.get global.set")
	add(0x41, kindConst, "i32.const i64.const f32.const f64.const")
	add(0xd0, kindOne, "ref.null")
	add(0xd1, kindNone, "ref.is_null")
	add(0xd2, kindOne, "ref.func")
	add(0x45, kindNone, numeric())
	for i, name := range strings.Fields("i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u " +
		"i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u") {
		ops[name] = opcode{bytes: []byte{0xfc, byte(i)}}
	}
	memory := strings.Fields(`i32.load:2 i64.load:3 f32.load:2 f64.load:3
		i32.load8_s:0 i32.load8_u:0 i32.load16_s:1 i32.load16_u:1
		i64.load8_s:0 i64.load8_u:0 i64.load16_s:1 i64.load16_u:1 i64.load32_s:2 i64.load32_u:2
		i32.store:2 i64.store:3 f32.store:2 f64.store:3 i32.store8:0 i32.store16:1 i64.store8:0 i64.store16:1 i64.store32:2`)
	for i, entry := range memory {
		name, align, _ := strings.Cut(entry, ":")
		ops[name] = opcode{bytes: []byte{0x28 + byte(i)}, kind: kindMemarg, align: int(align[0] - '0')}
	}
	// Some of those on vectors, whose numbers follow a prefix.
	for name, number := range map[string]byte{
		"i8x16.swizzle": 14, "i32x4.splat": 17, "i64x2.splat": 18, "f32x4.splat": 19, "f64x2.splat": 20, "v128.and": 78, "v128.any_true": 83,
	} {
		ops[name] = opcode{bytes: []byte{0xfd, number}}
	}
	for name, number := range map[string]byte{
		"i32x4.mul": 0xb5, "i64x2.mul": 0xd5, "f32x4.sqrt": 0xe3, "f32x4.div": 0xe7, "f64x2.sqrt": 0xef, "f64x2.add": 0xf0, "f64x2.mul": 0xf2, "f64x2.div": 0xf3,
	} {
		ops[name] = opcode{bytes: []byte{0xfd, number, 0x01}}
	}
	ops["v128.load"] = opcode{bytes: []byte{0xfd, 0}, kind: kindMemarg, align: 4}
	ops["v128.store"] = opcode{bytes: []byte{0xfd, 11}, kind: kindMemarg, align: 4}
	return ops
}

// numeric are the instructions from 0x45 to 0xc4 in their order.
func numeric() string {
	compare := func(t string, signed bool) string {
		if !signed {
			return t + ".eq " + t + ".ne " + t + ".lt " + t + ".gt " + t + ".le " + t + ".ge "
		}
		return t + ".eqz " + t + ".eq " + t + ".ne " + t + ".lt_s " + t + ".lt_u " + t + ".gt_s " + t + ".gt_u " +
			t + ".le_s " + t + ".le_u " + t + ".ge_s " + t + ".ge_u "
	}
	prefixed := func(t, names string) string {
		out := ""
		for _, name := range strings.Fields(names) {
			out += t + "." + name + " "
		}
		return out
	}
	ints := "clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr"
	floats := "abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign"
	return compare("i32", true) + compare("i64", true) + compare("f32", false) + compare("f64", false) +
		prefixed("i32", ints) + prefixed("i64", ints) + prefixed("f32", floats) + prefixed("f64", floats) +
		`i32.wrap_i64 i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u
		i64.extend_i32_s i64.extend_i32_u i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u
		f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u f32.demote_f64
		f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32
		i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64
		i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s`
}
