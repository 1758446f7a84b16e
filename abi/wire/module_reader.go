package wire

import (
	"strconv"
	"unicode/utf8"
)

// ModuleError says why bytes are not a valid module.
type ModuleError struct {
	// Offset in the file, in bytes.
	Offset int
	// Section is the name of the section, empty outside sections.
	Section string
	// Detail says what is wrong. Fix says what to do; it may be empty.
	Detail, Fix string
}

// Error returns "offset 0x1f, import section: detail; fix".
func (e *ModuleError) Error() string {
	out := "offset 0x" + strconv.FormatInt(int64(e.Offset), 16)
	if e.Section != "" {
		out += ", " + e.Section + " section"
	}
	out += ": " + e.Detail
	if e.Fix != "" {
		out += "; " + e.Fix
	}
	return out
}

// moduleReader reads bytes forward and keeps the first error; after it, all reads return zero.
type moduleReader struct {
	data    []byte
	pos     int
	section string
	err     error
}

func (r *moduleReader) fail(at int, detail, fix string) {
	if r.err == nil {
		r.err = &ModuleError{Offset: at, Section: r.section, Detail: detail, Fix: fix}
	}
}

func (r *moduleReader) left() int {
	if r.err != nil {
		return 0
	}
	return len(r.data) - r.pos
}

func (r *moduleReader) byte() byte {
	if r.left() == 0 {
		r.fail(r.pos, "the file or section ends unexpectedly", "")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

// take returns the next n bytes.
func (r *moduleReader) take(n uint32) []byte {
	if uint64(n) > uint64(r.left()) {
		r.fail(r.pos, strconv.FormatUint(uint64(n), 10)+" bytes announced, "+strconv.Itoa(r.left())+" are left", "")
		return nil
	}
	out := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return out
}

// u32 reads a LEB128 number of at most 32 bits.
func (r *moduleReader) u32() uint32 {
	at := r.pos
	var out uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		out |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if out > 1<<32-1 {
				break
			}
			return uint32(out)
		}
	}
	r.fail(at, "a number has more than 32 bits", "")
	return 0
}

// skipLEB skips a LEB128 number of at most bits bits.
func (r *moduleReader) skipLEB(bits int) {
	at := r.pos
	for range (bits + 6) / 7 {
		if r.byte()&0x80 == 0 {
			return
		}
	}
	r.fail(at, "a number has more than "+strconv.Itoa(bits)+" bits", "")
}

// count reads the length of a list whose elements take at least one byte each.
func (r *moduleReader) count(what string, most int) int {
	at := r.pos
	n := r.u32()
	switch {
	case uint64(n) > uint64(most):
		r.fail(at, strconv.FormatUint(uint64(n), 10)+" "+what+", at most "+strconv.Itoa(most)+" are allowed", "")
	case uint64(n) > uint64(r.left()):
		r.fail(at, strconv.FormatUint(uint64(n), 10)+" "+what+" announced, "+strconv.Itoa(r.left())+" bytes are left", "")
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *moduleReader) name() string {
	at := r.pos
	n := r.u32()
	if n > maxModuleName {
		r.fail(at, "a name of "+strconv.FormatUint(uint64(n), 10)+" bytes, at most "+strconv.Itoa(maxModuleName)+" are allowed", "")
	}
	raw := r.take(n)
	if !utf8.Valid(raw) {
		r.fail(at, "a name is not UTF-8", "")
	}
	if r.err != nil {
		return ""
	}
	return string(raw)
}

func (r *moduleReader) valType() ValType {
	at := r.pos
	t := ValType(r.byte())
	if r.err == nil && t.String() == "unknown" {
		r.fail(at, "type 0x"+strconv.FormatInt(int64(t), 16)+" is unknown", "compile for WebAssembly 2.0 without garbage collection (ABI-1.1)")
	}
	return t
}

func (r *moduleReader) refType() ValType {
	at := r.pos
	t := r.valType()
	if r.err == nil && t != ValFuncref && t != ValExternref {
		r.fail(at, "a table of "+t.String(), "")
	}
	return t
}

// limits reads the size of a table or a memory; most is in its unit.
func (r *moduleReader) limits(what, unit string, most uint64) Limits {
	at := r.pos
	flag := r.byte()
	switch {
	case flag&4 != 0:
		r.fail(at, what+" with 64-bit addresses", "compile for wasm32: memory64 is not allowed (ABI-1.1)")
	case flag&2 != 0:
		r.fail(at, "shared "+what, "compile without threads (ABI-1.1)")
	case flag > 1:
		r.fail(at, what+" with unknown limits 0x"+strconv.FormatInt(int64(flag), 16), "")
	}
	l := Limits{Min: r.u32(), HasMax: flag&1 != 0}
	if l.HasMax {
		l.Max = r.u32()
		if l.Max < l.Min {
			r.fail(at, what+" with a maximum below its minimum", "")
		}
	}
	if uint64(l.Min) > most || uint64(l.Max) > most {
		r.fail(at, what+" larger than "+strconv.FormatUint(most, 10)+" "+unit, "")
	}
	return l
}

func (r *moduleReader) table() Table {
	elem := r.refType()
	return Table{Elem: elem, Limits: r.limits("table", "elements", 1<<32-1)}
}

func (r *moduleReader) memory() Limits { return r.limits("memory", "pages", maxMemoryPages) }

func (r *moduleReader) global() Global {
	t := r.valType()
	at := r.pos
	mutable := r.byte()
	if mutable > 1 {
		r.fail(at, "a global is neither constant nor mutable", "")
	}
	return Global{Type: t, Mutable: mutable == 1}
}

// skipConst skips a constant expression.
func (r *moduleReader) skipConst() {
	for r.err == nil {
		at := r.pos
		switch op := r.byte(); op {
		case 0x0b: // end
			return
		case 0x23, 0xd2: // global.get, ref.func
			r.u32()
		case 0x41:
			r.skipLEB(32)
		case 0x42:
			r.skipLEB(64)
		case 0x43:
			r.take(4)
		case 0x44:
			r.take(8)
		case 0xd0: // ref.null
			r.refType()
		case 0xfd:
			if r.u32() != 12 {
				r.fail(at, "a constant expression has a SIMD operation other than v128.const", "")
			}
			r.take(16)
		default:
			r.fail(at, "operation 0x"+strconv.FormatInt(int64(op), 16)+" in a constant expression", "")
		}
	}
}
