package meter

import (
	"strconv"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Subsections of the name section that are by function.
const (
	namesOfFunctions = 1
	namesOfLocals    = 2
	namesOfLabels    = 3
)

// names returns the name section with functions renumbered, and with the names of
// what was added. The section is read as strictly as the others: wazero allocates
// as many names as it announces.
func (r *rewriter) names(s *wire.Section) []byte {
	const fix = "strip the names, or mend what wrote them"
	in := &reader{data: r.source[:s.Offset+s.Size], pos: s.Offset, section: "name", function: noFunction, fix: fix}
	if r.named {
		in.malformed(s.Offset, "the section is there twice")
	}
	r.named = true
	out := appendName(nil, in.name())
	last := -1
	for in.left() > 0 {
		at := in.pos
		id := in.byte()
		if int(id) <= last {
			in.malformed(at, "subsection %d is there twice or in the wrong place", id)
		}
		last = int(id)
		size := in.u32()
		start := in.pos
		in.skip(uint64(size))
		sub := &reader{data: in.data[:in.pos], pos: start, section: "name", function: noFunction, fix: fix}
		var payload []byte
		switch id {
		case namesOfFunctions:
			payload = r.functionNames(sub)
		case namesOfLocals, namesOfLabels:
			payload = r.localNames(sub)
		default:
			if id == 0 {
				sub.name()
				sub.end()
			}
			payload = in.data[start:in.pos]
		}
		out = append(out, id)
		out = append(appendU32(out, uint32(len(payload))), payload...)
	}
	return out
}

// name reads a name.
func (r *reader) name() string {
	at := r.pos
	n := r.u32()
	r.skip(uint64(n))
	s := r.data[r.pos-int(n) : r.pos]
	if !utf8.Valid(s) {
		r.malformed(at, "a name is not UTF-8")
	}
	return string(s)
}

// functionNames renumbers a list of functions and their names, and adds ours.
func (r *rewriter) functionNames(in *reader) []byte {
	n := in.count("names", len(r.typeOf))
	helpers := r.helperFunctions()
	var before, after []byte
	last := -1
	for range n {
		f := in.ascending("function", len(r.typeOf), &last)
		name := in.name()
		if f < r.imported {
			before = appendName(appendU32(before, uint32(f)), name)
		} else {
			after = appendName(appendU32(after, uint32(r.renumbered(f))), name)
		}
	}
	in.end()
	out := appendU32(nil, uint32(n+r.shift+len(helpers)))
	out = append(out, before...)
	if r.shift > 0 {
		out = appendName(appendU32(out, uint32(r.imported)), Prefix+YieldImport)
	}
	out = append(out, after...)
	for i, h := range helpers {
		out = appendName(appendU32(out, uint32(r.helpers.first+i)), Prefix+h.name)
	}
	return out
}

// localNames renumbers the functions of a list of functions, each with a list of
// locals or labels and their names.
func (r *rewriter) localNames(in *reader) []byte {
	n := in.count("functions", len(r.typeOf))
	out := appendU32(nil, uint32(n))
	last := -1
	for range n {
		out = appendU32(out, uint32(r.renumbered(in.ascending("function", len(r.typeOf), &last))))
		start := in.pos
		for range in.count("names", len(in.data)) {
			in.u32()
			in.name()
		}
		out = append(out, in.data[start:in.pos]...)
	}
	in.end()
	return out
}

// ascending reads an index that is greater than last.
func (r *reader) ascending(what string, n int, last *int) int {
	at := r.pos
	i := r.index(what, n)
	if i <= *last {
		r.malformed(at, "%s %s is named twice or in the wrong place", what, strconv.Itoa(i))
	}
	*last = i
	return i
}
