//go:build !unix

package memory

// commit makes the first size bytes usable, on Go's heap. It allocates the maximum at once;
// operating systems of this kind back it when it is written.
func (l *Linear) commit(uint64) bool {
	if l.reserved == nil {
		l.reserved = make([]byte, max(l.max, PageSize))
	}
	return true
}

func (l *Linear) release() {}
