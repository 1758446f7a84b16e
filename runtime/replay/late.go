package replay

import (
	"slices"
	"sync"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// late has the recorded calls of modules that did not end by themselves, in an event.
type late struct {
	mu  sync.Mutex // workers call modules concurrently
	all []*inbox.Overrun
}

// overrun is for assembly.Deps.
func (l *late) overrun(call *inbox.Overrun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(e *inbox.Overrun) bool {
		return e.Profile == call.Profile && e.Plugin == call.Plugin && e.Point == call.Point && e.Block == call.Block && e.Pod == call.Pod && e.Call == call.Call
	})
	if i < 0 {
		return false
	}
	*call = *l.all[i]
	l.all = slices.Delete(l.all, i, i+1)
	return true
}
