package equivalence

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Some of the kept answers are asked for again: of each plugin in one cycle of auditEvery,
// about AuditRows rows. A guest that breaks its promise is found by that, and from then on it is
// asked every time.
const (
	auditEvery = 64
	// AuditRows is about how many rows of a cycle a plugin is asked about again.
	AuditRows = 8
)

// Caches decorates the plugins of one pipeline: they are asked about those rows only of which no
// answer is kept that holds. The zero value keeps nothing and asks every time.
type Caches struct {
	store   *Store
	plugins []cached // by the plugin's index in the pipeline
	cycle   *plugin.Cycle
	seldom  bool
	broken  func(index int, point abi.Point, row uint32)
}

// cached is one of the plugins.
type cached struct {
	cache    *PluginCache // nil if no answers are kept
	fallible plugin.Fallible
	breaker  plugin.Breaker
	answers  *Answers // of this cycle; nil if none are kept
	asked    bool     // answers is that of this cycle
	audit    bool     // some answers of this cycle are asked for again
}

// NewCaches returns the caches of a pipeline's filters and scores, by the index of each plugin. A plugin that
// gives another answer than before, although nothing that it declares to read has changed, is told to broken once,
// by its index, and is asked every time from then on. Workers call broken.
func NewCaches(store *Store, plugins []plugin.Plugin, broken func(index int, point abi.Point, row uint32)) Caches {
	c := Caches{store: store, broken: broken}
	if store == nil {
		return c
	}
	c.plugins = make([]cached, len(plugins))
	for i, p := range plugins {
		if p != nil {
			k := &c.plugins[i]
			k.cache = store.PluginCache(p)
			k.fallible, _ = p.(plugin.Fallible)
			k.breaker, _ = p.(plugin.Breaker)
		}
	}
	return c
}

// Drop forgets the answers of a pipeline that is not used any more.
func (c *Caches) Drop() {
	for i := range c.plugins {
		if k := c.plugins[i].cache; k != nil {
			k.Drop()
		}
	}
}

// Inherit takes the answers of plugins that this pipeline and another one, which is dropped next, both have.
func (c *Caches) Inherit(from *Caches) {
	from.settle()
	if c.store == nil || from.store != c.store {
		return
	}
	for i := range c.plugins {
		k := &c.plugins[i]
		for j := range from.plugins {
			if other := &from.plugins[j]; k.cache != nil && other.cache != nil && other.cache.info == k.cache.info {
				k.cache.Drop()
				k.cache, other.cache = other.cache, nil
				break
			}
		}
	}
}

// Forget forgets all answers, as if no cycle had run.
func (c *Caches) Forget() {
	c.settle()
	for i := range c.plugins {
		if k := c.plugins[i].cache; k != nil {
			k.Forget()
		}
	}
}

// settle ends the use of the answers of a cycle.
func (c *Caches) settle() {
	for i := range c.plugins {
		c.plugins[i].settle()
	}
}

func (k *cached) settle() {
	if k.answers != nil {
		k.answers.Settle()
		k.answers = nil
	}
}

// Begin begins a cycle; last is the plugins that applied in the cycle before.
func (c *Caches) Begin(cycle *plugin.Cycle, last []int) {
	if c.store == nil {
		return
	}
	for _, i := range last {
		k := &c.plugins[i]
		k.settle()
		k.asked, k.audit = false, false
	}
	c.cycle, c.seldom = cycle, false
	c.store.Trim(cycle.Snapshot.Len())
	c.store.Follow(cycle.Snapshot)
}

// Seldom says that no pod came lately that is equivalent to the cycle's to all plugins.
func (c *Caches) Seldom() { c.seldom = true }

// Lookup returns the answers of a plugin that are kept for the cycle's pod; nil if none are. A plugin whose breaker
// is open is not asked, and gives no answers. A pod that waits for a resize is equivalent to no other.
func (c *Caches) Lookup(index int) *Answers {
	if c.store == nil || c.cycle.Resize {
		return nil
	}
	k := &c.plugins[index]
	if k.cache == nil || k.cache.Demoted() {
		k.answers = nil // those of this cycle, too
		return nil
	}
	if k.asked {
		return k.answers
	}
	k.asked = true
	if k.breaker != nil {
		if _, open := k.breaker.RetryAt(c.cycle.Pod.Namespace); open {
			return nil
		}
	}
	var namespace *state.Namespace
	if row, ok := c.cycle.Snapshot.NamespaceRow(c.cycle.Pod.Namespace); ok {
		namespace = c.cycle.Snapshot.Namespaces.Namespace[row]
	}
	k.answers = k.cache.Lookup(c.cycle, namespace)
	k.audit = (c.cycle.Seed>>1+uint64(index))%auditEvery == 0
	return k.answers
}

// Bypassed reports whether kept answers of a plugin are of no use: if all rows are looked at
// for a pod that is equivalent to no other, it costs no more to ask a plugin that is compiled in.
func (c *Caches) Bypassed(index int) bool {
	return c.store == nil || c.seldom && !c.Guest(index)
}

// Guest reports whether calls of a plugin may fail, and cost more than a look at kept answers.
func (c *Caches) Guest(index int) bool { return c.store != nil && c.plugins[index].fallible != nil }

// Answers returns the answers that Lookup found in this cycle; nil if there are none.
func (c *Caches) Answers(index int) *Answers { return c.plugins[index].answers }

// Demoted reports whether a plugin's answers are not kept any more.
func (c *Caches) Demoted(index int) bool { return c.plugins[index].cache.Demoted() }

// Audits reports whether a plugin is asked again about some rows in this cycle, from AuditFrom on.
func (c *Caches) Audits(index int) bool { return c.plugins[index].audit }

// AuditFrom is the first row of the block in which some answers are asked for again.
func (c *Caches) AuditFrom() uint32 {
	blocks := uint32(c.cycle.Snapshot.Len()+plugin.BlockRows-1) / plugin.BlockRows
	return uint32(c.cycle.Seed>>32) % blocks * plugin.BlockRows
}

// audited reports whether a block is the one in which some answers are asked for again.
func (c *Caches) audited(k *cached, rows []uint32) bool {
	return k.audit && rows[0]/plugin.BlockRows == c.AuditFrom()/plugin.BlockRows
}

// demote ends the keeping of a plugin's answers.
func (c *Caches) demote(index int, point abi.Point, row uint32) {
	if c.plugins[index].cache.Demote() && c.broken != nil {
		c.broken(index, point, row)
	}
}

// unanswered returns how many calls of a point ended without an answer of the plugin.
func (k *cached) unanswered(point abi.Point) int64 {
	if k.fallible == nil {
		return 0
	}
	return k.fallible.Unanswered(point)
}
