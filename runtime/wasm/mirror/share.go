package mirror

import "github.com/berth-scheduler/berth/runtime/plugin"

// Several mirrors share the nodes of a plugin of scope node: each of n mirrors holds every
// n-th block of the snapshot's rows. Its local rows are its blocks in order.

// Split returns how many mirrors share n rows, at most most: one for each block. It depends on
// nothing else, since a guest sees how many rows its instance has.
func Split(n, most int) int { return max(1, min(most, blocks(n))) }

// blocks returns how many blocks n rows have.
func blocks(n int) int { return (n + plugin.BlockRows - 1) / plugin.BlockRows }

// Local returns the local row of a row of the snapshot that the mirror holds.
func (m *Mirror) Local(row uint32) uint32 {
	return row/plugin.BlockRows/uint32(m.src.Shards)*plugin.BlockRows + row%plugin.BlockRows
}

// holds reports whether the mirror holds a row of the snapshot.
func (m *Mirror) holds(row uint32) bool {
	return !m.rowless && int(row/plugin.BlockRows)%m.src.Shards == m.index
}

// host returns the row of the snapshot that a local row shows.
func (m *Mirror) host(local uint32) uint32 {
	return (local/plugin.BlockRows*uint32(m.src.Shards)+uint32(m.index))*plugin.BlockRows + local%plugin.BlockRows
}

// count returns how many of n rows of the snapshot the mirror holds.
func (m *Mirror) count(n uint32) uint32 {
	if m.rowless {
		return 0
	}
	shards := uint32(m.src.Shards)
	full := n / plugin.BlockRows / shards * plugin.BlockRows
	blocks := n / plugin.BlockRows % shards // whole blocks beyond the full rounds
	switch {
	case uint32(m.index) < blocks:
		return full + plugin.BlockRows
	case uint32(m.index) == blocks:
		return full + n%plugin.BlockRows
	}
	return full
}
