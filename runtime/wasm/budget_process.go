package wasm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// DefaultProcessMemory is what all plugins of a process may have together, in bytes.
const DefaultProcessMemory int64 = 2 << 30

// ProcessMemory is the memory of all plugins of a process, old versions that live on included.
// If they may have more together than there is, those that may have most get less, all of
// them the same; that depends on nothing but which plugins there are.
type ProcessMemory struct {
	total int64
	// mu guards plugins: who is in the process, with what each needs at least. It is taken
	// before a plugin's mu.
	mu      sync.Mutex
	plugins map[*Plugin]int64
}

// NewProcessMemory returns a budget; 0 stands for the default.
func NewProcessMemory(total int64) *ProcessMemory {
	return &ProcessMemory{total: cmp.Or(total, DefaultProcessMemory), plugins: make(map[*Plugin]int64)}
}

// join gives a plugin its share, and others less if need be.
//
// # Errors
//
// A share would be less than a plugin needs.
func (b *ProcessMemory) join(p *Plugin, least int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plugins[p] = least
	shares := b.shares()
	for _, q := range slices.SortedFunc(maps.Keys(shares), func(p, q *Plugin) int { return strings.Compare(p.config.Name, q.config.Name) }) {
		share := shares[q]
		if need := b.plugins[q]; share < need {
			delete(b.plugins, p)
			return fmt.Errorf("with %d plugins in this process, of whose memory there is %s, %s would have %s, and it needs %s at least; the largest are %s: "+
				"raise --plugin-memory, or lower limits.memoryTotal or limits.memory of a plugin", len(shares), inBytes(uint64(b.total)), q.config.Name,
				inBytes(uint64(share)), inBytes(uint64(need)), b.largest(p))
		}
	}
	b.give(shares)
	return nil
}

// leave takes a plugin's share back.
func (b *ProcessMemory) leave(p *Plugin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.plugins, p)
	b.give(b.shares())
}

// give tells all plugins their shares. One whose share is less has no more instances than
// that when it returns; b.mu is held.
func (b *ProcessMemory) give(shares map[*Plugin]int64) {
	for p, share := range shares {
		if p.share.Swap(share) > share {
			p.shrink()
		}
	}
}

// shares divides the memory: nobody gets more than its limit, and those that get less
// get the same.
func (b *ProcessMemory) shares() map[*Plugin]int64 {
	limit := func(p *Plugin) int64 { return p.config.Limits.TotalMemory }
	ascending := slices.SortedFunc(maps.Keys(b.plugins), func(p, q *Plugin) int { return cmp.Compare(limit(p), limit(q)) })
	left, out := b.total, make(map[*Plugin]int64, len(ascending))
	for i, p := range ascending {
		out[p] = min(limit(p), left/int64(len(ascending)-i))
		left -= out[p]
	}
	return out
}

// largest names the plugins that may have most.
func (b *ProcessMemory) largest(without *Plugin) string {
	var all []*Plugin
	for p := range b.plugins {
		if p != without {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(p, q *Plugin) int {
		return cmp.Or(cmp.Compare(q.config.Limits.TotalMemory, p.config.Limits.TotalMemory), strings.Compare(p.config.Name, q.config.Name))
	})
	var out []string
	for _, p := range all[:min(3, len(all))] {
		out = append(out, fmt.Sprintf("%s (%s)", p.config.Name, inBytes(uint64(p.config.Limits.TotalMemory))))
	}
	return strings.Join(out, ", ")
}
