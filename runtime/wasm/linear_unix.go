//go:build unix

package wasm

import "golang.org/x/sys/unix"

// commit makes the first size bytes usable. Addresses for all that there may ever be are
// reserved at first; pages are taken when they are written.
func (l *linear) commit(size uint64) bool {
	var err error
	if l.reserved == nil {
		if l.reserved, err = unix.Mmap(-1, 0, int(max(l.hard, pageSize)), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
			l.reserved = nil
			return false
		}
	}
	return size <= l.size || unix.Mprotect(l.reserved[:size], unix.PROT_READ|unix.PROT_WRITE) == nil
}

func (l *linear) release() {
	_ = unix.Munmap(l.reserved) // it is what Mmap returned
}
