package storage

import (
	"slices"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

// keep is how many changes are known at least. A reader that is further behind
// reads everything, which costs about as much as so many changes.
const keep = 4096

// journal is the last changes. The generation of a change is how many there were
// up to it.
type journal struct {
	entries []objects.StorageKey
	before  uint64 // changes that are not among the entries any more
}

func (j *journal) add(key objects.StorageKey) {
	if len(j.entries) == 2*keep {
		j.before += keep
		j.entries = slices.Clone(j.entries[keep:])
	}
	j.entries = append(j.entries, key)
}

// since returns the changes after a generation. Entries are never written again,
// so the slice stays as it is while the journal goes on.
func (j *journal) since(generation uint64) (changed []objects.StorageKey, now uint64, known bool) {
	now = j.before + uint64(len(j.entries))
	if generation < j.before || generation > now {
		return nil, now, false
	}
	return j.entries[generation-j.before : len(j.entries) : len(j.entries)], now, true
}
