package wire

import (
	"strconv"

	"github.com/berth-scheduler/berth/internal/plain"
)

// checkIndices compares counts and indices of different sections. dataCount is −1 without
// such a section.
func (m *Module) checkIndices(dataCount int) error {
	r := &moduleReader{}
	at := func(id byte) int { // of the section, for the message
		for _, s := range m.Sections {
			if s.ID == id {
				r.section = SectionName(id)
				return s.Offset
			}
		}
		return 0
	}
	if len(m.Functions) != m.Code {
		r.fail(at(sectionFunction), strconv.Itoa(len(m.Functions))+" functions are declared, but "+strconv.Itoa(m.Code)+" have a body", "")
	}
	if dataCount >= 0 && dataCount != m.Data {
		r.fail(at(sectionDataCount), strconv.Itoa(dataCount)+" data segments are announced, but "+strconv.Itoa(m.Data)+" exist", "")
	}
	for i := range m.Imports {
		if imp := &m.Imports[i]; imp.Kind == KindFunc && uint64(imp.Type) >= uint64(len(m.Types)) {
			r.fail(at(sectionImport), "import "+quoted(imp.Module+"."+imp.Name)+" has an unknown type", "")
		}
	}
	for i, t := range m.Functions {
		if uint64(t) >= uint64(len(m.Types)) {
			r.fail(at(sectionFunction), "function "+strconv.Itoa(i)+" has an unknown type", "")
			break
		}
	}
	m.checkExports(r, at(sectionExport))
	if m.Start != nil {
		if t, ok := m.FuncType(*m.Start); !ok || len(t.Params) > 0 || len(t.Results) > 0 {
			r.fail(at(sectionStart), "the start function does not exist, or is not () → ()", "")
		}
	}
	return r.err
}

func (m *Module) checkExports(r *moduleReader, at int) {
	counts := [...]int{
		KindFunc: len(m.Functions), KindTable: len(m.Tables), KindMemory: len(m.Memories), KindGlobal: len(m.Globals),
	}
	for i := range m.Imports {
		counts[m.Imports[i].Kind]++
	}
	seen := make(map[string]bool, len(m.Exports))
	for _, e := range m.Exports {
		if seen[e.Name] {
			r.fail(at, "export "+quoted(e.Name)+" appears twice", "")
		}
		seen[e.Name] = true
		if uint64(e.Index) >= uint64(counts[e.Kind]) {
			r.fail(at, "export "+quoted(e.Name)+" is "+e.Kind.String()+" "+strconv.FormatUint(uint64(e.Index), 10)+
				", but there are "+strconv.Itoa(counts[e.Kind]), "")
		}
	}
}

// maxQuoted is the maximum size of a name in a message, in bytes.
const maxQuoted = 256

// quoted formats a name from a file so that it is safe for a terminal.
func quoted(s string) string { return plain.Quote(s, maxQuoted) }
