package wat

import (
	"bytes"
	"slices"
)

// space is an index space: the index of each name, and how many there are.
type space struct {
	names map[string]uint64
	size  uint64
}

func newSpace() *space { return &space{names: map[string]uint64{}} }

// declare gives the next index to a name, which may be nil.
func (s *space) declare(name *expr) {
	if name != nil {
		if _, taken := s.names[name.atom]; taken {
			fail(name, "%s appears twice", name.atom)
		}
		s.names[name.atom] = s.size
	}
	s.size++
}

// index resolves a $name or a number.
func (s *space) index(e *expr) uint64 {
	if !e.isName() {
		return unsigned(e)
	}
	i, ok := s.names[e.atom]
	if !ok {
		fail(e, "%s is not defined", e.atom)
	}
	return i
}

// item is a function, table, memory or global: an import or a definition.
type item struct {
	at     *expr
	kind   string
	module []byte // of an import
	field  []byte
	isImp  bool
	rest   []*expr // without name, inline import and exports
}

type module struct {
	fields  []*expr
	types   *space
	encoded [][]byte // of types
	spaces  map[string]*space
	items   []item
	exports [][]byte
	data    *space
	elems   *space
	ops     map[string]opcode
}

// kinds are those of imports and exports, by their number.
func kinds() []string { return []string{"func", "table", "memory", "global"} }

func newModule(root *expr) *module {
	m := &module{fields: root.list[1:], types: newSpace(), spaces: map[string]*space{}, data: newSpace(), elems: newSpace(), ops: opcodes()}
	if len(m.fields) > 0 && m.fields[0].isName() {
		m.fields = m.fields[1:]
	}
	for _, k := range kinds() {
		m.spaces[k] = newSpace()
	}
	for _, f := range m.fields {
		switch {
		case f.is("type"):
			rest, name := named(f.list[1:])
			m.types.declare(name)
			if len(rest) != 1 || !rest[0].is("func") {
				fail(f, "expected (type $name (func …))")
			}
			m.encoded = append(m.encoded, m.funcType(rest[0].list[1:]))
		case f.is("data"):
			_, name := named(f.list[1:])
			m.data.declare(name)
		case f.is("elem"):
			_, name := named(f.list[1:])
			m.elems.declare(name)
		}
	}
	m.declare(true)
	m.declare(false)
	return m
}

// named cuts an optional $name off.
func named(list []*expr) (rest []*expr, name *expr) {
	if len(list) > 0 && list[0].isName() {
		return list[1:], list[0]
	}
	return list, nil
}

// declare gives indices to imports, or to definitions.
func (m *module) declare(imports bool) {
	for _, f := range m.fields {
		if !f.isList || len(f.list) == 0 {
			fail(f, "expected a field such as (func …)")
		}
		it := item{at: f}
		list := f.list
		if f.is("import") {
			if len(list) != 4 || !list[1].isText || !list[2].isText || !list[3].isList {
				fail(f, `expected (import "module" "name" (func …))`)
			}
			it.isImp, it.module, it.field = true, list[1].text, list[2].text
			list = list[3].list
		}
		if len(list) == 0 || !slices.Contains(kinds(), list[0].atom) {
			m.other(f)
			continue
		}
		it.kind = list[0].atom
		rest, name := named(list[1:])
		index := m.spaces[it.kind].size
		var exports [][]byte
		for len(rest) > 0 && (rest[0].is("export") || rest[0].is("import")) {
			if rest[0].is("import") {
				it.isImp, it.module, it.field = true, rest[0].list[1].text, rest[0].list[2].text
			} else {
				exports = append(exports, exportEntry(rest[0].list[1].text, it.kind, index))
			}
			rest = rest[1:]
		}
		if it.isImp != imports {
			continue
		}
		it.rest = rest
		m.spaces[it.kind].declare(name)
		m.exports = append(m.exports, exports...)
		m.items = append(m.items, it)
	}
}

// other refuses fields that are not known.
func (m *module) other(f *expr) {
	for _, known := range []string{"type", "export", "start", "data", "elem", "@custom"} {
		if f.is(known) {
			return
		}
	}
	fail(f, "unknown field %s", f)
}

func exportEntry(name []byte, kind string, index uint64) []byte {
	return uleb(append(text(name), byte(slices.Index(kinds(), kind))), index)
}

func valType(e *expr) byte {
	t, ok := map[string]byte{
		"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c, "v128": 0x7b, "funcref": 0x70, "externref": 0x6f,
	}[e.atom]
	if !ok {
		fail(e, "unknown type %s", e)
	}
	return t
}

// funcType encodes (param …) (result …).
func (m *module) funcType(list []*expr) []byte {
	var params, results []byte
	for _, e := range list {
		switch {
		case e.is("param"):
			params = append(params, types(e)...)
		case e.is("result"):
			results = append(results, types(e)...)
		default:
			fail(e, "expected (param …) or (result …), found %s", e)
		}
	}
	return slices.Concat([]byte{0x60}, text(params), text(results))
}

// types are those of (param $name? type …), (result …) or (local …).
func types(e *expr) []byte {
	rest, _ := named(e.list[1:])
	var out []byte
	for _, t := range rest {
		out = append(out, valType(t))
	}
	return out
}

// typeUse reads (type $t)? (param …)* (result …)* from the front of a list and
// returns the type's index.
func (m *module) typeUse(list []*expr) (index uint64, signature, rest []*expr) {
	n := 0
	for n < len(list) && (list[n].is("type") || list[n].is("param") || list[n].is("result")) {
		n++
	}
	signature, rest = list[:n], list[n:]
	if n > 0 && list[0].is("type") {
		return m.types.index(list[0].list[1]), signature[1:], rest
	}
	return m.typeIndex(m.funcType(signature)), signature, rest
}

func (m *module) typeIndex(encoded []byte) uint64 {
	at := slices.IndexFunc(m.encoded, func(e []byte) bool { return bytes.Equal(e, encoded) })
	if at < 0 {
		at = len(m.encoded)
		m.encoded = append(m.encoded, encoded)
	}
	return uint64(at)
}
