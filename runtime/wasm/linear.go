package wasm

import (
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// linear is the linear memory of one instance, outside of Go's heap: it grows in place,
// without a copy beside it, and is given back at once. It has at most hard bytes, as much
// in every instance of a plugin besides the region. Up to granted they are the
// instance's own; beyond it waits for the one place in which an instance of the plugin may
// have all of its memory, and has to be closed when the call ends.
type linear struct {
	hard, granted uint64
	use           *memoryUse // nil for an instance that is in no budget
	// starting refuses to grow beyond granted, and short notes that it did: who starts
	// holds locks and waits for nothing.
	starting, short bool
	held            bool // it has the place
	cycle           bool // it is of a cycle instance

	reserved []byte
	size     uint64
}

var (
	_ experimental.MemoryAllocator = (*linear)(nil)
	_ experimental.LinearMemory    = (*linear)(nil)
)

// memoryUse is what the linear memories of a plugin have.
type memoryUse struct {
	bytes, instances atomic.Int64
	// large holds a token for the instance that has more than its grant.
	large chan struct{}
	// grew tells that a cycle instance did, so that there have to be fewer of them.
	grew atomic.Bool
}

// Allocate implements experimental.MemoryAllocator: an instance has one memory.
func (l *linear) Allocate(_, _ uint64) experimental.LinearMemory {
	if l.use != nil {
		l.use.instances.Add(1)
	}
	return l
}

// Reallocate implements experimental.LinearMemory; nil means that there is no more.
func (l *linear) Reallocate(size uint64) []byte {
	if size > l.hard {
		return nil
	}
	if l.use != nil && size > l.granted && !l.held {
		if l.cycle {
			l.use.grew.Store(true)
		}
		if l.starting {
			l.short = true
			return nil
		}
		l.use.large <- struct{}{}
		l.held = true
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

// Free implements experimental.LinearMemory. No view of the memory may be used after it.
func (l *linear) Free() {
	if l.reserved == nil {
		return
	}
	l.release()
	if l.use != nil {
		l.use.bytes.Add(-int64(l.size))
		l.use.instances.Add(-1)
	}
	if l.held {
		<-l.use.large
		l.held = false
	}
	l.reserved, l.size = nil, 0
}
