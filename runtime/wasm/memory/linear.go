package memory

import (
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/berth-scheduler/berth/abi"
)

// PageSize is the size of a page of WebAssembly memory in bytes.
const PageSize = 65536

// Linear is the linear memory of one instance. It is outside of Go's heap: it grows in
// place, without a copy, and is freed at once. It grows to max bytes at most, which besides
// the region are the same for every instance of a plugin. Up to granted, the memory belongs
// to the instance. To grow beyond, it waits for the plugin's one place for a large
// instance, and must be closed when the call ends.
type Linear struct {
	max, granted uint64
	use          *use // nil for an instance without a budget
	// starting refuses to grow beyond granted, and short records that it did: the starter
	// holds locks and must not wait.
	starting, short bool
	large           bool // it holds the place for a large instance, until it is closed
	deep            bool // it holds the place for a deep stack, until its call ends
	cycle           bool // it belongs to a cycle instance
	full            bool // cycle instances get all of their memory at once

	reserved []byte
	size     uint64
	refused  uint64 // the size that it was asked for last, beyond max; 0 for none
}

var (
	_ experimental.MemoryAllocator = (*Linear)(nil)
	_ experimental.LinearMemory    = (*Linear)(nil)
)

// use is what the linear memories of a plugin use.
type use struct {
	bytes, instances atomic.Int64
	// large holds a token for the instance that has more than its grant.
	large chan struct{}
	// grew is set when a cycle instance needed more than its grant, so that there must be
	// fewer of them.
	grew atomic.Bool
}

// NewLinear returns a memory without a budget, for own bytes and a region.
func NewLinear(own, region uint32) *Linear {
	most := pages(uint64(own)) + room(uint64(region))
	return &Linear{max: most, granted: most}
}

// Max returns how large the memory may be, in bytes.
func (l *Linear) Max() uint64 { return l.max }

// Started lets the memory grow beyond its grant from now on.
func (l *Linear) Started() { l.starting = false }

// Short reports whether a cycle instance needed more than its grant to start, so that there
// must be fewer of them.
func (l *Linear) Short() bool { return l.short && l.cycle && !l.full }

// Large reports whether the instance has more than its grant, and must be closed when its
// call ends.
func (l *Linear) Large() bool { return l.large }

// Allocate implements experimental.MemoryAllocator: an instance has one memory.
func (l *Linear) Allocate(_, _ uint64) experimental.LinearMemory {
	if l.use != nil {
		l.use.instances.Add(1)
	}
	return l
}

// Refused returns the size in bytes that was beyond Max, and that the instance asked for since the last time; 0 for none.
func (l *Linear) Refused() (size uint64) {
	size, l.refused = l.refused, 0
	return size
}

// Reallocate implements experimental.LinearMemory; nil means that the memory cannot grow.
func (l *Linear) Reallocate(size uint64) []byte {
	if size > l.max {
		l.refused = size
		return nil
	}
	if l.use != nil && size > l.granted && !l.large {
		if l.cycle {
			l.use.grew.Store(true)
		}
		if l.starting {
			l.short = true
			return nil
		}
		l.hold()
		l.large = true
	}
	if !l.commit(size) {
		return nil
	}
	if l.use != nil {
		l.use.bytes.Add(int64(size - l.size))
	}
	l.size = size
	return l.reserved[:size:size]
}

// Deepen waits for the place for a large instance, for the stack of the call that runs. An
// instance that starts does not wait.
func (l *Linear) Deepen() {
	if l.use != nil && !l.starting {
		l.hold()
		l.deep = true
	}
}

// Shallow returns the place when the call has ended.
func (l *Linear) Shallow() {
	if l.deep {
		l.deep = false
		l.yield()
	}
}

// hold waits for the place for a large instance, if this one does not have it.
func (l *Linear) hold() {
	if !l.large && !l.deep {
		l.use.large <- struct{}{}
	}
}

// yield returns the place, unless the instance still needs it.
func (l *Linear) yield() {
	if !l.large && !l.deep {
		<-l.use.large
	}
}

// Free implements experimental.LinearMemory. Views of the memory must not be used after it.
func (l *Linear) Free() {
	if l.reserved == nil {
		return
	}
	l.release()
	if l.use != nil {
		l.use.bytes.Add(-int64(l.size))
		l.use.instances.Add(-1)
	}
	if l.large {
		l.large = false
		l.yield()
	}
	l.reserved, l.size = nil, 0
}

// pages rounds up to whole pages.
func pages(n uint64) uint64 { return (n + PageSize - 1) / PageSize * PageSize }

// room is what a region takes with its alignment.
func room(region uint64) uint64 { return pages(region + abi.RegionAlign) }
