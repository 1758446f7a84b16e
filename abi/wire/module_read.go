package wire

import (
	"slices"
	"strconv"
)

// The ids of sections. sectionOrder has their order in a file.
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
	sectionTag
)

// SectionName returns the name of a section id.
func SectionName(id byte) string {
	names := [...]string{
		"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data",
		"data count", "tag",
	}
	if int(id) >= len(names) {
		return "unknown"
	}
	return names[id]
}

// sectionOrder returns the place of a section in a file; 0 if it is not allowed.
func sectionOrder(id byte) int {
	order := []byte{
		sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport,
		sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
	}
	return slices.Index(order, id) + 1
}

// ReadModule reads the structure of a WebAssembly module (ABI-1.1). It skips the bodies of
// functions, so an accepted module may not compile.
//
// # Errors
//
// The error is a *ModuleError with the offset of the first mistake.
func ReadModule(data []byte) (*Module, error) {
	m := &Module{Size: len(data)}
	last, dataCount := 0, -1
	err := eachSection(data, func(s Section, r *moduleReader) {
		if s.ID == sectionCustom {
			m.addCustom(&s, r)
			m.Sections = append(m.Sections, s)
			return
		}
		m.Sections = append(m.Sections, s)
		order := sectionOrder(s.ID)
		switch {
		case s.ID == sectionTag:
			r.fail(s.Offset, "exceptions are used", "compile without exception handling (ABI-1.1)")
		case order == 0:
			r.fail(s.Offset, "section id "+strconv.Itoa(int(s.ID))+" is unknown", "")
		case order <= last:
			r.fail(s.Offset, "the section is duplicated or in the wrong place", "")
		case s.ID == sectionDataCount:
			dataCount = int(r.u32())
		default:
			m.readSection(s.ID, r)
		}
		last = order
		if r.err == nil && r.left() > 0 {
			r.fail(r.pos, strconv.Itoa(r.left())+" bytes are left over at the end of the section", "")
		}
	})
	if err != nil {
		return nil, err
	}
	if err := m.checkIndices(dataCount); err != nil {
		return nil, err
	}
	return m, nil
}

// eachSection calls visit for each section with a reader of its payload. It stops at the first
// error.
func eachSection(data []byte, visit func(s Section, r *moduleReader)) error {
	r := &moduleReader{data: data}
	switch {
	case len(data) > MaxModuleSize:
		r.fail(0, strconv.Itoa(len(data))+" bytes, at most "+strconv.Itoa(MaxModuleSize)+" are allowed", "")
	case len(data) < 8 || string(data[:4]) != "\x00asm":
		r.fail(0, `this is not a WebAssembly module: it does not begin with "\0asm"`, "name a file that a compiler made for wasm32")
	case string(data[6:8]) == "\x01\x00":
		r.fail(4, "this is a WebAssembly component", "build a core module: the ABI has no component model (ABI-1.1)")
	case string(data[4:8]) != "\x01\x00\x00\x00":
		r.fail(4, "the version of the binary format is not 1", "")
	}
	r.pos = 8
	for r.err == nil && r.left() > 0 {
		at := r.pos
		id := r.byte()
		r.section = SectionName(id)
		size := r.u32()
		start := r.pos
		if uint64(size) > uint64(r.left()) {
			r.fail(at, "the section announces "+strconv.FormatUint(uint64(size), 10)+" bytes, "+strconv.Itoa(r.left())+" are left",
				"the file is cut off or damaged")
		}
		if r.err != nil {
			break
		}
		inner := &moduleReader{data: data[:start+int(size)], pos: start, section: r.section}
		visit(Section{ID: id, Offset: start, Size: int(size)}, inner)
		r.err = inner.err
		r.pos = start + int(size)
		r.section = ""
	}
	return r.err
}

func (m *Module) addCustom(s *Section, r *moduleReader) {
	s.Name = r.name()
	if len(m.Customs) == maxModuleCustoms {
		r.fail(s.Offset, "more than "+strconv.Itoa(maxModuleCustoms)+" custom sections", "")
	}
	if r.err == nil {
		m.Customs = append(m.Customs, Custom{Name: s.Name, Payload: r.data[r.pos:len(r.data):len(r.data)], Offset: s.Offset})
	}
}

func (m *Module) readSection(id byte, r *moduleReader) {
	switch id {
	case sectionType:
		for range r.count("types", maxModuleTypes) {
			m.Types = append(m.Types, r.funcType())
		}
	case sectionImport:
		for range r.count("imports", maxModuleImports) {
			m.Imports = append(m.Imports, r.importEntry())
		}
	case sectionFunction:
		for range r.count("functions", maxModuleFuncs) {
			m.Functions = append(m.Functions, r.u32())
		}
	case sectionTable:
		for range r.count("tables", maxModuleTables) {
			m.Tables = append(m.Tables, r.table())
		}
	case sectionMemory:
		for range r.count("memories", maxModuleMemories) {
			m.Memories = append(m.Memories, r.memory())
		}
	case sectionGlobal:
		for range r.count("globals", maxModuleGlobals) {
			m.Globals = append(m.Globals, r.global())
			r.skipConst()
		}
	case sectionExport:
		for range r.count("exports", maxModuleExports) {
			m.Exports = append(m.Exports, r.exportEntry())
		}
	case sectionStart:
		start := r.u32()
		m.Start = &start
	case sectionElement:
		m.Elements = r.count("element segments", maxModuleSegments)
		r.pos = len(r.data)
	case sectionData:
		m.Data = r.count("data segments", maxModuleSegments)
		r.pos = len(r.data)
	case sectionCode:
		m.Code = r.count("function bodies", maxModuleFuncs)
		for range m.Code {
			size := r.u32()
			r.take(size)
			m.CodeSize += int(size)
		}
	}
}

func (r *moduleReader) funcType() FuncType {
	at := r.pos
	if form := r.byte(); r.err == nil && form != 0x60 {
		r.fail(at, "type form 0x"+strconv.FormatInt(int64(form), 16)+" is not a function",
			"compile for WebAssembly 2.0 without garbage collection (ABI-1.1)")
	}
	return FuncType{Params: r.valTypes("parameters"), Results: r.valTypes("results")}
}

func (r *moduleReader) valTypes(what string) []ValType {
	n := r.count(what, maxModuleParams)
	if n == 0 {
		return nil
	}
	out := make([]ValType, n)
	for i := range out {
		out[i] = r.valType()
	}
	return out
}

func (r *moduleReader) importEntry() Import {
	i := Import{Module: r.name(), Name: r.name()}
	at := r.pos
	i.Kind = Kind(r.byte())
	switch i.Kind {
	case KindFunc:
		i.Type = r.u32()
	case KindTable:
		i.Table = r.table()
	case KindMemory:
		i.Memory = r.memory()
	case KindGlobal:
		i.Global = r.global()
	default:
		r.fail(at, "an import is of unknown kind "+strconv.Itoa(int(i.Kind)), "compile without exception handling (ABI-1.1)")
	}
	return i
}

func (r *moduleReader) exportEntry() Export {
	e := Export{Name: r.name()}
	at := r.pos
	if e.Kind = Kind(r.byte()); e.Kind > KindGlobal {
		r.fail(at, "export "+quoted(e.Name)+" is of unknown kind "+strconv.Itoa(int(e.Kind)), "compile without exception handling (ABI-1.1)")
	}
	e.Index = r.u32()
	return e
}
