package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// DefaultProcess is the memory of all plugins of a process together, in bytes.
const DefaultProcess int64 = 2 << 30

// Process is the memory of all plugins of a process, old versions that still run included.
// If their limits exceed it together, those with the highest limits get less, all of them
// the same. The shares depend only on which plugins there are.
type Process struct {
	total int64
	// mu guards plugins, each with the least that it needs, and modules. It is taken before a plugin's
	// own mutex.
	mu      sync.Mutex
	plugins map[*Budget]int64
	modules map[string]*code // by digest
}

// Total returns the memory of all plugins, in bytes.
func (p *Process) Total() int64 { return p.total }

// code is what a module takes that has users: its bytes, and the machine code of all its instances.
type code struct {
	size  int64
	users int
}

// NewProcess returns the memory of a process; 0 stands for DefaultProcess.
func NewProcess(total int64) *Process {
	return &Process{total: cmp.Or(total, DefaultProcess), plugins: make(map[*Budget]int64), modules: make(map[string]*code)}
}

// Load counts a module of a digest for one more user, once for all of them. Plugins have less by its size.
//
// # Errors
//
// A *Full: a plugin would have less than it needs.
func (p *Process) Load(digest string, size int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.modules[digest]; m != nil {
		m.users++
		return nil
	}
	p.modules[digest] = &code{size: size, users: 1}
	if err := p.divide(size); err != nil {
		delete(p.modules, digest)
		return err
	}
	return nil
}

// Grow counts a module of a digest as larger than Load was told, now that it is compiled. What is smaller stays, so that shares
// are those of every machine.
//
// # Errors
//
// A *Full: a plugin would have less than it needs. The module counts as before.
func (p *Process) Grow(digest string, size int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.modules[digest]
	before := m.size
	if size <= before {
		return nil
	}
	m.size = size
	err := p.divide(size)
	if err != nil {
		m.size = before
	}
	return err
}

// divide gives plugins what modules leave, after one has been counted with a size. The caller holds p.mu.
func (p *Process) divide(size int64) error {
	shares := p.shares()
	full := p.left() < 0
	for b, share := range shares {
		full = full || share < p.plugins[b]
	}
	if full {
		return &Full{fmt.Sprintf("the module and its machine code take %s, and the %d plugins of this process, of whose memory there is %s, "+
			"leave no room for them: raise --plugin-memory, or lower limits.memoryTotal or limits.memory of a plugin",
			inBytes(uint64(size)), len(p.plugins), inBytes(uint64(p.total)))}
	}
	p.give(shares)
	return nil
}

// Unload counts one user less.
func (p *Process) Unload(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.modules[digest]
	if m.users--; m.users == 0 {
		delete(p.modules, digest)
		p.give(p.shares())
	}
}

// Full means that there is no memory for one more plugin. The text names others.
type Full struct{ text string }

func (f *Full) Error() string { return f.text }

// join gives a plugin its share, and reduces those of others if need be.
//
// # Errors
//
// A *Full: a share would be less than its plugin needs.
func (p *Process) join(b *Budget, least int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plugins[b] = least
	shares := p.shares()
	for _, c := range slices.SortedFunc(maps.Keys(shares), byName) {
		share := shares[c]
		if need := p.plugins[c]; share < need {
			delete(p.plugins, b)
			return &Full{fmt.Sprintf("with %d plugins in this process, of whose memory there is %s, %s would have %s, and it needs %s at least; the largest are %s: "+
				"raise --plugin-memory, or lower limits.memoryTotal or limits.memory of a plugin", len(shares), inBytes(uint64(p.total)), c.config.Name,
				inBytes(uint64(share)), inBytes(uint64(need)), p.largest(b))}
		}
	}
	p.give(shares)
	return nil
}

func byName(a, b *Budget) int { return strings.Compare(a.config.Name, b.config.Name) }

// leave takes a plugin's share back.
func (p *Process) leave(b *Budget) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.plugins, b)
	p.give(p.shares())
}

// give sets the shares of all plugins. When it returns, the instances of a plugin whose
// share shrank are within it. The caller holds p.mu.
func (p *Process) give(shares map[*Budget]int64) {
	for b, share := range shares {
		if b.share.Swap(share) > share {
			b.config.Shrink()
		}
	}
}

// left returns what modules leave, in bytes. The caller holds p.mu.
func (p *Process) left() int64 {
	left := p.total
	for _, m := range p.modules {
		left -= m.size
	}
	return left
}

// shares divides the memory that modules leave: no plugin gets more than its limit, and those that get less
// get the same.
func (p *Process) shares() map[*Budget]int64 {
	ascending := slices.SortedFunc(maps.Keys(p.plugins), func(a, b *Budget) int { return cmp.Compare(a.config.Total, b.config.Total) })
	left, out := p.left(), make(map[*Budget]int64, len(ascending))
	for i, b := range ascending {
		out[b] = min(b.config.Total, left/int64(len(ascending)-i))
		left -= out[b]
	}
	return out
}

// largest names the plugins with the highest limits.
func (p *Process) largest(without *Budget) string {
	var all []*Budget
	for b := range p.plugins {
		if b != without {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *Budget) int { return cmp.Or(cmp.Compare(b.config.Total, a.config.Total), byName(a, b)) })
	var out []string
	for _, b := range all[:min(3, len(all))] {
		out = append(out, fmt.Sprintf("%s (%s)", b.config.Name, inBytes(uint64(b.config.Total))))
	}
	return strings.Join(out, ", ")
}
