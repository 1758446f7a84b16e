package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
)

// ColumnSpec says what a column contains and its capacity.
type ColumnSpec struct {
	ID   abi.ColumnID
	Arg  uint32
	Type abi.Type
	// Capacity is the number of elements of an arena; 0 for a column with one element per row.
	Capacity uint32
}

// TableSpec says what a table contains and its capacity.
type TableSpec struct {
	ID abi.TableID
	// Capacity and Overlays are numbers of rows, Base is the place of row 0 in the host's table.
	Capacity, Overlays, Base uint32
	Columns                  []ColumnSpec
}

// LayoutSpec says what a region contains.
type LayoutSpec struct {
	// Tables is in the order of the directory; the first is the nodes table.
	Tables []TableSpec
	// PodRoom is the size of the largest pod record in bytes.
	PodRoom uint32
	// Batch is the maximum number of pods in a call besides the one to be placed; may be 0.
	// RecordRoom is the room for their records and for an event's names in bytes.
	Batch, RecordRoom uint32
	// Keys is true if a call can request keys of the queue.
	Keys bool
}

// Layout is where everything is in a region. Offsets are from the start of the region, and
// aligned to abi.RegionAlign where something begins.
type Layout struct {
	// Size is the size of the region in bytes.
	Size uint32
	// ReadOnly is the offset of the part of the region that a guest must not write.
	ReadOnly uint32

	Call, Codes, Reasons, Scores uint32
	RowSet, Pod, Header          uint32
	// Keys, PodList, Queue, Event and Records are for calls about many pods; they have no room
	// if the spec requests none.
	Keys, PodList, Queue, Event, Records uint32
	// MaxRows is the maximum number of rows or pods in one call, PodRoom the room for the pod
	// record in bytes.
	MaxRows, PodRoom  uint32
	Batch, RecordRoom uint32
	Tables            []TableLayout
}

// TableLayout is where a table is.
type TableLayout struct {
	TableSpec
	Entry   uint32 // its entry in the directory
	Columns []ColumnLayout
}

// ColumnLayout is where a column is.
type ColumnLayout struct {
	ColumnSpec
	Entry uint32 // its entry in the table's directory
	Data  uint32
	// Elements is how many elements fit.
	Elements uint32
}

// MaxRegion is the maximum size of a region: what a 32-bit memory can hold besides the guest's
// own data.
const MaxRegion = 3584 << 20

// NewLayout computes the layout of a region.
func NewLayout(spec LayoutSpec) (*Layout, error) {
	if len(spec.Tables) == 0 || spec.Tables[0].ID != abi.TableNodes {
		return nil, fmt.Errorf("wire: the first table of a region must be the nodes")
	}
	for _, t := range spec.Tables {
		if uint64(t.Capacity)+uint64(t.Overlays) > MaxRegion {
			return nil, fmt.Errorf("wire: table %d would have %d rows and %d overlay rows", t.ID, t.Capacity, t.Overlays)
		}
	}
	nodes := spec.Tables[0]
	l := &Layout{
		MaxRows: max(nodes.Capacity+nodes.Overlays, spec.Batch), PodRoom: spec.PodRoom,
		Batch: spec.Batch, RecordRoom: spec.RecordRoom,
	}
	batch, keys := uint64(spec.Batch), uint64(0)
	if spec.Keys {
		keys = batch
	}
	var at uint64
	take := func(size uint64) uint32 {
		offset := at
		at = (at + size + abi.RegionAlign - 1) &^ (abi.RegionAlign - 1)
		return uint32(min(offset, MaxRegion))
	}
	rows := uint64(l.MaxRows)
	l.Call = take(abi.CallSize)
	l.Codes, l.Reasons, l.Scores = take(rows), take(2*rows), take(8*rows)
	l.Keys = take(abi.KeySize * keys)
	l.ReadOnly = uint32(min(at, MaxRegion))
	l.RowSet, l.Pod, l.Header = take(4*rows), take(uint64(spec.PodRoom)), take(abi.HeaderSize)
	l.PodList, l.Queue = take(abi.PodEntrySize*batch), take(abi.QueueEntrySize*keys)
	l.Event, l.Records = take(abi.EventSize*min(batch, 1)), take(uint64(spec.RecordRoom))
	directory := take(uint64(abi.TableSize * len(spec.Tables)))
	for i, t := range spec.Tables {
		columns := take(uint64(abi.ColumnSize * len(t.Columns)))
		table := TableLayout{TableSpec: t, Entry: directory + uint32(abi.TableSize*i)}
		for j, c := range t.Columns {
			size := c.Type.Size()
			if size == 0 {
				return nil, fmt.Errorf("wire: column %d of table %d has unknown type %d", c.ID, t.ID, c.Type)
			}
			column := ColumnLayout{ColumnSpec: c, Entry: columns + uint32(abi.ColumnSize*j), Elements: c.Capacity}
			if c.Capacity == 0 {
				column.Elements = t.Capacity + t.Overlays
			}
			column.Data = take(uint64(column.Elements) * uint64(size))
			table.Columns = append(table.Columns, column)
		}
		l.Tables = append(l.Tables, table)
	}
	if at > MaxRegion {
		return nil, fmt.Errorf("wire: the region would have %d bytes, the limit is %d", at, uint32(MaxRegion))
	}
	l.Size = uint32(at)
	return l, nil
}

// WriteDirectories writes the header and the directories of a region that begins at address
// base. mem is the region's bytes. Row counts are zero until SetRows.
func (l *Layout) WriteDirectories(mem []byte, base uint32) {
	h := mem[l.Header:]
	put32(h, abi.HeaderMagic, abi.Magic)
	binary.LittleEndian.PutUint16(h[abi.HeaderMajor:], abi.Major)
	binary.LittleEndian.PutUint16(h[abi.HeaderMinor:], abi.Minor)
	put32(h, abi.HeaderTables, uint32(len(l.Tables)))
	put32(h, abi.HeaderDirectory, base+l.Tables[0].Entry)
	put32(h, abi.HeaderLayout, 1)
	for i := range l.Tables {
		t := &l.Tables[i]
		e := mem[t.Entry:]
		put32(e, abi.TableEntryID, uint32(t.ID))
		put32(e, abi.TableCapacity, t.Capacity)
		put32(e, abi.TableBase, t.Base)
		put32(e, abi.TableOverlays, t.Overlays)
		put32(e, abi.TableColumns, uint32(len(t.Columns)))
		if len(t.Columns) > 0 {
			put32(e, abi.TableColumnsAddr, base+t.Columns[0].Entry)
		}
		for j := range t.Columns {
			c := &t.Columns[j]
			e := mem[c.Entry:]
			put32(e, abi.ColumnEntryID, uint32(c.ID))
			put32(e, abi.ColumnArg, c.Arg)
			put32(e, abi.ColumnType, uint32(c.Type))
			put32(e, abi.ColumnAddress, base+c.Data)
			put32(e, abi.ColumnCapacity, c.Elements)
		}
	}
}

// SetRows writes the number of rows of a table, which is also the length of its columns with
// one element per row.
func (l *Layout) SetRows(mem []byte, table int, n uint32) {
	t := &l.Tables[table]
	put32(mem[t.Entry:], abi.TableRows, n)
	for j := range t.Columns {
		if c := &t.Columns[j]; c.Capacity == 0 {
			put32(mem[c.Entry:], abi.ColumnLength, n)
		}
	}
}

// SetLength writes the number of elements in use in an arena.
func (l *Layout) SetLength(mem []byte, c *ColumnLayout, n uint32) {
	put32(mem[c.Entry:], abi.ColumnLength, n)
}

// Cycle has the header's fields of one cycle.
type Cycle struct {
	Epoch, Generation, Seed uint64
	State                   uint32
}

// SetCycle writes the header's fields of one cycle.
func (l *Layout) SetCycle(mem []byte, c Cycle) {
	h := mem[l.Header:]
	binary.LittleEndian.PutUint64(h[abi.HeaderEpoch:], c.Epoch)
	binary.LittleEndian.PutUint64(h[abi.HeaderGeneration:], c.Generation)
	binary.LittleEndian.PutUint64(h[abi.HeaderSeed:], c.Seed)
	put32(h, abi.HeaderState, c.State)
}

// Call is one call of a point: what the host writes to the call record.
type Call struct {
	Point abi.Point
	// PodSize is the size of the pod record; 0 if the call has none.
	PodSize uint32
	// RowSet is true if the rows are those of the row set, N of them.
	RowSet bool
	N      uint32
	Flags  uint32
	// Pods, Event and Keys are true if the call has a pod list, an event, and queue entries with
	// room for keys.
	Pods, Event, Keys bool
}

// SetCall writes the call record of a region that begins at address base. It zeroes the guest's
// answers, except for those that are input: the scores for normalize, the codes for
// post_filter.
func (l *Layout) SetCall(mem []byte, base uint32, c Call) {
	r := mem[l.Call : l.Call+abi.CallSize]
	clear(r)
	put32(r, abi.CallHeader, base+l.Header)
	if c.PodSize > 0 {
		put32(r, abi.CallPod, base+l.Pod)
		put32(r, abi.CallPodSize, c.PodSize)
	}
	put32(r, abi.CallPoint, uint32(c.Point))
	if c.RowSet {
		put32(r, abi.CallRows, base+l.RowSet)
	}
	put32(r, abi.CallRowCount, c.N)
	put32(r, abi.CallCodes, base+l.Codes)
	put32(r, abi.CallReasons, base+l.Reasons)
	put32(r, abi.CallScores, base+l.Scores)
	put32(r, abi.CallFlags, c.Flags)
	if c.Pods {
		put32(r, abi.CallPods, base+l.PodList)
	}
	if c.Event {
		put32(r, abi.CallEvent, base+l.Event)
	}
	if c.Keys {
		put32(r, abi.CallQueue, base+l.Queue)
		put32(r, abi.CallKeys, base+l.Keys)
		clear(mem[l.Keys : l.Keys+abi.KeySize*c.N])
	}
	if c.Point != abi.PostFilter {
		clear(mem[l.Codes : l.Codes+c.N])
	}
	clear(mem[l.Reasons : l.Reasons+2*c.N])
	if c.Point != abi.Normalize {
		clear(mem[l.Scores : l.Scores+8*c.N])
	}
}

func put32(b []byte, offset int, v uint32) { binary.LittleEndian.PutUint32(b[offset:], v) }
