package assembly

import (
	"context"
	"sync"
)

// holders counts the profiles, past ones included, that use each plugin. It closes plugins
// without users.
type holders struct {
	later sync.WaitGroup
	mu    sync.Mutex
	count map[*madePlugin]int
	gone  int // plugins that releaseLater closed
}

// hold counts one more user.
func (h *holders) hold(m *madePlugin) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == nil {
		h.count = make(map[*madePlugin]int)
	}
	h.count[m]++
}

// releaseLater is release in a goroutine: freeing may have to wait until a module is compiled.
func (h *holders) releaseLater(b *built) {
	h.later.Go(func() {
		closed := h.release(b)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gone += closed
	})
}

// closed counts the plugins that were in use and are closed now.
func (h *holders) closed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gone
}

// release counts one user less of each plugin of a profile. It returns how many it closed.
func (h *holders) release(b *built) (closed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range b.plugins {
		if h.count[m]--; h.count[m] == 0 {
			delete(h.count, m)
			m.free()
			closed++
		}
	}
	return closed
}

// closeAll closes the plugins that still have users.
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
		_ = m.close(context.Background()) // there is no way to recover
	}
}
