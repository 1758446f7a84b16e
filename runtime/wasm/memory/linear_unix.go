//go:build unix

package memory

import "golang.org/x/sys/unix"

// commit makes the first size bytes usable. It reserves addresses for the maximum at
// first; the operating system backs pages when they are written.
func (l *Linear) commit(size uint64) bool {
	var err error
	if l.reserved == nil {
		if l.reserved, err = unix.Mmap(-1, 0, int(max(l.max, PageSize)), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
			l.reserved = nil
			return false
		}
	}
	return size <= l.size || unix.Mprotect(l.reserved[:size], unix.PROT_READ|unix.PROT_WRITE) == nil
}

func (l *Linear) release() {
	_ = unix.Munmap(l.reserved) // what Mmap returned
}
