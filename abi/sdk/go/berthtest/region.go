package berthtest

import "encoding/binary"

// lay puts everything into one region, at offsets from its start, and notes where
// addresses are, for moveTo.
func (img *image) lay(nodes, pods table, record []byte, seed uint64) {
	put := func(b []byte) uint32 {
		for len(img.data)%64 != 0 {
			img.data = append(img.data, 0)
		}
		at := uint32(len(img.data))
		img.data = append(img.data, b...)
		return at
	}
	room := img.capacity + overlays
	img.call = put(make([]byte, callSize))
	img.codes, img.reasons, img.scores = put(make([]byte, room)), put(make([]byte, 2*room)), put(make([]byte, 8*room))
	img.rowSet = put(make([]byte, 4*room))
	img.readFrom = put(nil)
	img.pod, img.podSize = put(record), uint32(len(record))

	var spans, bytes []byte
	for _, text := range img.dict.texts {
		spans = u32(spans, uint32(len(bytes)), uint32(len(text)))
		bytes = append(bytes, text...)
	}
	n := uint32(len(img.dict.texts))
	strings := table{id: 3, rows: n, capacity: n, columns: []column{
		{id: 192, typ: typeSpan, data: spans, rows: true, length: n},
		{id: 192 + 256, typ: typeBytes, data: bytes, length: uint32(len(bytes))},
	}}
	unknown := table{id: 999, rows: 1, capacity: 1, columns: []column{{id: 9, typ: 99, data: []byte{1}, rows: true, length: 1}}}
	var directory []byte
	for _, t := range []table{unknown, strings, nodes, pods} {
		var columns []byte
		for _, c := range t.columns {
			capacity := t.capacity + t.overlays
			if !c.rows {
				capacity = uint32(len(c.data)) / elementSize[c.typ]
			}
			columns = u32(columns, c.id, c.arg, c.typ, put(c.data), capacity, c.length)
		}
		directory = u32(directory, t.id, t.rows, t.capacity, 0, t.overlays, uint32(len(t.columns)), put(columns), 0)
	}
	tables := put(directory)
	img.rowsAt = tables + 2*32 + 4
	header := u32(nil, 0x48545242, 1)
	for _, v := range []uint64{7, 11, seed} { // epoch, generation, seed
		header = binary.LittleEndian.AppendUint64(header, v)
	}
	header = u32(header, 1, 4, tables, 1, 0, 0, 0, 0)
	img.header = put(header)
	img.readEnd = uint32(len(img.data))
}

// moveTo adds the region's address to all addresses in it.
func (img *image) moveTo(base uint32) {
	add := func(at uint32) {
		if v := binary.LittleEndian.Uint32(img.data[at:]); v != 0 {
			binary.LittleEndian.PutUint32(img.data[at:], v+base-img.base)
		}
	}
	tables := binary.LittleEndian.Uint32(img.data[img.header+40:]) - img.base
	for t := range uint32(4) {
		entry := tables + 32*t
		columns := binary.LittleEndian.Uint32(img.data[entry+24:]) - img.base
		for c := range binary.LittleEndian.Uint32(img.data[entry+20:]) {
			add(columns + 24*c + 12)
		}
		add(entry + 24)
	}
	add(img.header + 40)
	img.base = base
}

// setCall writes the call record (ABI-3.1). rows is nil for lo … hi−1.
func (img *image) setCall(point uint32, lo, hi uint32, rows []uint32, overlay bool, scores []int64) {
	clear(img.data[img.call : img.call+callSize])
	n := hi - lo
	record := u32(nil, img.base+img.header, img.base+img.pod, img.podSize, point, 0)
	if rows != nil {
		n = uint32(len(rows))
		binary.LittleEndian.PutUint32(record[16:], img.base+img.rowSet)
		for i, row := range rows {
			binary.LittleEndian.PutUint32(img.data[img.rowSet+4*uint32(i):], row)
		}
	}
	flags := uint32(0)
	if overlay {
		flags = 1
	}
	record = u32(record, n, img.base+img.codes, img.base+img.reasons, img.base+img.scores, flags)
	copy(img.data[img.call:], record)
	clear(img.data[img.codes:img.rowSet])
	for i, s := range scores {
		binary.LittleEndian.PutUint64(img.data[img.scores+8*uint32(i):], uint64(s))
	}
}
