package meter

import "github.com/berth-scheduler/berth/abi/wire"

// Limits bound the structure of a module, and with it the time and memory of reading,
// rewriting and compiling it. Zero values stand for those of DefaultLimits.
type Limits struct {
	// In bytes: Module is the size of the module, Body that of a function's code, Customs
	// that of all custom sections.
	Module, Body, Customs int
	// Types, Imports, Exports, Functions, Globals, Tables, Elements and Datas are how
	// many there may be of each; Elements and Datas count segments, Functions those
	// that the module defines.
	Types, Imports, Exports, Functions, Globals, Tables, Elements, Datas int
	// Declarations is the maximum of functions × globals: compilers declare each global in
	// each function, used or not.
	Declarations int
	// References is how many elements all element segments may have.
	References int
	// Values is how many parameters, and how many results, a type may have, and AllValues
	// how many all types together: a runtime takes up to 550 bytes for each.
	Values, AllValues int
	// Locals is how many locals a function may have, parameters included, and AllLocals
	// how many all functions together.
	Locals, AllLocals int
	// Operands is how high the operand stack of a function may get, in values.
	Operands int
	// Nesting is how deep blocks may be nested.
	Nesting int
	// Blocks is how many places a rewritten function may have where control flow splits or
	// meets: blocks, loops, ifs, branches, checks. The time of compilers grows with its
	// square.
	Blocks int
	// Merges is the maximum of Blocks × locals of a function, and Moves how many locals may
	// be assigned on all paths that meet others: compilers may need a value for each.
	Merges, Moves int
	// Targets is how many labels a br_table may have, and AllTargets how many all of a
	// function together.
	Targets, AllTargets int
	// Reloads is the maximum of a function's calls × mutable globals: a compiler may read
	// each of them again after a call.
	Reloads int
}

// DefaultLimits returns limits with room for what compilers of C, Rust, AssemblyScript and Go
// produce. With them, compiling a hostile module takes seconds and not minutes.
func DefaultLimits() Limits {
	return Limits{
		Module: 32 << 20, Body: 1 << 20, Customs: 16 << 20,
		Types: 10_000, Imports: 1_000, Exports: 10_000, Functions: 100_000, Globals: 4_096, Tables: 16,
		Elements: 10_000, Datas: 100_000, Declarations: 1 << 23, References: 250_000,
		Values: 255, AllValues: 30_000, Locals: 1_024, AllLocals: 2_000_000, Operands: 4_096, Nesting: 8_192, Blocks: 8_192,
		Merges: 1 << 20, Moves: 1 << 18, Targets: 16_384, AllTargets: 65_536, Reloads: 1 << 20,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct {
		v *int
		d int
	}{
		{&l.Module, d.Module}, {&l.Body, d.Body}, {&l.Customs, d.Customs},
		{&l.Types, d.Types}, {&l.Imports, d.Imports}, {&l.Exports, d.Exports}, {&l.Functions, d.Functions},
		{&l.Globals, d.Globals}, {&l.Tables, d.Tables}, {&l.Elements, d.Elements}, {&l.Datas, d.Datas},
		{&l.Declarations, d.Declarations}, {&l.References, d.References}, {&l.Values, d.Values}, {&l.AllValues, d.AllValues}, {&l.Locals, d.Locals}, {&l.AllLocals, d.AllLocals},
		{&l.Operands, d.Operands}, {&l.Nesting, d.Nesting}, {&l.Blocks, d.Blocks}, {&l.Merges, d.Merges}, {&l.Moves, d.Moves}, {&l.Targets, d.Targets},
		{&l.AllTargets, d.AllTargets}, {&l.Reloads, d.Reloads},
	} {
		if *f.v == 0 {
			*f.v = f.d
		}
	}
	return l
}

// checkStructure compares the counts of a module with the limits.
func (r *rewriter) checkStructure() {
	l, m := &r.config.Limits, r.module
	at := r.sectionReader(sectionType)
	at.limit(at.pos, len(m.Types), l.Types, "types")
	values := 0
	for i := range m.Types {
		at.limit(at.pos, len(m.Types[i].Params), l.Values, "parameters in a type")
		at.limit(at.pos, len(m.Types[i].Results), l.Values, "results in a type")
		values += len(m.Types[i].Params) + len(m.Types[i].Results)
		at.limit(at.pos, values, l.AllValues, "parameters and results in all types")
	}
	for _, c := range []struct {
		section   byte
		got, most int
		what      string
	}{
		{sectionImport, len(m.Imports), l.Imports, "imports"},
		{sectionFunction, len(m.Functions), l.Functions, "functions"},
		{sectionTable, len(m.Tables), l.Tables, "tables"},
		{sectionMemory, len(m.Memories), 1, "memories"},
		{sectionGlobal, len(m.Globals), l.Globals, "globals"},
		{sectionGlobal, len(m.Functions) * len(m.Globals), l.Declarations, "functions times globals"},
		{sectionExport, len(m.Exports), l.Exports, "exports"},
		{sectionElement, m.Elements, l.Elements, "element segments"},
		{sectionData, m.Data, l.Datas, "data segments"},
	} {
		at := r.sectionReader(c.section)
		at.limit(at.pos, c.got, c.most, c.what)
	}
	customs := 0
	for i := range m.Sections {
		if s := &m.Sections[i]; s.ID == sectionCustom {
			customs += s.Size
			at := reader{section: wire.SectionName(s.ID), function: noFunction}
			at.limit(s.Offset, customs, l.Customs, "bytes of custom sections")
		}
	}
}
