package image

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/internal/region"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Rooms collects how much must fit into a region, and lays it out.
type Rooms struct {
	// Spare is added to each capacity. Gaps is added to those of tables that have empty rows in
	// some numberings.
	Spare, Gaps uint32
	// Others is added to the capacities of tables other than nodes: the header stays where it is.
	Others uint32
	// Moves is how far parts can be from their places (see Moved).
	Moves uint32
	// Patches is how many bytes of text guests may write to pods. The strings table must have
	// room for them.
	Patches uint32
	// Unknown adds tables, columns and types that no version has (ABI-4.5), and a newer minor
	// version. Directories are in the other order, and spans of no elements begin anywhere.
	Unknown bool
	// Stale has stale data in rows that are not there.
	Stale bool
	// Overlays is the maximum number of overlay rows.
	Overlays uint32
	// Batch is the maximum number of pods in a call. Keys is true if calls return keys.
	Batch uint32
	Keys  bool

	tables []roomTable
	pod    int
	batch  int
}

type roomTable struct {
	id      abi.TableID
	rows    uint32
	columns []roomColumn
}

type roomColumn struct {
	region.Column
	elements uint32 // of an arena
}

// Fit makes room for tables. All contents of a region have the same columns.
func (r *Rooms) Fit(c *Content) {
	for i := range c.Tables {
		t := &c.Tables[i]
		room := r.table(t.ID)
		room.rows = max(room.rows, t.Rows)
		if t.ID == abi.TableNodes {
			r.Overlays = max(r.Overlays, t.Overlays)
		}
		for j := range t.Columns {
			column := t.Columns[j]
			if len(room.columns) <= j {
				room.columns = append(room.columns, roomColumn{Column: column})
			}
			if column.Arena {
				room.columns[j].elements = max(room.columns[j].elements, column.Len())
			}
		}
	}
}

// FitRecord makes room for a pod record.
func (r *Rooms) FitRecord(record []byte) { r.pod = max(r.pod, len(record)) }

// FitBatch makes room for the records of a call about many pods.
func (r *Rooms) FitBatch(records ...[]byte) {
	sum := 0
	for _, record := range records {
		sum += (len(record) + 7) &^ 7
	}
	r.batch = max(r.batch, sum)
	r.Batch = max(r.Batch, uint32(len(records)))
}

func (r *Rooms) table(id abi.TableID) *roomTable {
	for i := range r.tables {
		if r.tables[i].id == id {
			return &r.tables[i]
		}
	}
	r.tables = append(r.tables, roomTable{id: id})
	return &r.tables[len(r.tables)-1]
}

// Ids that no version has.
const (
	unknownTable      abi.TableID  = 0x1ffffff1 // no index of an array
	unknownColumn     abi.ColumnID = 120
	unknownTypeColumn abi.ColumnID = 121
	unknownType                    = 99
	unknownMinor                   = 9
)

// Image is a layout to write contents into.
type Image struct {
	*wire.Layout
	rooms *Rooms
}

// Layout computes the layout.
func (r *Rooms) Layout() (*Image, error) {
	spec := wire.LayoutSpec{PodRoom: uint32(r.pod) + r.Spare + 8*abi.MaxDirectives, Batch: r.Batch, RecordRoom: uint32(r.batch) + 1024, Keys: r.Keys}
	for _, room := range r.tables {
		t := wire.TableSpec{ID: room.id, Capacity: room.rows + r.Spare}
		if room.id == abi.TablePods || room.id == abi.TableNamespaces {
			t.Capacity += r.Gaps
		}
		if room.id == abi.TableNodes {
			t.Overlays = r.Overlays
		} else {
			t.Capacity += r.Others
		}
		if r.Unknown {
			t.Columns = append(t.Columns, wire.ColumnSpec{ID: unknownColumn, Arg: 3, Type: abi.TypeU32}, wire.ColumnSpec{ID: unknownTypeColumn, Type: abi.TypeI64})
		}
		if room.id == abi.TableStrings && r.Patches > 0 {
			t.Capacity += 2 * abi.MaxDirectives
		}
		for _, c := range room.columns {
			column := wire.ColumnSpec{ID: c.ID, Arg: c.Arg, Type: c.Type}
			if c.Arena {
				column.Capacity = max(1, c.elements+r.Spare)
			}
			if c.ID == abi.StringBytes+abi.ArenaOf {
				column.Capacity += r.Patches
			}
			t.Columns = append(t.Columns, column)
		}
		spec.Tables = append(spec.Tables, t)
		if r.Unknown && len(spec.Tables) == 1 {
			spec.Tables = append(spec.Tables, wire.TableSpec{
				ID: unknownTable, Capacity: 4, Columns: []wire.ColumnSpec{{ID: 1, Type: abi.TypeU32}, {ID: unknownColumn, Type: abi.TypeU8}},
			})
		}
	}
	l, err := wire.NewLayout(spec)
	if err != nil {
		return nil, err
	}
	if r.Unknown {
		backwards(l)
	}
	apart(l, r.Moves)
	return &Image{l, r}, nil
}

// movable are the parts of a region that are no directories or columns, in their order: those before the header, the header,
// and those after it.
func movable(l *wire.Layout) [][]*uint32 {
	return [][]*uint32{
		{&l.Call, &l.Codes, &l.Reasons, &l.Scores, &l.Keys, &l.RowSet, &l.Pod}, {&l.Header}, {&l.PodList, &l.Queue, &l.Event, &l.Records},
	}
}

// apart makes room after each group of parts for them to move.
func apart(l *wire.Layout, moves uint32) {
	room := uint32(0)
	for _, group := range movable(l) {
		for _, part := range group {
			*part += room
		}
		room += moves * uint32(len(group)) * abi.RegionAlign
	}
	for i := range l.Tables {
		l.Tables[i].Entry += room
		for j := range l.Tables[i].Columns {
			l.Tables[i].Columns[j].Entry += room
			l.Tables[i].Columns[j].Data += room
		}
	}
	l.Size += room
}

// Moved returns the layout with the header so many places elsewhere, and all else by n places that is not a directory or a
// column: a call record says where it is (ABI-3.1), and layout is not about it (ABI-4.1).
func (im *Image) Moved(n, header uint32) *Image {
	l := *im.Layout
	for g, group := range movable(&l) {
		for i, part := range group {
			if by := n * uint32(i+1); g != 1 {
				*part += by * abi.RegionAlign
			}
		}
	}
	l.Header += header * abi.RegionAlign
	return &Image{&l, im.rooms}
}

// backwards puts directories in the other order. Only ids say what an entry is about (ABI-4.2, 4.3).
func backwards(l *wire.Layout) {
	for i, j := 0, len(l.Tables)-1; i < j; i, j = i+1, j-1 {
		l.Tables[i].Entry, l.Tables[j].Entry = l.Tables[j].Entry, l.Tables[i].Entry
	}
	for k := range l.Tables {
		columns := l.Tables[k].Columns
		for i, j := 0, len(columns)-1; i < j; i, j = i+1, j-1 {
			columns[i].Entry, columns[j].Entry = columns[j].Entry, columns[i].Entry
		}
	}
}

// directories writes the header and the directories, and where the latter begin in any order.
func (im *Image) directories(mem []byte, base uint32) {
	im.WriteDirectories(mem, base)
	first := im.Tables[0].Entry
	for i := range im.Tables {
		t := &im.Tables[i]
		first = min(first, t.Entry)
		if n := len(t.Columns); n > 0 {
			binary.LittleEndian.PutUint32(mem[t.Entry+abi.TableColumnsAddr:], base+min(t.Columns[0].Entry, t.Columns[n-1].Entry))
		}
	}
	binary.LittleEndian.PutUint32(mem[im.Header+abi.HeaderDirectory:], base+first)
}

// Write writes header, directories and tables to a region that begins at address base; mem is
// the region's bytes. Unused space gets stale data: copies of other rows (ABI-4.8).
func (im *Image) Write(mem []byte, base uint32, c *Content, cycle wire.Cycle) error {
	im.directories(mem, base)
	if im.rooms.Unknown {
		binary.LittleEndian.PutUint16(mem[im.Header+abi.HeaderMinor:], unknownMinor)
	}
	im.SetCycle(mem, cycle)
	for i := range im.Tables {
		t := &im.Tables[i]
		content := c.table(t.ID)
		if content == nil {
			im.SetRows(mem, i, min(t.Capacity, 2)) // unknown
			continue
		}
		if content.Rows > t.Capacity || content.Overlays > t.Overlays {
			return fmt.Errorf("image: table %d has room for %d rows and %d overlay rows, not for %d and %d", t.ID, t.Capacity, t.Overlays, content.Rows, content.Overlays)
		}
		im.SetRows(mem, i, content.Rows)
		binary.LittleEndian.PutUint32(mem[t.Entry+abi.TableBase:], content.Base)
		if err := im.columns(mem, t, content); err != nil {
			return err
		}
	}
	return nil
}

func (im *Image) columns(mem []byte, t *wire.TableLayout, content *region.Table) error {
	next := 0
	for j := range t.Columns {
		to := &t.Columns[j]
		size := uint32(to.Type.Size())
		room := mem[to.Data : to.Data+to.Elements*size]
		if to.ID == unknownColumn || to.ID == unknownTypeColumn {
			for k := range room {
				room[k] = 0x5a
			}
			if to.ID == unknownTypeColumn {
				binary.LittleEndian.PutUint32(mem[to.Entry+abi.ColumnType:], unknownType)
			}
			continue
		}
		column := &content.Columns[next]
		next++
		n := column.Len()
		if n > to.Elements {
			return fmt.Errorf("image: column %d of table %d has room for %d elements, not for %d", to.ID, t.ID, to.Elements, n)
		}
		clear(room)
		if column.Arena {
			copy(room, column.Data)
			im.SetLength(mem, to, n)
			for k := n * size; n > 0 && k < uint32(len(room)); k++ {
				room[k] = room[k-n*size]
			}
			continue
		}
		rows, overlays := column.Data[:content.Rows*size], column.Data[content.Rows*size:]
		if copy(room, rows); im.rooms.Stale && len(rows) > 0 {
			for k := len(rows); k < len(room); k++ { // rows that are not there, and overlay rows that no call names
				room[k] = room[k-len(rows)]
			}
		}
		copy(room[t.Capacity*size:], overlays)
		if im.rooms.Unknown && to.Type == abi.TypeSpan {
			anywhere(room)
		}
	}
	return nil
}

// anywhere has spans of no elements begin where nothing is (ABI-4.8).
func anywhere(spans []byte) {
	for ; len(spans) > 0; spans = spans[8:] {
		if binary.LittleEndian.Uint32(spans[4:]) == 0 {
			binary.LittleEndian.PutUint32(spans, math.MaxUint32)
		}
	}
}

func (c *Content) table(id abi.TableID) *region.Table {
	for i := range c.Tables {
		if c.Tables[i].ID == id {
			return &c.Tables[i]
		}
	}
	return nil
}

// Same reports whether another layout is the same except that its capacities may be smaller.
func (im *Image) Same(other *Image) bool {
	if len(im.Tables) != len(other.Tables) || other.PodRoom > im.PodRoom || other.Batch > im.Batch || other.RecordRoom > im.RecordRoom {
		return false
	}
	for i := range im.Tables {
		a, b := &im.Tables[i], &other.Tables[i]
		if a.ID != b.ID || b.Capacity > a.Capacity || b.Overlays > a.Overlays || len(a.Columns) != len(b.Columns) {
			return false
		}
		for j := range a.Columns {
			if b.Columns[j].Elements > a.Columns[j].Elements {
				return false
			}
		}
	}
	return true
}
