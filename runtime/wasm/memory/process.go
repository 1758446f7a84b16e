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
//
// A new version for which there is no room beside the old one takes its place: both count as one, as much as the
// larger of them, until the old one has left.
type Process struct {
	total int64
	// mu guards plugins and modules. It is taken before a plugin's own mutex.
	mu      sync.Mutex
	plugins map[*Budget]*claim
	modules map[string]*code // by digest
}

// claim is the least memory that a plugin needs and the most that it may have, in bytes. by is its replacement, if both count
// as one plugin; otherwise nil.
type claim struct {
	least, most int64
	by          *Budget
}

// Total returns the memory of all plugins, in bytes.
func (p *Process) Total() int64 { return p.total }

// Free returns what neither modules nor plugins need as they run now, in bytes. A share counts only as far as it is needed.
func (p *Process) Free() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	needs := make(map[*Budget]int64, len(p.plugins)) // by the last one of those that count as one
	for b, c := range p.plugins {
		last := p.last(b)
		needs[last] = max(needs[last], c.least, b.needed.Load())
	}
	free := p.left()
	for _, need := range needs {
		free -= need
	}
	return max(free, 0)
}

// code is a module in use. Its size is that of its bytes and of the machine code of all its instances. by is the digest of its
// replacement, if both count as one module; otherwise empty.
type code struct {
	size  int64
	users int
	by    string
}

// NewProcess returns the memory of a process; 0 stands for DefaultProcess.
func NewProcess(total int64) *Process {
	return &Process{total: cmp.Or(total, DefaultProcess), plugins: make(map[*Budget]*claim), modules: make(map[string]*code)}
}

// Load counts a module of a digest for one more user, once for all of them. Plugins have less by its size.
// replaces (optional) is the digest of a module whose users will all leave.
//
// # Errors
//
// A *Full: a plugin would have less than it needs.
func (p *Process) Load(digest string, size int64, replaces string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, was := p.modules[digest], ""
	if m == nil {
		m = &code{size: size}
		p.modules[digest] = m
	}
	was, m.by = m.by, "" // it stays
	err := p.divide(size)
	if old := p.modules[replaces]; err != nil && old != nil && old != m && old.by == "" {
		old.by = digest
		if err = p.divide(size); err != nil {
			old.by = ""
		}
	}
	if err != nil {
		if m.by = was; m.users == 0 {
			delete(p.modules, digest)
		}
		return err
	}
	m.users++
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
	if p.left() < 0 || len(p.short(shares)) > 0 {
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
		for _, o := range p.modules {
			if o.by == digest {
				o.by = m.by
			}
		}
		p.give(p.shares())
	}
}

// Full means that there is no memory for one more plugin. The text names others.
type Full struct{ text string }

func (f *Full) Error() string { return f.text }

// join gives a plugin its share, and reduces those of others if need be. replaces (optional) is the plugin whose place it
// may take.
//
// # Errors
//
// A *Full: a share would be less than its plugin needs.
func (p *Process) join(b *Budget, least int64, replaces *Budget) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plugins[b] = &claim{least: least, most: b.config.Total}
	shares := p.shares()
	short := p.short(shares)
	if old := p.plugins[replaces]; len(short) > 0 && old != nil && old.by == nil {
		old.by = b
		if together := p.shares(); len(p.short(together)) == 0 {
			p.give(together)
			return nil
		}
		old.by = nil
	}
	if len(short) > 0 {
		delete(p.plugins, b)
		c, need := short[0], least
		if c != b {
			need = p.plugins[c].least
		}
		return &Full{fmt.Sprintf("with %d plugins in this process, of whose memory there is %s, "+
			"%s would have %s, and it needs %s at least; the largest are %s: "+
			"raise --plugin-memory, or lower limits.memoryTotal or limits.memory of a plugin", len(shares), inBytes(uint64(p.total)), c.config.Name,
			inBytes(uint64(shares[c])), inBytes(uint64(need)), p.largest(b))}
	}
	p.give(shares)
	return nil
}

// short returns the plugins that would have less than they need, by name.
func (p *Process) short(shares map[*Budget]int64) (out []*Budget) {
	for b, share := range shares {
		if share < p.plugins[b].least {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, byName)
	return out
}

func byName(a, b *Budget) int { return strings.Compare(a.config.Name, b.config.Name) }

// retire lowers what a plugin may have to what it needs from now on. If it counted as one with the plugin that took its
// place and there is room for both now, they are counted apart.
func (p *Process) retire(b *Budget, needs int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.plugins[b]
	by := c.by
	*c = claim{least: needs, most: needs}
	if by != nil && len(p.short(p.shares())) > 0 {
		c.by = by
	}
	p.give(p.shares())
}

// leave takes a plugin's share back.
func (p *Process) leave(b *Budget) {
	p.mu.Lock()
	defer p.mu.Unlock()
	by := p.plugins[b].by
	delete(p.plugins, b)
	for _, c := range p.plugins {
		if c.by == b {
			c.by = by
		}
	}
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
	sizes := make(map[string]int64) // by the last one of those that count as one
	for digest, m := range p.modules {
		for at := m; at.by != ""; at = p.modules[digest] {
			digest = at.by
		}
		sizes[digest] = max(sizes[digest], m.size)
	}
	left := p.total
	for _, size := range sizes {
		left -= size
	}
	return left
}

// last returns the last one of the plugins that count as one with b.
func (p *Process) last(b *Budget) *Budget {
	for p.plugins[b].by != nil {
		b = p.plugins[b].by
	}
	return b
}

// shares divides the memory that modules leave: no plugin gets more than its limit, and those that get less
// get the same.
func (p *Process) shares() map[*Budget]int64 {
	last, most := make(map[*Budget]*Budget, len(p.plugins)), make(map[*Budget]int64, len(p.plugins))
	for b, c := range p.plugins {
		at := p.last(b)
		last[b], most[at] = at, max(most[at], c.most)
	}
	ascending := slices.SortedFunc(maps.Keys(most), func(a, b *Budget) int { return cmp.Compare(most[a], most[b]) })
	left, shares := p.left(), make(map[*Budget]int64, len(ascending))
	for i, b := range ascending {
		shares[b] = min(most[b], left/int64(len(ascending)-i))
		left -= shares[b]
	}
	out := make(map[*Budget]int64, len(last))
	for b, at := range last {
		out[b] = min(p.plugins[b].most, shares[at])
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
