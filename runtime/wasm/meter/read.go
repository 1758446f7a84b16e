package meter

import (
	"errors"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
)

// The ids of sections.
const (
	sectionCustom byte = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
)

// rewriter is one run of Rewrite. Indices are those of the original module, unless a comment
// says otherwise.
type rewriter struct {
	config       Config
	source       []byte
	module       *wire.Module
	instructions *instructions
	info         Info

	imported int      // functions that the module imports
	shift    int      // function imports that are added after them
	typeOf   []uint32 // the type of each function
	declared []bool   // functions that ref.func in a body may name
	data     []int    // the size of each data segment in bytes
	elements []int    // the number of elements of each element segment
	mutable  int      // mutable globals, added ones included
	locals   int      // of all functions so far
	named    bool     // there was a name section
	priced   []int    // for each imported function the helper that replaces it; 0 if none

	types   typeTable
	globals globalIndices
	helpers helpers

	// Sections of the new module, without id and size.
	elementSection, globalSection, codeSection []byte
}

// read reads all but bodies.
func (r *rewriter) read() {
	if len(r.source) > r.config.Limits.Module {
		panic(&Error{Detail: strconv.Itoa(len(r.source)) + " bytes, at most " + strconv.Itoa(r.config.Limits.Module) + " are allowed"})
	}
	module, err := wire.ReadModule(r.source)
	if err != nil {
		var wrong *wire.ModuleError
		if errors.As(err, &wrong) {
			panic(fromWire(wrong))
		}
		panic(&Error{Detail: err.Error()})
	}
	r.module, r.instructions = module, newInstructions()
	r.checkStructure()
	r.checkImports()
	r.checkExports()
	r.imported = module.Imported(wire.KindFunc)
	if r.config.Omit&PartYield == 0 {
		r.shift = 1
	}
	for i := range module.Imports {
		r.typeOf = append(r.typeOf, module.Imports[i].Type)
	}
	r.typeOf = append(r.typeOf, module.Functions...)
	r.declared = make([]bool, len(r.typeOf))
	for _, e := range module.Exports {
		if e.Kind == wire.KindFunc {
			r.declared[e.Index] = true
		}
	}
	r.types = newTypeTable(module.Types)
	r.setPrices()
	r.setMaxima()
	r.readGlobals()
	r.readElements()
	r.readData()
}

// checkImports refuses memories, tables and globals as imports, and reserved names.
func (r *rewriter) checkImports() {
	at := r.sectionReader(sectionImport)
	for i := range r.module.Imports {
		imp := &r.module.Imports[i]
		name := plain.Quote(imp.Module+"."+imp.Name, MaxName)
		if imp.Kind != wire.KindFunc {
			at.fail(at.pos, "define it in the module: only functions may be imported (ABI-1.2)", "%s %s is imported", imp.Kind, name)
		}
		if imp.Module == ImportModule {
			at.fail(at.pos, "choose another name", "import %s has a reserved name", name)
		}
	}
}

func (r *rewriter) checkExports() {
	at := r.sectionReader(sectionExport)
	for _, e := range r.module.Exports {
		if strings.HasPrefix(e.Name, Prefix) {
			at.fail(at.pos, "choose another name", "export %s has a reserved name", plain.Quote(e.Name, MaxName))
		}
	}
}

// setMaxima gives memory and tables the maxima of Config.
func (r *rewriter) setMaxima() {
	set := func(l *wire.Limits, section byte, what, unit string, most uint32) {
		if l.Min > most {
			at := r.sectionReader(section)
			at.fail(at.pos, "", "the %s begins with %d %s, at most %d are allowed", what, l.Min, unit, most)
		}
		if !l.HasMax || l.Max > most {
			l.HasMax, l.Max = true, most
		}
	}
	for i := range r.module.Memories {
		set(&r.module.Memories[i], sectionMemory, "memory", "pages", r.config.MemoryMaxPages)
		r.info.Memory = r.module.Memories[i]
	}
	r.setTableMaxima()
	r.info.Tables = r.module.Tables
}

// setTableMaxima divides what the tables do not begin with evenly among those that may grow.
func (r *rewriter) setTableMaxima() {
	at, most := r.sectionReader(sectionTable), uint64(r.config.TableMaxElements)
	begin, grow := uint64(0), uint64(0)
	for i := range r.module.Tables {
		l := &r.module.Tables[i].Limits
		if begin += uint64(l.Min); begin > most {
			at.fail(at.pos, "declare smaller tables", "the tables up to number %d begin with %d elements together, at most %d are allowed", i, begin, most)
		}
		if !l.HasMax || l.Max > l.Min {
			grow++
		}
	}
	for i := range r.module.Tables {
		l := &r.module.Tables[i].Limits
		if allowed := uint64(l.Min) + (most-begin)/max(1, grow); !l.HasMax || uint64(l.Max) > allowed {
			l.HasMax, l.Max = true, uint32(allowed)
		}
	}
}

// sectionReader returns a reader of a section's payload; it is empty if there is no such
// section.
func (r *rewriter) sectionReader(id byte) *reader {
	out := &reader{section: wire.SectionName(id), function: noFunction}
	for i := range r.module.Sections {
		if s := &r.module.Sections[i]; s.ID == id {
			out.data, out.pos = r.source[:s.Offset+s.Size], s.Offset
		}
	}
	return out
}

// hasSection reports whether the module has a section, which may be empty.
func (r *rewriter) hasSection(id byte) bool {
	for i := range r.module.Sections {
		if r.module.Sections[i].ID == id {
			return true
		}
	}
	return false
}

// newFunction returns the index, in the new module, of the function that replaces a function
// of the old one.
func (r *rewriter) newFunction(index int) int {
	if index < r.imported && r.priced[index] > 0 {
		return r.priced[index]
	}
	return r.renumbered(index)
}

// renumbered returns the index that a function has in the new module.
func (r *rewriter) renumbered(index int) int {
	if index < r.imported {
		return index
	}
	return index + r.shift
}
