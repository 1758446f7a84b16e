package storage

import (
	"slices"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

// keep is the minimum number of recorded changes. A reader that is further behind reads
// everything, which costs about as much as so many changes.
const keep = 4096

// journal records the last changes. The generation of a change is the number of changes up to
// it.
type journal struct {
	entries []objects.StorageKey
	before  uint64 // number of changes before entries
}

func (j *journal) add(key objects.StorageKey) {
	if len(j.entries) == 2*keep {
		j.before += keep
		j.entries = slices.Clone(j.entries[keep:])
	}
	j.entries = append(j.entries, key)
}

// since returns the changes after a generation. Entries are never overwritten, so the slice
// stays valid while the journal grows.
func (j *journal) since(generation uint64) (changed []objects.StorageKey, now uint64, known bool) {
	now = j.before + uint64(len(j.entries))
	if generation < j.before || generation > now {
		return nil, now, false
	}
	return j.entries[generation-j.before : len(j.entries) : len(j.entries)], now, true
}
