package meter

import (
	"strconv"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
)

// Subsections of the name section.
const (
	namesOfModule    = 0
	namesOfFunctions = 1
	namesOfLocals    = 2
	namesOfLabels    = 3
)

// Limits of the names in traces, in bytes: the name of one function, that of the module, which
// a runtime writes before the name of each function, and those of all functions. Functions
// beyond the last limit have no names.
const (
	MaxName       = 128
	maxModuleName = 64
	maxNames      = 4 << 20
)

// names returns the name section with the names of the module and of functions only, cut and
// made printable: a trap repeats them for each of its frames, and a runtime keeps them. The
// section is read as strictly as the others.
func (r *rewriter) names(s *wire.Section) []byte {
	const fix = "strip the names, or fix the tool that wrote them"
	in := &reader{data: r.source[:s.Offset+s.Size], pos: s.Offset, section: "name", function: noFunction, fix: fix}
	if r.named {
		in.malformed(s.Offset, "the section appears twice")
	}
	r.named = true
	in.skipName()
	out := appendName(nil, "name")
	last := -1
	for in.left() > 0 {
		at := in.pos
		id := in.byte()
		if int(id) <= last {
			in.malformed(at, "subsection %d appears twice or in the wrong place", id)
		}
		last = int(id)
		size := in.u32()
		start := in.pos
		in.skip(uint64(size))
		sub := &reader{data: in.data[:in.pos], pos: start, section: "name", function: noFunction, fix: fix}
		var payload []byte
		switch id {
		case namesOfModule:
			payload = appendName(nil, plain.Line(sub.name(), maxModuleName))
			sub.end()
		case namesOfFunctions:
			payload = r.functionNames(sub)
		case namesOfLocals, namesOfLabels:
			r.checkLocalNames(sub)
			continue
		default:
			continue
		}
		out = append(out, id)
		out = append(appendU32(out, uint32(len(payload))), payload...)
	}
	return out
}

// WithoutNames returns a module without its name sections, since a runtime would keep all that
// they contain. They do not matter for whether the module is valid.
//
// # Errors
//
// Those of wire.ReadModule.
func WithoutNames(module []byte) ([]byte, error) {
	m, err := wire.ReadModule(module)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(module))
	out = append(out, module[:8]...)
	for i := range m.Sections {
		if s := &m.Sections[i]; s.ID != sectionCustom || s.Name != "name" {
			out = append(appendU32(append(out, s.ID), uint32(s.Size)), module[s.Offset:s.Offset+s.Size]...)
		}
	}
	return out, nil
}

// name reads a name. The result is part of the data.
func (r *reader) name() []byte {
	at := r.pos
	n := r.u32()
	r.skip(uint64(n))
	s := r.data[r.pos-int(n) : r.pos]
	if !utf8.Valid(s) {
		r.malformed(at, "a name is not UTF-8")
	}
	return s
}

func (r *reader) skipName() { r.name() }

// functionNames renumbers a list of functions and their names, and adds those of the helpers.
func (r *rewriter) functionNames(in *reader) []byte {
	n := in.count("names", len(r.typeOf))
	helpers := r.helperFunctions()
	var before, after []byte
	last, kept := -1, 0
	for range n {
		f := in.ascending("function", len(r.typeOf), &last)
		name := plain.Line(in.name(), MaxName)
		if len(before)+len(after)+len(name) > maxNames {
			continue
		}
		kept++
		if f < r.imported {
			before = appendName(appendU32(before, uint32(f)), name)
		} else {
			after = appendName(appendU32(after, uint32(r.renumbered(f))), name)
		}
	}
	in.end()
	out := appendU32(nil, uint32(kept+r.shift+len(helpers)))
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

// checkLocalNames reads a list of functions, each with a list of locals or labels and their names.
func (r *rewriter) checkLocalNames(in *reader) {
	last := -1
	for range in.count("functions", len(r.typeOf)) {
		in.ascending("function", len(r.typeOf), &last)
		for range in.count("names", len(in.data)) {
			in.u32()
			in.skipName()
		}
	}
	in.end()
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
