//go:build wasip1

package berth

import "unsafe"

// The linker leaves out an import that nothing refers to, so a module imports
// what its plugin uses.

//go:wasmimport berth log
func hostLog(level int32, text unsafe.Pointer, n uint32)

//go:wasmimport berth state_get
func hostStateGet(key unsafe.Pointer, n uint32, buffer unsafe.Pointer, capacity uint32) int32

//go:wasmimport berth state_set
func hostStateSet(key unsafe.Pointer, n uint32, value unsafe.Pointer, m uint32) int32

func (c *core) log(level Level, text string) {
	hostLog(int32(level), unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
}

func (c *core) stateGet(key string) ([]byte, bool) {
	for {
		free := c.state[len(c.state):cap(c.state)]
		n := hostStateGet(unsafe.Pointer(unsafe.StringData(key)), uint32(len(key)), unsafe.Pointer(unsafe.SliceData(free)), uint32(len(free)))
		switch {
		case n < 0:
			return nil, false
		case int(n) <= len(free):
			c.state = c.state[:len(c.state)+int(n)]
			return free[:n:n], true
		}
		// What was returned before in this call stays in the old array.
		c.state = make([]byte, 0, max(2*int(n), 4096))
	}
}

func (c *core) stateSet(key string, value []byte) bool {
	return hostStateSet(unsafe.Pointer(unsafe.StringData(key)), uint32(len(key)), unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value))) == 0
}

// alloc returns room in the linear memory that is the plugin's own; kept keeps
// it.
func (c *core) alloc(size uint32) (address uint32, kept []byte) {
	kept = make([]byte, size) // the allocator aligns it to 8
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(kept)))), kept
}
