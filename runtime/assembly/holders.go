package assembly

import (
	"context"
	"sync"
)

// holders counts which profiles, past ones included, use a plugin; who is not
// used any more is closed.
type holders struct {
	later sync.WaitGroup
	mu    sync.Mutex
	count map[*madePlugin]int
}

// hold notes one more user.
func (h *holders) hold(m *madePlugin) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == nil {
		h.count = make(map[*madePlugin]int)
	}
	h.count[m]++
}

// releaseLater is release beside the caller: what is freed may have to wait for a module
// that is compiled.
func (h *holders) releaseLater(b *built) { h.later.Go(func() { h.release(b) }) }

// release takes back what a profile holds.
func (h *holders) release(b *built) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range b.plugins {
		if h.count[m]--; h.count[m] == 0 {
			delete(h.count, m)
			m.free()
		}
	}
}

// closeAll closes what is still used.
func (h *holders) closeAll() {
	h.later.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for m := range h.count {
		m.free()
	}
	h.count = nil
}

func (m *madePlugin) free() {
	if m.close != nil {
		_ = m.close(context.Background()) // nothing is left to be done about it
	}
}
