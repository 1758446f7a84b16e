package wat

import "slices"

// body encodes the instructions of a function.
type body struct {
	m      *module
	locals *space
	labels []string // innermost last
	out    []byte
}

// body encodes locals and instructions of a function.
func (m *module) body(typeIndex uint64, signature, rest []*expr) []byte {
	b := &body{m: m, locals: newSpace()}
	if len(signature) == 0 && typeIndex < uint64(len(m.encoded)) { // (type $t) alone: parameters have no names
		for range m.encoded[typeIndex][1] {
			b.locals.declare(nil)
		}
	}
	declare := func(e *expr) {
		names, name := named(e.list[1:])
		for range names {
			b.locals.declare(name)
			name = nil
		}
	}
	for _, e := range signature {
		if e.is("param") {
			declare(e)
		}
	}
	var locals [][]byte
	for len(rest) > 0 && rest[0].is("local") {
		declare(rest[0])
		for _, t := range types(rest[0]) {
			locals = append(locals, []byte{1, t})
		}
		rest = rest[1:]
	}
	b.out = append(uleb(nil, uint64(len(locals))), slices.Concat(locals...)...)
	b.all(rest)
	return append(b.out, 0x0b)
}

// all encodes a sequence of flat and folded instructions.
func (b *body) all(list []*expr) {
	for len(list) > 0 {
		if list[0].isList {
			b.folded(list[0])
			list = list[1:]
			continue
		}
		list = b.plain(list)
	}
}

func (b *body) folded(e *expr) {
	if len(e.list) == 0 || !e.list[0].isAtom() {
		fail(e, "expected an instruction, found %s", e)
	}
	op, rest := e.list[0], e.list[1:]
	switch op.atom {
	case "block", "loop":
		b.all(b.open(op, rest))
		b.close()
	case "if":
		b.foldedIf(e, rest)
	default:
		n := b.immediates(op.atom, rest)
		b.all(rest[n:])
		if left := b.plain(e.list[:n+1]); len(left) > 0 {
			fail(left[0], "%s is too much for %s", left[0], op.atom)
		}
	}
}

func (b *body) foldedIf(e *expr, rest []*expr) {
	n := 0
	for n < len(rest) && (rest[n].isName() || rest[n].is("type") || rest[n].is("param") || rest[n].is("result")) {
		n++
	}
	head, rest := rest[:n], rest[n:]
	at := slices.IndexFunc(rest, func(e *expr) bool { return e.is("then") })
	if at < 0 {
		fail(e, "expected (then …)")
	}
	b.all(rest[:at])
	b.open(e.list[0], head)
	b.all(rest[at].list[1:])
	if rest = rest[at+1:]; len(rest) > 0 {
		if !rest[0].is("else") || len(rest) > 1 {
			fail(rest[0], "expected (else …) and no more")
		}
		b.out = append(b.out, 0x05)
		b.all(rest[0].list[1:])
	}
	b.close()
}

// open begins a block, with its label and type, and returns what follows.
func (b *body) open(op *expr, list []*expr) []*expr {
	rest, name := named(list)
	label := ""
	if name != nil {
		label = name.atom
	}
	b.labels = append(b.labels, label)
	b.out = append(b.out, map[string]byte{"block": 0x02, "loop": 0x03, "if": 0x04}[op.atom])
	n := 0
	for n < len(rest) && (rest[n].is("type") || rest[n].is("param") || rest[n].is("result")) {
		n++
	}
	switch {
	case n == 0:
		b.out = append(b.out, 0x40)
	case n == 1 && rest[0].is("result") && len(rest[0].list) == 2:
		b.out = append(b.out, valType(rest[0].list[1]))
	default:
		index, _, _ := b.m.typeUse(rest[:n])
		b.out = sleb(b.out, int64(index))
	}
	return rest[n:]
}

func (b *body) close() {
	b.labels = b.labels[:len(b.labels)-1]
	b.out = append(b.out, 0x0b)
}

func (b *body) label(e *expr) uint64 {
	if !e.isName() {
		return unsigned(e)
	}
	for i := range b.labels {
		if b.labels[len(b.labels)-1-i] == e.atom {
			return uint64(i)
		}
	}
	fail(e, "label %s is not defined", e.atom)
	return 0
}

// plain encodes the instruction at the front of list with its immediates and
// returns what follows.
func (b *body) plain(list []*expr) []*expr {
	op, rest := list[0], list[1:]
	switch op.atom {
	case "block", "loop", "if":
		return b.open(op, rest)
	case "else":
		b.out = append(b.out, 0x05)
		return rest
	case "end":
		if len(b.labels) == 0 {
			fail(op, "end without a block")
		}
		b.close()
		return rest
	}
	code, ok := b.m.ops[op.atom]
	if !ok {
		fail(op, "unknown instruction %s", op)
	}
	n := b.immediates(op.atom, rest)
	b.out = append(b.out, code.bytes...)
	b.encode(op, code, rest[:n])
	return rest[n:]
}
