package assembly

import (
	"context"
	"sync"
)

// references counts which profiles, past ones included, use a plugin; who is not
// used any more is closed.
type references struct {
	later sync.WaitGroup
	mu    sync.Mutex
	count map[*madePlugin]int
}

// hold notes one more user.
func (r *references) hold(m *madePlugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = make(map[*madePlugin]int)
	}
	r.count[m]++
}

// releaseLater is release beside the caller: what is freed may have to wait for a module
// that is compiled.
func (r *references) releaseLater(b *built) { r.later.Go(func() { r.release(b) }) }

// release takes back what a profile holds.
func (r *references) release(b *built) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range b.plugins {
		if r.count[m]--; r.count[m] == 0 {
			delete(r.count, m)
			m.free()
		}
	}
}

// closeAll closes what is still used.
func (r *references) closeAll() {
	r.later.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for m := range r.count {
		m.free()
	}
	r.count = nil
}

func (m *madePlugin) free() {
	if m.close != nil {
		_ = m.close(context.Background()) // nothing is left to be done about it
	}
}
