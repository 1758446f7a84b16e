//go:build !unix

package wasm

// commit makes the first size bytes usable, on Go's heap: it is taken for all that there
// may ever be at once, which operating systems of this kind do not back before it is
// written.
func (l *linear) commit(uint64) bool {
	if l.reserved == nil {
		l.reserved = make([]byte, max(l.hard, pageSize))
	}
	return true
}

func (l *linear) release() {}
