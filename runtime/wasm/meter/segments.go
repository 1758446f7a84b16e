package meter

import "github.com/berth-scheduler/berth/abi/wire"

// readGlobals rewrites the entries of the global section, since they can refer to
// functions.
func (r *rewriter) readGlobals() {
	in := r.sectionReader(sectionGlobal)
	if in.left() > 0 {
		in.u32()
	}
	for _, g := range r.module.Globals {
		in.skip(2)
		mutable := byte(0)
		if g.Mutable {
			mutable = 1
			r.mutable++
		}
		r.globalSection = append(r.globalSection, byte(g.Type), mutable)
		r.globalSection = r.constant(in, r.globalSection)
	}
	in.end()
}

// readElements rewrites the element section, since it refers to functions, and counts the
// elements of each segment.
func (r *rewriter) readElements() {
	in := r.sectionReader(sectionElement)
	if r.module.Elements == 0 {
		return
	}
	in.u32()
	out := appendU32(nil, uint32(r.module.Elements))
	references := 0
	for range r.module.Elements {
		at := in.pos
		flags := in.u32()
		if flags > 7 {
			in.fail(at, "", "an element segment has unknown flags %#x", flags)
		}
		out = appendU32(out, flags)
		passive, explicit, expressions := flags&1 != 0, flags&2 != 0, flags&4 != 0
		if !passive && explicit {
			out = appendU32(out, uint32(in.index("table", len(r.module.Tables))))
		}
		if !passive {
			if !explicit {
				in.exists("table", len(r.module.Tables))
			}
			out = r.constant(in, out)
		}
		if passive || explicit { // declares the kind of the elements
			out = append(out, in.elementKind(expressions))
		}
		at = in.pos
		n := in.count("elements", r.config.Limits.References)
		references += n
		in.limit(at, references, r.config.Limits.References, "elements in all segments")
		r.elements = append(r.elements, n)
		out = appendU32(out, uint32(n))
		for range n {
			if expressions {
				out = r.constant(in, out)
			} else {
				out = r.reference(in, out)
			}
		}
	}
	in.end()
	r.elementSection, r.info.References = out, references
}

// elementKind reads the type of references, or the kind, which is 0 for functions.
func (r *reader) elementKind(expressions bool) byte {
	at := r.pos
	kind := r.byte()
	switch {
	case expressions && kind != byte(wire.ValFuncref) && kind != byte(wire.ValExternref):
		r.fail(at, "compile for WebAssembly 2.0 without garbage collection (ABI-1.1)", "elements of unknown type %#x", kind)
	case !expressions && kind != 0:
		r.fail(at, "", "elements of unknown kind %#x", kind)
	}
	return kind
}

// readData counts the bytes of each data segment. The section does not change.
func (r *rewriter) readData() {
	in := r.sectionReader(sectionData)
	if r.module.Data == 0 {
		return
	}
	in.u32()
	for range r.module.Data {
		at := in.pos
		flags := in.u32()
		switch flags {
		case 0, 2:
			if flags == 2 {
				in.index("memory", len(r.module.Memories))
			}
			in.exists("memory", len(r.module.Memories))
			r.constant(in, nil)
		case 1:
		default:
			in.fail(at, "", "a data segment has unknown flags %#x", flags)
		}
		n := in.u32()
		in.skip(uint64(n))
		r.data = append(r.data, int(n))
	}
	in.end()
}

// exists fails unless there is table or memory 0.
func (r *reader) exists(what string, n int) {
	if n == 0 {
		r.malformed(r.pos, "a segment is for %s 0, which does not exist", what)
	}
}

// constant copies a constant expression to out, with functions renumbered.
func (r *rewriter) constant(in *reader, out []byte) []byte {
	for {
		at := in.pos
		switch op := in.byte(); op {
		case opI32Const:
			in.signed(32)
		case opI64Const:
			in.signed(64)
		case opF32Const:
			in.skip(4)
		case opF64Const:
			in.skip(8)
		case opGlobalGet:
			in.index("global", len(r.module.Globals))
		case opRefNull:
			in.heapType()
		case opRefFunc:
			out = r.reference(in, append(out, op))
			continue
		case opSIMD:
			if second := in.byte(); second != 12 { // v128.const
				in.fail(at, "", "a constant expression has SIMD instruction %#x", second)
			}
			in.skip(16)
		case opEnd:
			return append(out, op)
		default:
			in.fail(at, "compile without extended constant expressions (ABI-1.1)", "a constant expression has instruction %#x", op)
		}
		out = append(out, in.data[at:in.pos]...)
	}
}

// reference copies the index of a function, renumbered. From then on bodies may refer to the
// function.
func (r *rewriter) reference(in *reader, out []byte) []byte {
	f := in.index("function", len(r.typeOf))
	r.declared[f] = true
	return appendU32(out, uint32(r.newFunction(f)))
}

// heapType reads the type of a ref.null.
func (r *reader) heapType() wire.ValType {
	at := r.pos
	t := wire.ValType(r.byte())
	if t != wire.ValFuncref && t != wire.ValExternref {
		r.fail(at, "compile for WebAssembly 2.0 without garbage collection (ABI-1.1)", "ref.null of unknown type %#x", byte(t))
	}
	return t
}

// end fails if bytes are left over.
func (r *reader) end() {
	if n := r.left(); n > 0 {
		r.malformed(r.pos, "%d bytes are left over", n)
	}
}
