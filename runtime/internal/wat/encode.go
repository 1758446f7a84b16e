package wat

import "slices"

// encode writes the sections in their order.
func (m *module) encode() []byte {
	var imports, funcs, tables, memories, globals, code [][]byte
	for i := range m.items {
		it := &m.items[i]
		var desc []byte
		switch it.kind {
		case "func":
			index, signature, rest := m.typeUse(it.rest)
			desc = uleb(nil, index)
			if !it.isImp {
				funcs = append(funcs, desc)
				code = append(code, text(m.body(index, signature, rest)))
			}
		case "table":
			desc = table(it)
			tables = appendUnless(tables, it, desc)
		case "memory":
			desc = limits(it.at, it.rest)
			memories = appendUnless(memories, it, desc)
		case "global":
			desc = m.global(it)
			globals = appendUnless(globals, it, desc)
		}
		if it.isImp {
			kind := byte(slices.Index(kinds(), it.kind))
			imports = append(imports, slices.Concat(text(it.module), text(it.field), []byte{kind}, desc))
		}
	}
	exports, data, elems := m.exports, [][]byte(nil), [][]byte(nil)
	var start, customs []byte
	for _, f := range m.fields {
		switch {
		case f.is("export"):
			what := f.list[2]
			if s, ok := m.spaces[what.list[0].atom]; ok {
				exports = append(exports, exportEntry(f.list[1].text, what.list[0].atom, s.index(what.list[1])))
			}
		case f.is("start"):
			start = uleb(nil, m.spaces["func"].index(f.list[1]))
		case f.is("data"):
			data = append(data, m.dataSegment(f))
		case f.is("elem"):
			elems = append(elems, m.elemSegment(f))
		case f.is("@custom"):
			customs = section(customs, 0, append(text(f.list[1].text), f.list[2].text...))
		}
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	vectors := []struct {
		id   byte
		list [][]byte
	}{
		{1, m.encoded}, {2, imports}, {3, funcs}, {4, tables}, {5, memories}, {6, globals}, {7, exports}, {8, nil},
		{9, elems}, {12, nil}, {10, code}, {11, data},
	}
	for _, v := range vectors {
		switch {
		case v.id == 8 && start != nil:
			out = section(out, 8, start)
		case v.id == 12 && len(data) > 0 && m.data.size > 0:
			out = section(out, 12, uleb(nil, uint64(len(data))))
		case len(v.list) > 0:
			out = section(out, v.id, append(uleb(nil, uint64(len(v.list))), slices.Concat(v.list...)...))
		}
	}
	return append(out, customs...)
}

func appendUnless(list [][]byte, it *item, desc []byte) [][]byte {
	if it.isImp {
		return list
	}
	return append(list, desc)
}

func limits(at *expr, list []*expr) []byte {
	switch len(list) {
	case 1:
		return uleb([]byte{0}, unsigned(list[0]))
	case 2:
		return uleb(uleb([]byte{1}, unsigned(list[0])), unsigned(list[1]))
	}
	fail(at, "expected a minimum and perhaps a maximum")
	return nil
}

func table(it *item) []byte {
	last := len(it.rest) - 1
	if last < 0 {
		fail(it.at, "expected limits and a type")
	}
	return append([]byte{valType(it.rest[last])}, limits(it.at, it.rest[:last])...)
}

func (m *module) global(it *item) []byte {
	if len(it.rest) == 0 {
		fail(it.at, "expected a type")
	}
	t, mutable := it.rest[0], byte(0)
	if t.is("mut") {
		t, mutable = t.list[1], 1
	}
	desc := []byte{valType(t), mutable}
	if it.isImp {
		return desc
	}
	return append(desc, m.constant(it.rest[1:])...)
}

// constant encodes a constant expression.
func (m *module) constant(list []*expr) []byte {
	b := &body{m: m, locals: newSpace()}
	b.all(list)
	return append(b.out, 0x0b)
}

// offset cuts (offset …) or one folded instruction off.
func (m *module) offset(list []*expr) (encoded []byte, rest []*expr) {
	if len(list) == 0 || !list[0].isList {
		return nil, list
	}
	if list[0].is("offset") {
		return m.constant(list[0].list[1:]), list[1:]
	}
	return m.constant(list[:1]), list[1:]
}

func (m *module) dataSegment(f *expr) []byte {
	rest, _ := named(f.list[1:])
	offset, rest := m.offset(rest)
	var bytes []byte
	for _, e := range rest {
		if !e.isText {
			fail(e, "expected a string, found %s", e)
		}
		bytes = append(bytes, e.text...)
	}
	if offset == nil {
		return append([]byte{1}, text(bytes)...)
	}
	return slices.Concat([]byte{0}, offset, text(bytes))
}

// elemSegment encodes functions: (elem (i32.const 0) $f …), or passive ones.
func (m *module) elemSegment(f *expr) []byte {
	rest, _ := named(f.list[1:])
	offset, rest := m.offset(rest)
	if len(rest) > 0 && rest[0].isAtom() && (rest[0].atom == "func" || rest[0].atom == "declare") {
		rest = rest[1:]
	}
	out := []byte{0}
	if offset == nil {
		out = []byte{1, 0}
	}
	out = uleb(append(out, offset...), uint64(len(rest)))
	for _, e := range rest {
		out = uleb(out, m.spaces["func"].index(e))
	}
	return out
}
