package interp

import (
	"fmt"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Instance is a running instance of a module. It must not be used after a trap.
type Instance struct {
	m       *Module
	hosts   []HostFunc
	memory  []byte
	most    uint32 // pages
	globals []uint64
	tables  [][]uint64 // function index + 1, 0 for null
	dropped map[int]bool
	depth   int
	steps   int
}

// Limits of an instance: pages of memory, frames, and instructions per call.
const (
	mostPages = 4096
	mostDepth = 500
	mostSteps = 200_000_000
)

// New instantiates a module and runs its start function. imports are by "module.name".
//
// # Errors
//
// A missing import, a segment that is out of bounds, a trap.
func (m *Module) New(imports map[string]HostFunc) (i *Instance, err error) {
	defer func() {
		if t, ok := recover().(*Trap); ok {
			i, err = nil, t
		}
	}()
	i = &Instance{m: m, globals: append([]uint64(nil), m.globals...), dropped: map[int]bool{}, most: mostPages}
	for k := range m.wire.Imports {
		imp := &m.wire.Imports[k]
		f, ok := imports[imp.Module+"."+imp.Name]
		if imp.Kind != wire.KindFunc || !ok {
			return nil, fmt.Errorf("interp: missing import %s %s.%s", imp.Kind, imp.Module, imp.Name)
		}
		i.hosts = append(i.hosts, f)
	}
	if len(m.wire.Memories) > 0 {
		i.memory = make([]byte, int(m.wire.Memories[0].Min)*pageSize)
		if m.wire.Memories[0].HasMax {
			i.most = min(i.most, m.wire.Memories[0].Max)
		}
	}
	for _, t := range m.wire.Tables {
		i.tables = append(i.tables, make([]uint64, t.Min))
	}
	for k, e := range m.elems {
		if !e.passive {
			i.tableInit(k, e.offset, 0, uint32(len(e.funcs)))
		}
	}
	for _, s := range m.data {
		if !s.passive {
			copy(i.bytes(uint64(s.offset), uint64(len(s.bytes))), s.bytes)
		}
	}
	if m.wire.Start != nil {
		i.steps = mostSteps
		i.call(*m.wire.Start, nil)
	}
	return i, nil
}

// Memory returns the linear memory; growing it invalidates the slice.
func (i *Instance) Memory() []byte { return i.memory }

// Has reports whether a function is exported.
func (i *Instance) Has(name string) bool {
	e, ok := i.m.wire.Export(name)
	return ok && e.Kind == wire.KindFunc
}

// Call calls an exported function.
//
// # Errors
//
// A *Trap.
func (i *Instance) Call(name string, args ...uint64) (out []uint64, err error) {
	e, ok := i.m.wire.Export(name)
	if !ok || e.Kind != wire.KindFunc {
		return nil, fmt.Errorf("interp: no exported function %s", name)
	}
	defer func() {
		switch t := recover().(type) {
		case nil:
		case *Trap:
			out, err = nil, t
		default:
			panic(t)
		}
	}()
	i.steps, i.depth = mostSteps, 0
	return i.call(e.Index, args), nil
}

func trap(format string, args ...any) { panic(&Trap{fmt.Sprintf(format, args...)}) }

// bytes returns memory, or traps.
func (i *Instance) bytes(at, size uint64) []byte {
	if at+size > uint64(len(i.memory)) {
		trap("%d bytes at %#x are out of bounds", size, at)
	}
	return i.memory[at : at+size]
}

// Read returns memory for a host function, or traps.
func (i *Instance) Read(at, size uint64) []byte { return i.bytes(at, size) }

func (i *Instance) grow(pages uint32) uint64 {
	old := uint32(len(i.memory) / pageSize)
	if uint64(old)+uint64(pages) > uint64(i.most) {
		return uint64(uint32(0xffffffff))
	}
	i.memory = append(i.memory, make([]byte, int(pages)*pageSize)...)
	return uint64(old)
}

func (i *Instance) tableInit(elem int, to, from, n uint32) {
	e := i.m.elems[elem]
	funcs := e.funcs
	if i.dropped[elem] {
		funcs = nil
	}
	if uint64(from)+uint64(n) > uint64(len(funcs)) || uint64(to)+uint64(n) > uint64(len(i.tables[0])) {
		trap("elements are out of bounds")
	}
	for k := range n {
		i.tables[0][to+k] = uint64(funcs[from+k]) + 1
	}
}

// call calls a function by index.
func (i *Instance) call(index uint32, args []uint64) []uint64 {
	if int(index) < len(i.hosts) {
		return i.hosts[index](i, args)
	}
	if i.depth++; i.depth > mostDepth {
		trap("stack overflow")
	}
	f := &i.m.code[int(index)-len(i.hosts)]
	frame := &frame{i: i, f: f, locals: make([]uint64, len(f.typ.Params)+f.locals), r: reader{data: f.body}}
	copy(frame.locals, args)
	frame.run()
	i.depth--
	return frame.stack[len(frame.stack)-len(f.typ.Results):]
}

// Grow grows the memory, which hosts must not do.
func (i *Instance) Grow(pages uint32) { i.grow(pages) }

// Structure returns the module as parsed by wire.
func (i *Instance) Structure() *wire.Module { return i.m.wire }
