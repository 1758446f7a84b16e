package meter_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// inBody returns a module with a function () → () of these bytes, and one of
// nearly everything else.
func inBody(body ...byte) []byte {
	m := &mod{
		memory: &[2]int{1, 2}, globals: []byte{tI32}, tables: []table{{tFuncref, 1, 1}},
		funcs: []fn{{body: body}}, exports: map[string]int{"run": 0}, data: [][]byte{{1, 0}}, elems: [][]byte{{1, 0, 0}},
	}
	return m.bytes()
}

// refused are modules that are refused, most of them by an instruction.
func refused(t *testing.T) map[string][]byte {
	out := map[string][]byte{
		"empty file":                     {},
		"component":                      []byte("\x00asm\x0d\x00\x01\x00"),
		"unknown instruction":            inBody(0x27),
		"try":                            inBody(0x06, 0x40, 0x0b),
		"throw":                          inBody(0x08, 0x00),
		"try_table":                      inBody(0x1f, 0x40, 0x00, 0x0b),
		"return_call":                    inBody(0x12, 0x00),
		"return_call_indirect":           inBody(0x13, 0x00, 0x00),
		"call_ref":                       inBody(0x14, 0x00),
		"ref.as_non_null":                inBody(0xd4),
		"struct.new":                     inBody(0xfb, 0x00, 0x00),
		"atomic load":                    inBody(0x41, 0, 0xfe, 0x10, 0x02, 0x00, 0x1a),
		"relaxed SIMD":                   inBody(0xfd, 0x80, 0x02),
		"unknown SIMD instruction":       inBody(0xfd, 0x9a, 0x01),
		"wide arithmetic":                inBody(0xfc, 0x13),
		"unknown instruction behind fc":  inBody(0xfc, 0x12),
		"opcode written too long":        inBody(0x41, 0, 0xfd, 0x80, 0x00, 0x02, 0x00, 0x1a),
		"local out of range":             inBody(0x20, 0x00, 0x1a),
		"global out of range":            inBody(0x23, 0x01, 0x1a),
		"function out of range":          inBody(0x10, 0x01),
		"type out of range":              inBody(0x41, 0, 0x11, 0x09, 0x00),
		"table out of range":             inBody(0x41, 0, 0x11, 0x00, 0x01),
		"label out of range":             inBody(0x0c, 0x01),
		"label of br_table out of range": inBody(0x41, 0, 0x0e, 0x01, 0x00, 0x01),
		"data segment out of range":      inBody(0xfc, 0x09, 0x01),
		"element segment out of range":   inBody(0xfc, 0x0d, 0x01),
		"block type out of range":        inBody(0x02, 0x09, 0x0b),
		"block type unknown":             inBody(0x02, 0x63, 0x70, 0x0b),
		"second memory":                  inBody(0x3f, 0x01, 0x1a),
		"second memory in an access":     inBody(0x41, 0, 0x28, 0x42, 0x01, 0x00, 0x1a),
		"operand missing":                inBody(0x41, 0, 0x6a, 0x1a),
		"operand left over":              inBody(0x41, 0),
		"operand of the block outside":   inBody(0x41, 0, 0x02, 0x40, 0x1a, 0x0b),
		"branch without its operand":     inBody(0x02, 0x7f, 0x0c, 0x00, 0x0b, 0x1a),
		"if without else gives a value":  inBody(0x41, 0, 0x04, 0x7f, 0x41, 0, 0x0b, 0x1a),
		"else without if":                inBody(0x02, 0x40, 0x05, 0x0b),
		"body that goes on":              inBody(0x0b, 0x01),
		"body that does not end":         inBody(0x02, 0x40),
		"number that does not end":       inBody(0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x1a),
		"number too large":               inBody(0x41, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x1a),
		"select of two types":            inBody(0x41, 0, 0x41, 0, 0x41, 0, 0x1c, 0x02, 0x7f, 0x7f, 0x1a),
		"null of an unknown type":        inBody(0xd0, 0x6e, 0x1a),
		"code cut off":                   inBody(0x01)[:80],
	}
	for name, source := range map[string]string{
		"memory imported":                  `(module (import "env" "memory" (memory 1)))`,
		"table imported":                   `(module (import "env" "table" (table 1 funcref)))`,
		"global imported":                  `(module (import "env" "g" (global i32)))`,
		"module reserved":                  `(module (import "berth.meter" "yield" (func (result i32))))`,
		"export reserved":                  `(module (func (export "berth.meter.fuel")))`,
		"memory too large":                 `(module (memory 65 70))`,
		"table too large":                  `(module (table 1001 funcref))`,
		"tables too large together":        `(module (table 600 funcref) (table 401 funcref) (table 1 funcref))`,
		"two memories":                     `(module (memory 1) (memory 1))`,
		"start with result":                `(module (func $f (result i32) (i32.const 1)) (start $f))`,
		"element out of range":             `(module (table 1 funcref) (func $f) (elem (i32.const 0) 1))`,
		"table for elements missing":       `(module (func $f) (elem (i32.const 0) $f))`,
		"memory for data missing":          `(module (data (i32.const 0) "x"))`,
		"name section malformed":           `(module (func) (@custom "name" "\01\05\ff\ff\ff\ff\0f"))`,
		"name section of another function": `(module (func) (@custom "name" "\01\04\01\05\01a"))`,
		"name section twice":               `(module (@custom "name" "") (@custom "name" ""))`,
		"names out of order":               `(module (func) (func) (@custom "name" "\01\07\02\01\01a\00\01b"))`,
		"names in another order":           `(module (func) (@custom "name" "\02\01\00\01\01\00"))`,
		"function not declared":            `(module (func $f (drop (ref.func $f))))`,
		"access without memory":            `(module (func (drop (i32.load (i32.const 0)))))`,
	} {
		out[name] = wat.Compile(t, source, "")
	}
	withoutCount := inBody(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 0x08, 0x00, 0x00)
	out["memory.init without data count section"] = bytes.Replace(withoutCount, []byte{12, 1, 1}, nil, 1)
	tag := append([]byte(nil), inBody()...)
	out["tag section"] = append(tag, 13, 3, 1, 0, 0)
	out["shared memory"] = bytes.Replace(inBody(), []byte{5, 4, 1, 1, 1, 2}, []byte{5, 4, 1, 3, 1, 2}, 1)
	out["64-bit memory"] = bytes.Replace(inBody(), []byte{5, 4, 1, 1, 1, 2}, []byte{5, 4, 1, 5, 1, 2}, 1)
	out["global from an instruction"] = bytes.Replace(inBody(), []byte{tI32, 1, 0x41, 0, 0x0b}, []byte{tI32, 1, 0x6a, 0, 0x0b}, 1)
	return out
}

// TestRefused: what the rewriter does not know, and what is out of range, is
// refused by name, with the offset; the texts are kept in testdata/refused.golden.
func TestRefused(t *testing.T) {
	var out bytes.Buffer
	modules := refused(t)
	for _, name := range sortedKeys(modules) {
		module := modules[name]
		result, info, err := meter.Rewrite(module, meter.Config{MemoryMaxPages: 64, TableMaxElements: 1000})
		if err == nil || result != nil || info != nil {
			t.Errorf("%s: not refused", name)
			continue
		}
		if err := offsetOf(err, len(module)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fmt.Fprintf(&out, "%s: %v\n", name, err)
	}
	golden.Check(t, "testdata/refused.golden", out.Bytes())
}

// TestLimits: of each limit, a module that is just within it is taken, and one
// that is just beyond it is refused with the limit in the text.
func TestLimits(t *testing.T) {
	repeat := func(n int, ops ...byte) []byte { return bytes.Repeat(ops, n) }
	code := func(locals int, body ...byte) *mod {
		return &mod{globals: []byte{tI32}, funcs: []fn{{body: body, locals: repeat(locals, tI32)}}}
	}
	cases := map[string]struct {
		limit  int
		set    func(l *meter.Limits, n int)
		module func(n int) []byte
	}{
		"bytes": {500, func(l *meter.Limits, n int) { l.Module = n }, func(n int) []byte {
			m := code(0)
			m.customs = map[string][]byte{"c": make([]byte, n-len(m.bytes())-5)}
			return m.bytes()
		}},
		"bytes in the body of a function": {300, func(l *meter.Limits, n int) { l.Body = n }, func(n int) []byte { return code(0, repeat(n-2, 0x01)...).bytes() }},
		"bytes of custom sections": {300, func(l *meter.Limits, n int) { l.Customs = n }, func(n int) []byte {
			return (&mod{customs: map[string][]byte{"a": make([]byte, 98), "b": make([]byte, n-102)}}).bytes()
		}},
		"types":     {9, func(l *meter.Limits, n int) { l.Types = n }, func(n int) []byte { return (&mod{types: make([]sig, n)}).bytes() }},
		"imports":   {9, func(l *meter.Limits, n int) { l.Imports = n }, func(n int) []byte { return (&mod{imports: n}).bytes() }},
		"functions": {9, func(l *meter.Limits, n int) { l.Functions = n }, func(n int) []byte { return (&mod{funcs: make([]fn, n)}).bytes() }},
		"globals":   {5, func(l *meter.Limits, n int) { l.Globals = n }, func(n int) []byte { return (&mod{globals: repeat(n, tI32)}).bytes() }},
		"functions times globals": {12, func(l *meter.Limits, n int) { l.Declarations = n }, func(n int) []byte {
			return (&mod{funcs: make([]fn, n/2), globals: repeat(2+n%2, tI32)}).bytes()
		}},
		"tables": {4, func(l *meter.Limits, n int) { l.Tables = n }, func(n int) []byte {
			m := &mod{}
			for range n {
				m.tables = append(m.tables, table{tFuncref, 1, 1})
			}
			return m.bytes()
		}},
		"exports": {9, func(l *meter.Limits, n int) { l.Exports = n }, func(n int) []byte {
			m := &mod{funcs: make([]fn, 1), exports: map[string]int{}}
			for i := range n {
				m.exports[fmt.Sprint(i)] = 0
			}
			return m.bytes()
		}},
		"element segments": {9, func(l *meter.Limits, n int) { l.Elements = n }, func(n int) []byte {
			m := &mod{}
			for range n {
				m.elems = append(m.elems, []byte{1, 0, 0})
			}
			return m.bytes()
		}},
		"elements in all segments": {9, func(l *meter.Limits, n int) { l.References = n }, func(n int) []byte {
			return (&mod{funcs: make([]fn, 1), elems: [][]byte{{1, 0, 4, 0, 0, 0, 0}, append([]byte{1, 0, byte(n - 4)}, make([]byte, n-4)...)}}).bytes()
		}},
		"data segments": {9, func(l *meter.Limits, n int) { l.Datas = n }, func(n int) []byte {
			m := &mod{}
			for range n {
				m.data = append(m.data, []byte{1, 0})
			}
			return m.bytes()
		}},
		"parameters in a type": {9, func(l *meter.Limits, n int) { l.Values = n }, func(n int) []byte { return (&mod{types: []sig{{params: repeat(n, tI32)}}}).bytes() }},
		"parameters and results in all types": {20, func(l *meter.Limits, n int) { l.AllValues = n }, func(n int) []byte {
			return (&mod{types: []sig{{params: repeat(9, tI32), results: repeat(3, tI32)}, {results: repeat(n-12, tI32)}}}).bytes()
		}},
		"results in a type": {9, func(l *meter.Limits, n int) { l.Values = n }, func(n int) []byte { return (&mod{types: []sig{{results: repeat(n, tI32)}}}).bytes() }},
		"locals":            {9, func(l *meter.Limits, n int) { l.Locals = n }, func(n int) []byte { return code(n).bytes() }},
		"locals in all functions": {20, func(l *meter.Limits, n int) { l.AllLocals = n }, func(n int) []byte {
			return (&mod{funcs: []fn{{locals: repeat(n-5, tI32)}, {locals: repeat(5, tI64)}}}).bytes()
		}},
		"operands on the stack": {9, func(l *meter.Limits, n int) { l.Operands = n }, func(n int) []byte {
			return code(0, append(repeat(n, 0x41, 0), repeat(n, 0x1a)...)...).bytes()
		}},
		"blocks in one another": {9, func(l *meter.Limits, n int) { l.Nesting = n }, func(n int) []byte {
			return code(0, append(repeat(n, 0x02, empty), repeat(n, 0x0b)...)...).bytes()
		}},
		// The check at the entry of the function is one of them.
		"blocks and branches in the function": {9, func(l *meter.Limits, n int) { l.Blocks = n }, func(n int) []byte {
			return code(0, repeat(n-1, 0x02, empty, 0x0b)...).bytes()
		}},
		"locals times blocks and branches in the function": {90, func(l *meter.Limits, n int) { l.Merges = n }, func(n int) []byte {
			return code(n/9, repeat(8, 0x02, empty, 0x0b)...).bytes()
		}},
		// Each path out of the block takes along what was assigned in it.
		"locals assigned between the blocks of the function": {13, func(l *meter.Limits, n int) { l.Moves = n }, func(n int) []byte {
			body := append([]byte{0x02, empty, 0x41, 0, 0x21, 0}, repeat(n-2, 0x41, 0, 0x0d, 0)...)
			return code(1, append(body, 0x0b)...).bytes()
		}},
		"labels of br_table": {9, func(l *meter.Limits, n int) { l.Targets = n }, func(n int) []byte {
			return code(0, append([]byte{0x41, 0, 0x0e, byte(n)}, make([]byte, n+1)...)...).bytes()
		}},
		"labels of br_table in the function": {30, func(l *meter.Limits, n int) { l.AllTargets = n }, func(n int) []byte {
			body := append([]byte{0x02, empty, 0x41, 0, 0x0e, 20}, make([]byte, 21)...)
			body = append(append(body, 0x0b, 0x41, 0, 0x0e, byte(n-20)), make([]byte, n-19)...)
			return code(0, body...).bytes()
		}},
		// Five mutable globals, four of them added; a call at the entry, one at the end.
		"calls times mutable globals in the function": {50, func(l *meter.Limits, n int) { l.Reloads = n }, func(n int) []byte {
			return code(0, repeat(n/5-2, 0x10, 0)...).bytes()
		}},
	}
	for _, what := range sortedKeys(cases) {
		c := cases[what]
		var l meter.Limits
		c.set(&l, c.limit)
		if _, _, err := meter.Rewrite(c.module(c.limit), meter.Config{Limits: l}); err != nil {
			t.Errorf("%d %s: %v", c.limit, what, err)
		}
		step := 1
		if c.limit >= 50 && strings.Contains(what, "times") {
			step = c.limit / 9
		}
		_, _, err := meter.Rewrite(c.module(c.limit+step), meter.Config{Limits: l})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(" %s, at most %d are allowed", what, c.limit)) {
			t.Errorf("one more than %d %s: %v", c.limit, what, err)
		}
	}
}
