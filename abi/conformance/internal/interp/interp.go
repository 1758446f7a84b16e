// Package interp runs WebAssembly modules as far as the kit's own guests need it: integers,
// control flow, memory, tables, bulk memory. It does not validate; loading a module with
// unsupported instructions is an error. Only tests import it: they run the kit against a host
// without depending on a real engine.
package interp

import (
	"fmt"

	"github.com/berth-scheduler/berth/abi/wire"
)

// pageSize is the size of a page of memory, in bytes.
const pageSize = 65536

// Trap is the panic value of a guest that traps. A host function panics with it to make its
// caller trap.
type Trap struct{ Text string }

// Error implements error.
func (t *Trap) Error() string { return t.Text }

// HostFunc is an imported function. It may panic with a *Trap.
type HostFunc func(i *Instance, args []uint64) []uint64

// Module is a module that can be instantiated.
type Module struct {
	wire    *wire.Module
	code    []function
	globals []uint64
	data    []segment
	elems   []element
}

// function is the body of a function.
type function struct {
	typ    wire.FuncType
	locals int
	body   []byte
	// jumps has, by the place of a block, loop or if, the places of its else and end.
	jumps map[int]jump
}

type jump struct{ otherwise, end int }

type segment struct {
	passive bool
	offset  uint32
	bytes   []byte
}

type element struct {
	passive bool
	offset  uint32
	funcs   []uint32
}

// Load reads a module.
//
// # Errors
//
// What wire.ReadModule refuses, and unsupported instructions.
func Load(data []byte) (m *Module, err error) {
	parsed, err := wire.ReadModule(data)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("interp: %v", r)
		}
	}()
	m = &Module{wire: parsed}
	for _, s := range parsed.Sections {
		r := &reader{data: data[:s.Offset+s.Size], at: s.Offset}
		switch s.ID {
		case 6:
			m.readGlobals(r)
		case 9:
			m.readElements(r)
		case 10:
			m.readCode(r)
		case 11:
			m.readData(r)
		}
	}
	return m, nil
}

// Structure returns the module as parsed by wire.
func (m *Module) Structure() *wire.Module { return m.wire }

// reader reads numbers from a section.
type reader struct {
	data []byte
	at   int
}

func (r *reader) byte() byte {
	b := r.data[r.at]
	r.at++
	return b
}

func (r *reader) u32() uint32 { return uint32(r.unsigned()) }

func (r *reader) unsigned() (out uint64) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		out |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return out
		}
	}
}

func (r *reader) signed() (out int64) {
	for shift := 0; ; {
		b := r.byte()
		out |= int64(b&0x7f) << shift
		shift += 7
		if b&0x80 == 0 {
			if shift < 64 && b&0x40 != 0 {
				out |= -1 << shift
			}
			return out
		}
	}
}

func (r *reader) bytes(n uint32) []byte {
	out := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return out
}

// constant reads a constant expression of an integer.
func (r *reader) constant() uint64 {
	var out uint64
	switch op := r.byte(); op {
	case 0x41, 0x42:
		out = uint64(r.signed())
	default:
		panic(fmt.Sprintf("a constant begins with %#x", op))
	}
	if r.byte() != 0x0b {
		panic("a constant does not end")
	}
	return out
}

func (m *Module) readGlobals(r *reader) {
	for range r.u32() {
		r.bytes(2)
		m.globals = append(m.globals, r.constant())
	}
}

func (m *Module) readData(r *reader) {
	for range r.u32() {
		s := segment{passive: r.u32() == 1}
		if !s.passive {
			s.offset = uint32(r.constant())
		}
		s.bytes = r.bytes(r.u32())
		m.data = append(m.data, s)
	}
}

func (m *Module) readElements(r *reader) {
	for range r.u32() {
		e := element{passive: r.u32() == 1}
		if e.passive {
			r.byte() // of functions
		} else {
			e.offset = uint32(r.constant())
		}
		for range r.u32() {
			e.funcs = append(e.funcs, r.u32())
		}
		m.elems = append(m.elems, e)
	}
}

func (m *Module) readCode(r *reader) {
	for i := range r.u32() {
		size := r.u32()
		end := r.at + int(size)
		f := function{typ: m.wire.Types[m.wire.Functions[i]]}
		for range r.u32() {
			f.locals += int(r.u32())
			r.byte()
		}
		f.body = r.data[r.at:end]
		r.at = end
		f.jumps = scan(f.body)
		m.code = append(m.code, f)
	}
}

// scan finds where blocks end, and panics at unsupported instructions.
func scan(body []byte) map[int]jump {
	jumps := map[int]jump{}
	var open []int
	r := &reader{data: body}
	for r.at < len(body) {
		at := r.at
		switch op := r.byte(); op {
		case 0x02, 0x03, 0x04:
			r.signed()
			open = append(open, at)
			jumps[at] = jump{}
		case 0x05:
			j := jumps[open[len(open)-1]]
			j.otherwise = r.at
			jumps[open[len(open)-1]] = j
		case 0x0b:
			if len(open) == 0 {
				return jumps
			}
			j := jumps[open[len(open)-1]]
			j.end = r.at
			jumps[open[len(open)-1]] = j
			open = open[:len(open)-1]
		default:
			skip(r, op)
		}
	}
	panic("a function does not end")
}

// skip skips the immediates of an instruction.
func skip(r *reader, op byte) {
	switch {
	case op == 0x0c, op == 0x0d, op == 0x10, op >= 0x20 && op <= 0x26, op == 0xd0, op == 0xd2, op == 0x3f, op == 0x40:
		r.unsigned()
	case op == 0x11:
		r.unsigned()
		r.unsigned()
	case op == 0x0e:
		for range r.u32() + 1 {
			r.u32()
		}
	case op == 0x41, op == 0x42:
		r.signed()
	case op == 0x44:
		r.bytes(8)
	case op >= 0x28 && op <= 0x3e && op != 0x2a && op != 0x2b && op != 0x38 && op != 0x39:
		r.unsigned()
		r.unsigned()
	case op == 0xfc:
		switch sub := r.u32(); sub {
		case 2:
		case 8, 10, 12:
			r.unsigned()
			r.unsigned()
		case 9, 11, 13:
			r.unsigned()
		default:
			panic(fmt.Sprintf("unknown instruction 0xfc %d", sub))
		}
	case op == 0xfd:
		if sub := r.u32(); sub != 12 {
			panic(fmt.Sprintf("unknown instruction 0xfd %d", sub))
		}
		r.bytes(16)
	case op <= 0x01, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0x5a, op >= 0x67 && op <= 0x8a, op == 0xa7, op == 0xac, op == 0xad,
		op >= 0xc0 && op <= 0xc4, op == 0xd1:
	default:
		panic(fmt.Sprintf("unknown instruction %#x", op))
	}
}
