package meter

import (
	"fmt"
	"strconv"
)

// reader reads forward over the bytes of a module. Its methods throw an *Error.
type reader struct {
	data []byte // from the beginning of the module to the end of the readable part
	pos  int
	// function is the index of the function whose body is read. If it is noFunction,
	// section is the name of the section.
	function int
	section  string
	fix      string // for malformed
}

// fail throws an error; fix may be empty.
func (r *reader) fail(at int, fix, format string, args ...any) {
	e := &Error{Offset: at, Detail: fmt.Sprintf(format, args...), Fix: fix}
	switch {
	case r.function >= 0:
		e.Where = "function " + strconv.Itoa(r.function)
	case r.section != "":
		e.Where = r.section + " section"
	}
	panic(e)
}

func (r *reader) malformed(at int, format string, args ...any) {
	r.fail(at, r.fix, format, args...)
}

// limit throws an error unless got is at most most.
func (r *reader) limit(at, got, most int, what string) {
	if got > most {
		r.fail(at, "", "%d %s, at most %d are allowed", got, what, most)
	}
}

func (r *reader) left() int { return len(r.data) - r.pos }

func (r *reader) byte() byte {
	if r.pos >= len(r.data) {
		r.malformed(r.pos, "it ends in the middle of something")
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

// skip skips n bytes.
func (r *reader) skip(n uint64) {
	if n > uint64(r.left()) {
		r.malformed(r.pos, "%d bytes announced, %d are left", n, r.left())
	}
	r.pos += int(n)
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	if r.pos < len(r.data) && r.data[r.pos] < 0x80 {
		r.pos++
		return uint32(r.data[r.pos-1])
	}
	at := r.pos
	var out uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		out |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if out > 1<<32-1 {
				break
			}
			return uint32(out)
		}
	}
	r.malformed(at, "a number has more than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of at most bits bits.
func (r *reader) signed(bits int) int64 {
	at := r.pos
	var out int64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if shift+7 >= bits {
			// The last possible byte: no more follow, and all bits beyond the number's are
			// copies of its sign.
			unused := int8(b<<1) >> (bits - shift)
			if b >= 0x80 || unused != 0 && unused != -1 {
				r.malformed(at, "a number has more than %d bits", bits)
			}
		}
		out |= int64(b&0x7f) << shift
		if b < 0x80 {
			if end := shift + 7; end < 64 {
				out = out << (64 - end) >> (64 - end)
			}
			return out
		}
	}
}

// count reads the length of a list, whose elements take at least one byte each.
func (r *reader) count(what string, most int) int {
	at := r.pos
	n := r.u32()
	r.limit(at, int(n), most, what)
	if uint64(n) > uint64(r.left()) {
		r.malformed(at, "%d %s announced, %d bytes are left", n, what, r.left())
	}
	return int(n)
}

// index reads an index of a space of n things.
func (r *reader) index(what string, n int) int {
	at := r.pos
	i := r.u32()
	if uint64(i) >= uint64(n) {
		r.malformed(at, "%s %d does not exist: there are %d", what, i, n)
	}
	return int(i)
}

// zero reads a byte that must be zero, the index of the only memory.
func (r *reader) zero() {
	if at := r.pos; r.byte() != 0 {
		r.fail(at, "compile for a single memory", "an instruction names a memory other than 0")
	}
}

// noFunction is reader.function outside of bodies.
const noFunction = -1
