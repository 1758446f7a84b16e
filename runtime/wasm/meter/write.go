package meter

import (
	"slices"
	"strconv"

	"github.com/berth-scheduler/berth/abi/wire"
)

// rewriteCode rewrites all bodies, and adds those of the helpers.
func (r *rewriter) rewriteCode() {
	g := len(r.module.Globals)
	r.globals = globalIndices{fuel: g, slice: g + 1, depth: g + 2, status: g + 3}
	r.mutable += 4
	r.info.Functions, r.info.Slice, r.info.MaxDepth = len(r.module.Functions), r.config.Slice, r.config.MaxDepth

	in := r.sectionReader(sectionCode)
	if in.left() > 0 {
		in.u32()
	}
	out := make(code, 0, len(in.data)-in.pos+(len(in.data)-in.pos)/4)
	b := newBody(r)
	var scratch code
	for i := range r.module.Functions {
		at := in.pos
		size := int(in.u32())
		in.limit(at, size, r.config.Limits.Body, "bytes in the body of a function")
		start := in.pos
		in.skip(uint64(size))
		index := r.imported + i
		body := reader{data: r.source[:in.pos], pos: start, function: index}
		scratch = b.rewrite(body, r.module.Types[r.typeOf[index]], scratch[:0])
		r.account(b, start)
		out = append(appendU32(out, uint32(len(scratch))), scratch...)
	}
	in.end()
	for _, f := range r.helperFunctions() {
		scratch = appendU32(scratch[:0], uint32(len(f.locals)))
		for _, t := range f.locals {
			scratch = append(scratch, 1, byte(t))
		}
		scratch = append(append(scratch, f.code...), opEnd)
		out = append(appendU32(out, uint32(len(scratch))), scratch...)
	}
	r.codeSection = out
}

// account adds the counts of a function, and compares them with the limits.
func (r *rewriter) account(b *body, at int) {
	r.info.Loops += b.loops
	r.info.Checks += b.checks
	limits := &r.config.Limits
	b.in.limit(at, b.calls*r.mutable, limits.Reloads, "calls times mutable globals in the function")
	r.locals += len(b.locals)
	b.in.limit(at, r.locals, limits.AllLocals, "locals in all functions")
}

// write assembles the new module.
func (r *rewriter) write() []byte {
	w := &writer{r: r, helpers: r.helperFunctions()}
	w.out = slices.Grow(w.out, len(r.source)+len(r.source)/4)
	w.out = append(w.out, r.source[:8]...)
	for i := range r.module.Sections {
		s := &r.module.Sections[i]
		payload := r.source[s.Offset : s.Offset+s.Size]
		if s.ID == sectionCustom {
			if s.Name == "name" {
				payload = r.names(s)
			}
			w.section(sectionCustom, payload)
			continue
		}
		w.before(s.ID)
		w.standard(s.ID, payload)
		w.written++
	}
	w.before(sectionCustom)
	return w.out
}

// writer writes sections in their order.
type writer struct {
	r       *rewriter
	out     []byte
	helpers []function
	written int // how many of order were written or left out
}

// order is the order of sections in a module.
func order() []byte {
	return []byte{
		sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport,
		sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
	}
}

// before writes the sections before one that must be added; all of them if there is no such
// section.
func (w *writer) before(id byte) {
	for o := order(); w.written < len(o) && o[w.written] != id; w.written++ {
		switch missing := o[w.written]; missing {
		case sectionType, sectionImport, sectionFunction, sectionGlobal, sectionExport, sectionCode:
			w.standard(missing, nil)
		}
	}
}

func (w *writer) section(id byte, payload []byte) {
	w.out = append(appendU32(append(w.out, id), uint32(len(payload))), payload...)
}

// standard writes a section; payload is the old one.
func (w *writer) standard(id byte, payload []byte) {
	switch id {
	case sectionType:
		w.section(id, w.types(payload))
	case sectionImport:
		if payload = w.imports(payload); len(payload) > 0 {
			w.section(id, payload)
		}
	case sectionFunction:
		w.section(id, w.functions())
	case sectionTable:
		w.section(id, w.tables())
	case sectionMemory:
		w.section(id, w.memories())
	case sectionGlobal:
		w.section(id, w.globals())
	case sectionExport:
		w.section(id, w.exports())
	case sectionStart: // it becomes an export
	case sectionElement:
		if w.r.module.Elements > 0 {
			payload = w.r.elementSection
		}
		w.section(id, payload)
	case sectionCode:
		n := len(w.r.module.Functions) + len(w.helpers)
		w.section(id, append(appendU32(nil, uint32(n)), w.r.codeSection...))
	case sectionData, sectionDataCount:
		w.section(id, payload)
	}
}

// entries returns a section's payload without the number of its entries.
func entries(payload []byte) []byte {
	if len(payload) == 0 {
		return nil
	}
	in := reader{data: payload, function: noFunction}
	in.u32()
	return payload[in.pos:]
}

func (w *writer) types(payload []byte) []byte {
	for _, h := range w.helpers {
		w.r.types.find(h.t)
	}
	w.r.yieldType()
	out := appendU32(nil, uint32(w.r.types.n))
	return append(append(out, entries(payload)...), w.r.types.added...)
}

// yieldType returns the index of the type of the yield function.
func (r *rewriter) yieldType() int { return r.types.find(signature(nil, i32())) }

func (w *writer) imports(payload []byte) []byte {
	if w.r.shift == 0 {
		return payload
	}
	out := appendU32(nil, uint32(len(w.r.module.Imports)+w.r.shift))
	out = append(out, entries(payload)...)
	out = append(appendName(appendName(out, ImportModule), YieldImport), byte(wire.KindFunc))
	return appendU32(out, uint32(w.r.yieldType()))
}

func (w *writer) functions() []byte {
	out := appendU32(nil, uint32(len(w.r.module.Functions)+len(w.helpers)))
	for _, t := range w.r.module.Functions {
		out = appendU32(out, t)
	}
	for _, h := range w.helpers {
		out = appendU32(out, uint32(w.r.types.find(h.t)))
	}
	return out
}

func (w *writer) tables() []byte {
	out := appendU32(nil, uint32(len(w.r.module.Tables)))
	for _, t := range w.r.module.Tables {
		out = appendLimits(append(out, byte(t.Elem)), t.Limits)
	}
	return out
}

func (w *writer) memories() []byte {
	out := appendU32(nil, uint32(len(w.r.module.Memories)))
	for _, m := range w.r.module.Memories {
		out = appendLimits(out, m)
	}
	return out
}

func (w *writer) globals() []byte {
	out := appendU32(nil, uint32(len(w.r.module.Globals)+4))
	out = append(out, w.r.globalSection...)
	const mutable = 1
	add := func(t wire.ValType, op byte, v int64) {
		out = appendSigned(append(out, byte(t), mutable, op), v)
		out = append(out, opEnd)
	}
	add(wire.ValI64, opI64Const, w.r.config.Fuel)            // fuel
	add(wire.ValI32, opI32Const, 0)                          // slice
	add(wire.ValI32, opI32Const, int64(w.r.config.MaxDepth)) // depth
	add(wire.ValI32, opI32Const, 0)                          // status
	return out
}

func (w *writer) exports() []byte {
	r := w.r
	n := len(r.module.Exports)
	var out []byte
	for _, e := range r.module.Exports {
		if e.Kind == wire.KindFunc {
			e.Index = uint32(r.newFunction(int(e.Index)))
		}
		out = appendU32(append(appendName(out, e.Name), byte(e.Kind)), e.Index)
	}
	add := func(name string, kind wire.Kind, index int) {
		n++
		out = appendU32(append(appendName(out, name), byte(kind)), uint32(index))
	}
	add(FuelExport, wire.KindGlobal, r.globals.fuel)
	add(SliceExport, wire.KindGlobal, r.globals.slice)
	add(DepthExport, wire.KindGlobal, r.globals.depth)
	add(StatusExport, wire.KindGlobal, r.globals.status)
	for i, g := range r.module.Globals {
		switch {
		case !g.Mutable:
		case g.Type == wire.ValV128 || g.Type == wire.ValFuncref || g.Type == wire.ValExternref:
			r.info.OtherGlobals = true
		default:
			name := GlobalExport + strconv.Itoa(i)
			r.info.Globals = append(r.info.Globals, name)
			add(name, wire.KindGlobal, i)
		}
	}
	if start := r.module.Start; start != nil {
		r.info.Start = true
		add(StartExport, wire.KindFunc, r.newFunction(int(*start)))
	}
	return append(appendU32(nil, uint32(n)), out...)
}
