package conformance_test

import (
	"encoding/binary"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// misread is a guest's view of memory that is wrong. It changes memory before a call, and undoes the changes after it.
type misread struct {
	memory []byte
	undo   []func(memory []byte)
}

func (m *misread) u32(at uint32) uint32 { return binary.LittleEndian.Uint32(m.memory[at:]) }

func (m *misread) put(at, value uint32) {
	was := m.u32(at)
	binary.LittleEndian.PutUint32(m.memory[at:], value)
	m.undo = append(m.undo, func(memory []byte) { binary.LittleEndian.PutUint32(memory[at:], was) })
}

// restore undoes the changes, the last one first.
func (m *misread) restore(memory []byte) {
	for _, undo := range slices.Backward(m.undo) {
		undo(memory)
	}
}

// table returns the address of a table's entry, 0 if there is none.
func (m *misread) table(header uint32, id abi.TableID) uint32 {
	for n := range m.u32(header + abi.HeaderTables) {
		if entry := m.u32(header+abi.HeaderDirectory) + n*abi.TableSize; abi.TableID(m.u32(entry+abi.TableEntryID)) == id {
			return entry
		}
	}
	return 0
}

// columns calls f with the address of the entry of each column of spans in a table.
func (m *misread) spans(table uint32, f func(entry uint32)) {
	for j := range m.u32(table + abi.TableColumns) {
		if entry := m.u32(table+abi.TableColumnsAddr) + j*abi.ColumnSize; abi.Type(m.u32(entry+abi.ColumnType)) == abi.TypeSpan {
			f(entry)
		}
	}
}

// ends has each list of a table end where that of the next row begins.
func (m *misread) ends(table uint32) {
	rows := m.u32(table + abi.TableRows)
	m.spans(table, func(entry uint32) {
		at := m.u32(entry + abi.ColumnAddress)
		for i := range rows {
			if i+1 < rows {
				m.put(at+8*i+4, m.u32(at+8*i+8)-m.u32(at+8*i))
			}
		}
	})
}

// arenas has each list be in the column that follows its spans.
func (m *misread) arenas(table uint32) {
	n, first := m.u32(table+abi.TableColumns), m.u32(table+abi.TableColumnsAddr)
	m.spans(table, func(entry uint32) {
		next := min(entry+abi.ColumnSize, first+(n-1)*abi.ColumnSize)
		for j := range n {
			arena := first + j*abi.ColumnSize
			if m.u32(arena) == m.u32(entry)+uint32(abi.ArenaOf) && m.u32(arena+4) == m.u32(entry+4) {
				m.put(arena+abi.ColumnAddress, m.u32(next+abi.ColumnAddress))
			}
		}
	})
}

// flags has each flag of a row be the first one.
func (m *misread) flags(table uint32) {
	for j := range m.u32(table + abi.TableColumns) {
		entry := m.u32(table+abi.TableColumnsAddr) + j*abi.ColumnSize
		if abi.ColumnID(m.u32(entry)) != abi.NodeFlags || abi.Type(m.u32(entry+abi.ColumnType)) != abi.TypeU8 {
			continue
		}
		at, n := m.u32(entry+abi.ColumnAddress), m.u32(entry+abi.ColumnCapacity)
		was := slices.Clone(m.memory[at:][:n])
		for i, flags := range was {
			m.memory[at+uint32(i)] = min(flags, 1)
		}
		m.undo = append(m.undo, func(memory []byte) { copy(memory[at:], was) })
	}
}

// slots has each slot of a pod have 16 bits.
func (m *misread) slots(table uint32) {
	for j := range m.u32(table + abi.TableColumns) {
		entry := m.u32(table+abi.TableColumnsAddr) + j*abi.ColumnSize
		if abi.ColumnID(m.u32(entry)) != abi.NodePods+abi.ArenaOf {
			continue
		}
		for k := range m.u32(entry + abi.ColumnLength) {
			if at := m.u32(entry+abi.ColumnAddress) + 4*k; m.u32(at) > 0xffff {
				m.put(at, m.u32(at)&0xffff)
			}
		}
	}
}

// misreads makes the guest's mistake about memory, if it is one. lo is the first row that the guest takes the call to be about.
func (i *nativeInstance) misreads(memory []byte, call, first uint32) (m *misread, lo uint32) {
	m, lo = &misread{memory: memory}, first
	header := m.u32(call)
	nodes := m.table(header, abi.TableNodes)
	switch {
	case nodes == 0:
	case i.wrong("a list ends where that of the next row begins"):
		m.ends(nodes)
	case i.wrong("a string ends where the next one begins"):
		m.ends(m.table(header, abi.TableStrings))
	case i.wrong("a list is in the column after its spans"):
		m.arenas(nodes)
	case i.wrong("every flag is the first one"):
		m.flags(nodes)
	case i.wrong("nodes that are gone are still there"):
		i.most = max(i.most, m.u32(nodes+abi.TableRows))
		m.put(nodes+abi.TableRows, min(i.most, m.u32(nodes+abi.TableCapacity)))
	case i.wrong("a slot has 16 bits"):
		m.slots(nodes)
	case i.wrong("rows up to the capacity are there"):
		m.put(nodes+abi.TableRows, m.u32(nodes+abi.TableCapacity))
	case i.wrong("the first overlay row is meant") && m.u32(call+abi.CallFlags)&abi.CallOverlayRows != 0:
		lo = m.u32(nodes + abi.TableCapacity)
	case i.wrong("a call has fewer than 1,024 rows") && m.u32(call+abi.CallRowCount) >= 1024:
		panic("no room")
	case i.wrong(mayBe) && m.u32(call+abi.CallRowCount) > 1024 && m.u32(call+abi.CallPoint) != uint32(abi.PreFilter):
		panic("no room")
	}
	return m, lo
}

// mayBe is what a guest of scope node may rely on (ABI-5.4).
const mayBe = "a call has at most 1,024 rows"
