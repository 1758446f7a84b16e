package berthtest

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi/internal/region"
)

// lay writes everything to one region, at offsets from its start, and records where addresses
// are, for moveTo.
func (img *image) lay(m *Manifest, c *content, tables []table, record []byte) {
	room := max(img.capacity+uint32(len(c.overlay)), uint32(len(c.list)))
	img.call = img.put(make([]byte, callSize))
	img.codes, img.reasons, img.scores = img.put(make([]byte, room)), img.put(make([]byte, 2*room)), img.put(make([]byte, 8*room))
	img.keys = img.put(make([]byte, 68*len(c.queued)))
	img.readFrom = img.put(nil)
	img.rowSet = img.put(make([]byte, 4*room))
	img.pod, img.podSize = img.put(record), uint32(len(record))
	img.about(m, c)

	texts := table{region.Strings(img.dict.texts), uint32(len(img.dict.texts))}
	unknown := table{region.Table{ID: 999, Rows: 1, Columns: []region.Column{{ID: 9, Type: 99, Data: []byte{1}}}}, 1}
	tables = append([]table{unknown, texts}, tables...)
	var directory, at []byte
	for i := range tables {
		t := &tables[i]
		directory = u32(directory, uint32(t.ID), t.Rows, t.capacity, 0, t.Overlays, uint32(len(t.Columns)), 0, 0)
		at = u32(at, img.columns(m, t))
	}
	where := img.put(directory)
	for i := range uint32(len(tables)) {
		img.point(where+32*i+24, binary.LittleEndian.Uint32(at[4*i:]))
	}
	header := u32(nil, 0x48545242, 1)
	for _, v := range []uint64{7 + img.turn, 11, img.seed} { // epoch, generation, seed
		header = binary.LittleEndian.AppendUint64(header, v)
	}
	header = u32(header, 1, uint32(len(tables)), 0, 1+uint32(img.turn), 0, 0, 0, 0)
	img.header = img.put(header)
	img.point(img.header+40, where)
	img.readEnd = uint32(len(img.data))
}

// columns writes the columns of a table and their directory.
func (img *image) columns(m *Manifest, t *table) uint32 {
	var directory, at []byte
	t.Columns = slices.DeleteFunc(t.Columns, func(c region.Column) bool { return m.hides(c.ID, c.Arg) })
	for i := range t.Columns {
		c := &t.Columns[i]
		capacity, length := t.capacity+t.Overlays, t.Rows
		if c.Arena {
			capacity, length = c.Len(), c.Len()
		}
		at = u32(at, img.put(c.Data))
		directory = u32(directory, uint32(c.ID), c.Arg, uint32(c.Type), 0, capacity, length)
	}
	where := img.put(directory)
	for i := range uint32(len(t.Columns)) {
		img.point(where+24*i+12, binary.LittleEndian.Uint32(at[4*i:]))
	}
	return where
}

// about writes the pod list, the event and the queue entries (ABI-3.10, 3.11).
func (img *image) about(m *Manifest, c *content) {
	if len(c.list) > 0 {
		var entries []byte
		var at []uint32
		for i := range c.list {
			record := img.record(m, c, &c.list[i])
			at = append(at, img.put(record))
			entries = u32(entries, 0, uint32(len(record)))
		}
		img.podList = img.put(entries)
		for i, address := range at {
			img.point(img.podList+8*uint32(i), address)
		}
	}
	if c.queued != nil {
		var entries []byte
		for _, q := range c.queued {
			entries = u32(i64(entries, q.Time), q.Attempts, 0)
		}
		img.queue = img.put(entries)
	}
	if e := c.event; e != nil {
		img.event = img.put(make([]byte, 64))
		part := func(offset uint32, data []byte) {
			at := img.put(data)
			img.point(img.event+offset, at)
			binary.LittleEndian.PutUint32(img.data[img.event+offset+4:], uint32(len(data)))
		}
		head := u32(nil, e.kind(), uint32(e.Actions))
		copy(img.data[img.event:], head)
		if e.OldPod != nil {
			part(8, img.record(m, c, e.OldPod))
		}
		if e.NewPod != nil {
			part(16, img.record(m, c, e.NewPod))
		}
		rows := []byte(strings.Repeat("\xff", 8))
		next := uint32(0)
		for i, node := range []*Node{e.OldNode, e.NewNode} {
			if node != nil {
				binary.LittleEndian.PutUint32(rows[4*i:], next)
				next++
			}
		}
		copy(img.data[img.event+24:], rows)
		if e.Namespace != "" {
			part(32, []byte(e.Namespace))
		}
		if e.Name != "" {
			part(40, []byte(e.Name))
		}
	}
}

// put appends bytes at a multiple of 64 and returns their offset.
func (img *image) put(b []byte) uint32 {
	for len(img.data)%64 != 0 {
		img.data = append(img.data, 0)
	}
	at := uint32(len(img.data))
	img.data = append(img.data, b...)
	return at
}

// point writes an address.
func (img *image) point(at, address uint32) {
	binary.LittleEndian.PutUint32(img.data[at:], address)
	img.addresses = append(img.addresses, at)
}

// moveTo sets the address at which the region begins.
func (img *image) moveTo(base uint32) {
	for _, at := range img.addresses {
		binary.LittleEndian.PutUint32(img.data[at:], binary.LittleEndian.Uint32(img.data[at:])+base-img.base)
	}
	img.base = base
}

// asked describes a call.
type asked struct {
	lo, hi  uint32
	rows    []uint32 // nil: lo … hi−1
	overlay bool
	pods    int     // the list, from the n-th pod on, counted from 1; 0 for none
	codes   []uint8 // post_filter's input
	scores  []int64 // normalize's input
}

// setCall writes the call record (ABI-3.1).
func (img *image) setCall(point uint32, a *asked) {
	clear(img.data[img.call:img.readFrom])
	at := func(offset uint32) uint32 {
		if offset == 0 {
			return 0
		}
		return img.base + offset
	}
	pod := at(img.pod)
	if img.podSize == 0 {
		pod = 0
	}
	record := u32(nil, img.base+img.header, pod, img.podSize, point, 0)
	n := a.hi - a.lo
	if a.rows != nil {
		n = uint32(len(a.rows))
		binary.LittleEndian.PutUint32(record[16:], img.base+img.rowSet)
		for i, row := range a.rows {
			binary.LittleEndian.PutUint32(img.data[img.rowSet+4*uint32(i):], row)
		}
	}
	flags := uint32(0)
	if a.overlay {
		flags = 1
	}
	list := uint32(0)
	if a.pods > 0 {
		list = img.base + img.podList + 8*uint32(a.pods-1)
	}
	record = u32(record, n, img.base+img.codes, img.base+img.reasons, img.base+img.scores, flags, list, at(img.event), at(img.queue))
	if img.queue != 0 {
		record = u32(record, at(img.keys))
	}
	copy(img.data[img.call:], record)
	copy(img.data[img.codes:], a.codes)
	for i, s := range a.scores {
		binary.LittleEndian.PutUint64(img.data[img.scores+8*uint32(i):], uint64(s))
	}
}

// answer returns a u32 that the guest wrote to the call record.
func (img *image) answer(offset uint32) uint32 {
	return binary.LittleEndian.Uint32(img.data[img.call+offset:])
}
