package memory

import (
	"slices"
	"sync/atomic"

	"github.com/berth-scheduler/berth/abi"
)

// states is what a plugin keeps for pods that wait at Permit or are being bound, in bytes: its
// state and patches when Permit ended, and what was added since.
type states struct{ kept, added atomic.Int64 }

// keeps reports whether the plugin can keep state or patches.
func (b *Budget) keeps() bool {
	m := b.config.Manifest
	return m != nil && (slices.Contains(m.Host, abi.HostStateSet) || len(m.Directives.Annotations)+len(m.Directives.Labels) > 0)
}

// mostKept is how much of a plugin's memory states and patches may take: as much as a quarter of an instance, and a
// sixteenth of all, but always enough for one pod. mostAdded is how much binding cycles may add to that. It
// is apart, because it depends on when they run, and no decision of the loop may depend on that.
func (b *Budget) mostKept() int64 {
	return max(min(int64(b.config.Own)/4, b.config.Total/16), abi.MaxStateSize)
}
func (b *Budget) mostAdded() int64 { return max(b.mostKept()/4, abi.MaxStateSize) }

// KeepState counts the state or a patch of one more pod, and reports whether there is room. Only the loop calls
// it. most is how much there may be.
func (b *Budget) KeepState(size int) (most int64, ok bool) {
	most = b.mostKept()
	return most, take(&b.state.kept, int64(size), most)
}

// AddState counts what a binding cycle adds to that, and reports whether there is room.
// most is how much there may be.
func (b *Budget) AddState(size int) (most int64, ok bool) {
	most = b.mostAdded()
	return most, take(&b.state.added, int64(size), most)
}

// DropState gives back what KeepState and AddState counted for a pod.
func (b *Budget) DropState(kept, added int) {
	b.state.kept.Add(-int64(kept))
	b.state.added.Add(-int64(added))
}

// take adds size unless that is more than most.
func take(of *atomic.Int64, size, most int64) bool {
	if of.Add(size) <= most {
		return true
	}
	of.Add(-size)
	return false
}
