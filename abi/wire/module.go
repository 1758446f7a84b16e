package wire

import (
	"slices"
	"strconv"
	"strings"
)

// Limits of what ReadModule accepts. Every count is also compared with the remaining bytes, so
// that a small hostile file cannot cause large allocations.
const (
	MaxModuleSize     = 64 << 20 // bytes
	maxModuleTypes    = 100_000
	maxModuleImports  = 10_000
	maxModuleFuncs    = 1_000_000
	maxModuleTables   = 1_000
	maxModuleMemories = 16
	maxModuleGlobals  = 100_000
	maxModuleExports  = 10_000
	maxModuleCustoms  = 1_000
	maxModuleSegments = 1_000_000
	maxModuleParams   = 1_000
	maxModuleName     = 4_096 // bytes
	maxMemoryPages    = 65_536
)

// Module is the structure of a core WebAssembly module, without the bodies of its functions and
// the contents of its segments, which ReadModule skips. Payloads are slices of the input.
type Module struct {
	// Size is the size of the file in bytes.
	Size int
	// Sections are in file order.
	Sections []Section
	Types    []FuncType
	Imports  []Import
	// Functions has the type index of each function that the module defines; imported functions
	// come first in the function index space.
	Functions []uint32
	Tables    []Table
	Memories  []Limits
	Globals   []Global
	Exports   []Export
	// Start is the function of the start section, nil if there is none.
	Start *uint32
	// Elements and Data count segments; Code counts bodies, CodeSize their bytes.
	Elements, Data, Code, CodeSize int
	// Customs are the custom sections in file order.
	Customs []Custom
}

// Section is where a section is: its payload has Size bytes at Offset.
type Section struct {
	ID           byte
	Offset, Size int
	// Name is the name of a custom section.
	Name string
}

// Custom is a custom section.
type Custom struct {
	Name    string
	Payload []byte
	Offset  int
}

// ValType is a value type in its binary form.
type ValType byte

// The value types.
const (
	ValI32       ValType = 0x7f
	ValI64       ValType = 0x7e
	ValF32       ValType = 0x7d
	ValF64       ValType = 0x7c
	ValV128      ValType = 0x7b
	ValFuncref   ValType = 0x70
	ValExternref ValType = 0x6f
)

// String returns the type's name in the text format.
func (v ValType) String() string {
	switch v {
	case ValI32:
		return "i32"
	case ValI64:
		return "i64"
	case ValF32:
		return "f32"
	case ValF64:
		return "f64"
	case ValV128:
		return "v128"
	case ValFuncref:
		return "funcref"
	case ValExternref:
		return "externref"
	}
	return "unknown"
}

// FuncType is the signature of a function.
type FuncType struct{ Params, Results []ValType }

// String returns the signature in the form of SPEC.md: "(i32, i32) → i32". Of parameters and of
// results it names the first 16.
func (t FuncType) String() string {
	out := "(" + valTypes(t.Params) + ") → "
	if len(t.Results) == 1 {
		return out + t.Results[0].String()
	}
	return out + "(" + valTypes(t.Results) + ")"
}

// Equal reports whether two signatures are the same.
func (t FuncType) Equal(other FuncType) bool {
	return slices.Equal(t.Params, other.Params) && slices.Equal(t.Results, other.Results)
}

// mostValTypes is how many types of a list are named.
const mostValTypes = 16

func valTypes(types []ValType) string {
	var out strings.Builder
	for i, t := range types[:min(len(types), mostValTypes)] {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(t.String())
	}
	if more := len(types) - mostValTypes; more > 0 {
		out.WriteString(" and " + strconv.Itoa(more) + " more")
	}
	return out.String()
}

// Kind is what an import or an export is.
type Kind byte

// The kinds.
const (
	KindFunc Kind = iota
	KindTable
	KindMemory
	KindGlobal
)

// String returns "function", "table", "memory" or "global".
func (k Kind) String() string {
	switch k {
	case KindFunc:
		return "function"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	case KindGlobal:
		return "global"
	}
	return "unknown"
}

// Limits are sizes in pages of 64 KiB (memories) or elements (tables).
type Limits struct {
	Min, Max uint32
	// HasMax is false if the module declares no maximum.
	HasMax bool
}

// Table is a table's type.
type Table struct {
	Elem ValType
	Limits
}

// Global is a global's type.
type Global struct {
	Type    ValType
	Mutable bool
}

// Import is an import; the field for its Kind is set.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         uint32 // of a function
	Table        Table
	Memory       Limits
	Global       Global
}

// Export is an export; Index is in the index space of its kind.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Imported counts the imports of a kind.
func (m *Module) Imported(kind Kind) int {
	n := 0
	for i := range m.Imports {
		if m.Imports[i].Kind == kind {
			n++
		}
	}
	return n
}

// FuncType returns the signature of a function by its index in the function index space, which
// begins with the imported functions.
func (m *Module) FuncType(function uint32) (FuncType, bool) {
	left := function
	for i := range m.Imports {
		if m.Imports[i].Kind != KindFunc {
			continue
		}
		if left == 0 {
			return m.typeOf(m.Imports[i].Type)
		}
		left--
	}
	if uint64(left) >= uint64(len(m.Functions)) {
		return FuncType{}, false
	}
	return m.typeOf(m.Functions[left])
}

func (m *Module) typeOf(index uint32) (FuncType, bool) {
	if uint64(index) >= uint64(len(m.Types)) {
		return FuncType{}, false
	}
	return m.Types[index], true
}

// Export returns the export with a name.
func (m *Module) Export(name string) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// Custom returns the payloads of the custom sections with a name.
func (m *Module) Custom(name string) [][]byte {
	var out [][]byte
	for _, c := range m.Customs {
		if c.Name == name {
			out = append(out, c.Payload)
		}
	}
	return out
}
