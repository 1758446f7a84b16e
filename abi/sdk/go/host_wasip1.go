//go:build wasip1

package berth

import (
	"runtime"
	"unsafe"
)

// collect gives the worker of the garbage collector a turn. It is a goroutine, and a call that returns to the host before it gets
// one leaves the collection unfinished, so that the memory grows to its limit.
func collect() { runtime.Gosched() }

// The linker drops unused imports, so a module imports only what its plugin uses.

//go:wasmimport berth log
func hostLog(level int32, text unsafe.Pointer, n uint32)

//go:wasmimport berth state_get
func hostStateGet(key unsafe.Pointer, n uint32, buffer unsafe.Pointer, capacity uint32) int32

//go:wasmimport berth state_set
func hostStateSet(key unsafe.Pointer, n uint32, value unsafe.Pointer, m uint32) int32

//go:wasmimport berth published_get
func hostPublishedGet(index uint32, buffer unsafe.Pointer, capacity uint32) int32

//go:wasmimport berth pod_object
func hostPodObject(index uint32, buffer unsafe.Pointer, capacity uint32) int32

//go:wasmimport berth node_object
func hostNodeObject(row uint32, buffer unsafe.Pointer, capacity uint32) int32

func (c *core) log(level Level, text string) {
	hostLog(int32(level), unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
}

func (c *core) stateGet(key string) ([]byte, bool) {
	for {
		free, size := c.free()
		n := hostStateGet(unsafe.Pointer(unsafe.StringData(key)), uint32(len(key)), free, size)
		if value, done := c.took(n); done {
			return value, n >= 0
		}
	}
}

func (c *core) stateSet(key string, value []byte) bool {
	return hostStateSet(unsafe.Pointer(unsafe.StringData(key)), uint32(len(key)), unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value))) == 0
}

func (c *core) publishedGet(index uint32) ([]byte, bool) {
	for {
		free, size := c.free()
		n := hostPublishedGet(index, free, size)
		if value, done := c.took(n); done {
			return value, n >= 0
		}
	}
}

func (c *core) podObject(index uint32) ([]byte, bool) {
	for {
		free, size := c.free()
		n := hostPodObject(index, free, size)
		if value, done := c.took(n); done {
			return value, n >= 0
		}
	}
}

func (c *core) nodeObject(row uint32) ([]byte, bool) {
	for {
		free, size := c.free()
		n := hostNodeObject(row, free, size)
		if value, done := c.took(n); done {
			return value, n >= 0
		}
	}
}

// free returns the room that a host function may copy a result to.
func (c *core) free() (at unsafe.Pointer, size uint32) {
	free := c.copies[len(c.copies):cap(c.copies)]
	return unsafe.Pointer(unsafe.SliceData(free)), uint32(len(free))
}

// took returns the result of a host function, of n bytes, or grows the room and returns done
// false. Earlier results in this call stay in the old array.
func (c *core) took(n int32) (value []byte, done bool) {
	from := len(c.copies)
	switch {
	case n < 0:
		return nil, true
	case from+int(n) <= cap(c.copies):
		c.copies = c.copies[:from+int(n)]
		return c.copies[from : from+int(n) : from+int(n)], true
	}
	c.copies = make([]byte, 0, max(2*int(n), 4096))
	return nil, false
}

// alloc returns memory in the linear memory that belongs to the plugin; kept keeps it alive.
func (c *core) alloc(size uint32) (address uint32, kept []byte) {
	kept = make([]byte, size) // the allocator aligns it to 8
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(kept)))), kept
}
