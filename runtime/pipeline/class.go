package pipeline

import (
	"encoding/binary"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Class is an equivalence class: what filters say of each row for pods of one scheduling signature, kept from
// pod to pod. A cycle looks at the rows that changed, and not at the others. It ends at the
// first filter of scope cluster, which, as those after it, is run on the rows that passed.
type Class struct {
	run       *Run
	filters   int // how many of the run's are in the class
	watch     clock.Stopwatch
	entry     *equivalence.Entry
	signature string
	at        uint64   // in the store's changes
	rows      int      // of the snapshot
	numbers   []uint16 // by row: 0 for feasible, else of the group
	groups    verdictTable
	sizes     []group // by number of group less one
	rejected  []int   // by plugin index: the rows that it rejected
	feasible  []uint32
	sum       sum
	bytes     int64
}

// group is the rows with one verdict: how many there are, and the lowest of them.
type group struct {
	size   int
	lowest []uint32
}

// LowestKept is how many of a group's rows are known of a pod that was placed.
const LowestKept = 16

// maxGroups is how many verdicts a class tells apart.
const maxGroups = 1 << 10

// Class returns the class of the cycle's pod, with what changed taken into account, if the
// answers of its filters are kept; nil if not. Then the Outcome may be known already.
func (r *Run) Class() *Class {
	watch := clock.Start()
	c := r.class()
	if c != nil {
		c.watch = watch
	}
	return c
}

// classes is the classes of a run.
type classes struct {
	store     *equivalence.Store // nil if no answers are kept
	by        map[string]*Class  // signature
	signature []byte
	door      *equivalence.Doorkeeper
	changed   []uint32 // rows
	again     []uint32 // rows of which answers are checked
	order     []int    // of groups
	fell      []group  // by number of verdict in the Outcome
	ratings   []int64
}

func newClasses(store *equivalence.Store) classes {
	s := classes{store: store, by: make(map[string]*Class)}
	s.forget()
	return s
}

func (s *classes) drop() {
	for _, c := range s.by {
		c.entry.Remove()
	}
}

// forget drops all classes, as if no pod had come.
func (s *classes) forget() {
	if s.drop(); s.store != nil {
		s.door = s.store.Doorkeeper()
	}
}

func (r *Run) class() *Class {
	set := &r.classes
	if set.store == nil || len(r.nominated) > 0 {
		return nil
	}
	signature := binary.LittleEndian.AppendUint64(set.signature[:0], r.own.number) // a class counts positions among the filters
	filters := len(r.own.filter)
	for i, s := range r.own.filter {
		number := uint64(0)
		if !r.skipFilter[s.index] {
			if s.info.Scope(abi.Filter) != abi.ScopeNode {
				filters = i
				break
			}
			a := r.caches.Lookup(s.index)
			if a == nil {
				r.caches.Seldom()
				return nil
			}
			number = a.Number()
		}
		signature = binary.LittleEndian.AppendUint64(signature, number)
	}
	set.signature = signature
	c, ok := set.by[string(signature)]
	if !ok {
		if !set.door.Again(signature, set.store.Within()) {
			return nil
		}
		c = &Class{run: r, signature: string(signature), filters: filters, rejected: make([]int, len(r.p.infos))}
		c.entry = set.store.Enter(int64(len(signature))+classBytes, func() { delete(set.by, c.signature) })
		set.by[c.signature] = c
	}
	c.entry.Use()
	if !c.follow() {
		return nil
	}
	if !c.audit() { // a plugin was demoted, and is asked about all rows
		r.Outcome.few, r.judged = false, 0
		r.Outcome.reset(len(r.Outcome.Codes))
		return nil
	}
	r.Outcome.few = r.judged == 0
	return c
}

// classBytes is about what a Class takes besides its key and what it has of rows.
const classBytes = 1 << 10

// follow judges the rows that changed. It returns false if one of these verdicts is not
// kept, and then the Outcome has those of all rows.
func (c *Class) follow() bool {
	r := c.run
	n := r.Cycle.Snapshot.Len()
	rows, ok := r.classes.store.Changed(c.at)
	if !ok || c.rows != n {
		return c.build(n)
	}
	rows = r.classes.distinct(rows, n)
	if len(rows) == 0 {
		c.passed(0)
		return true
	}
	r.chainOf(&r.Cycle, c.own(), rows)
	r.Outcome.touched = append(r.Outcome.touched, rows...)
	for _, row := range rows {
		if !c.held(row) {
			c.fill(rows)
			return false
		}
	}
	for _, row := range rows {
		if c.move(row); len(c.sizes) > maxGroups { // most are of the past, as a rule
			c.fill(rows)
			c.entry.Remove()
			return false
		}
	}
	c.at = r.classes.store.Position()
	c.passed(len(rows))
	return true
}

// build judges all rows.
func (c *Class) build(n int) bool {
	r := c.run
	rows := r.Rows(n)
	c.rows, c.at = 0, 0
	r.chainOf(&r.Cycle, c.own(), rows)
	r.judged = c.filters
	c.groups.reset()
	c.sizes, c.feasible = c.sizes[:0], c.feasible[:0]
	c.sum.valid = false
	clear(c.rejected)
	c.numbers = slices.Grow(c.numbers[:0], n)[:n]
	for _, row := range rows {
		if !c.held(row) {
			return false
		}
		c.numbers[row] = 0
		if r.Outcome.Codes[row] == abi.Success {
			c.feasible = append(c.feasible, row)
		} else if c.join(row); len(c.sizes) > maxGroups {
			c.entry.Remove()
			return false
		}
	}
	c.rows, c.at = n, r.classes.store.Position()
	bytes := int64(cap(c.numbers))*2 + int64(cap(c.feasible))*4
	c.entry.Grow(bytes - c.bytes)
	c.bytes = bytes
	return true
}

// distinct returns rows below n once each, ascending.
func (s *classes) distinct(rows []uint32, n int) []uint32 {
	s.changed = append(s.changed[:0], rows...)
	slices.Sort(s.changed)
	s.changed = slices.Compact(s.changed)
	end, _ := slices.BinarySearch(s.changed, uint32(n))
	s.changed = s.changed[:end]
	return s.changed
}

// own returns the filters of the class.
func (c *Class) own() []stage[plugin.Filter] { return c.run.own.filter[:c.filters] }

// held reports whether the verdict that the Outcome has of a row is made of answers that
// are kept.
func (c *Class) held(row uint32) bool {
	r := c.run
	for _, s := range c.own() {
		if r.skipFilter[s.index] {
			continue
		}
		a := r.caches.Answers(s.index)
		if a == nil {
			return false
		}
		code, _, ok := a.Verdict(row)
		if !ok {
			return false
		}
		if code != abi.Success {
			return true
		}
	}
	return true
}

// move takes in the verdict that the Outcome has of a row.
func (c *Class) move(row uint32) {
	o := &c.run.Outcome
	was := c.numbers[row]
	code := o.Codes[row]
	if was == 0 {
		if code == abi.Success {
			return
		}
		at, _ := slices.BinarySearch(c.feasible, row)
		c.feasible = slices.Delete(c.feasible, at, at+1)
	} else {
		if v := &c.groups.verdicts[was-1]; code != abi.Success && v.equal(&o.table.verdicts[o.numbers[row]-1]) {
			return
		}
		c.leave(row, was)
	}
	c.numbers[row] = 0
	if code == abi.Success {
		at, _ := slices.BinarySearch(c.feasible, row)
		c.feasible = slices.Insert(c.feasible, at, row)
		return
	}
	c.join(row)
}

// join adds a row to the group of its verdict.
func (c *Class) join(row uint32) {
	o := &c.run.Outcome
	v := o.table.verdicts[o.numbers[row]-1]
	number := c.groups.number(v)
	for len(c.sizes) < int(number) {
		if len(c.sizes) < cap(c.sizes) {
			c.sizes = c.sizes[:len(c.sizes)+1]
			g := &c.sizes[len(c.sizes)-1]
			g.size, g.lowest = 0, g.lowest[:0]
			continue
		}
		c.sizes = append(c.sizes, group{lowest: make([]uint32, 0, LowestKept)})
	}
	c.numbers[row] = uint16(number)
	c.rejected[v.plugin]++
	c.sizes[number-1].add(row)
}

// leave takes a row out of a group. If it was one of the lowest, the next one is looked for.
func (c *Class) leave(row uint32, number uint16) {
	g := &c.sizes[number-1]
	c.rejected[c.groups.verdicts[number-1].plugin]--
	g.size--
	at, ok := slices.BinarySearch(g.lowest, row)
	if !ok {
		return
	}
	next := g.lowest[len(g.lowest)-1] + 1
	g.lowest = slices.Delete(g.lowest, at, at+1)
	for ; len(g.lowest) < min(g.size, LowestKept); next++ {
		if c.numbers[next] == number {
			g.lowest = append(g.lowest, next)
		}
	}
}

// add adds a row to the group.
func (g *group) add(row uint32) {
	at, _ := slices.BinarySearch(g.lowest, row)
	g.size++
	if at == LowestKept {
		return
	}
	if len(g.lowest) == LowestKept {
		g.lowest = g.lowest[:LowestKept-1]
	}
	g.lowest = slices.Insert(g.lowest, at, row)
}

// fill gives the Outcome the verdicts of all rows but some, whose it has.
func (c *Class) fill(but []uint32) {
	o := &c.run.Outcome
	numbers := make([]uint32, len(c.sizes))
	for row, number := range c.numbers {
		if len(but) > 0 && but[0] == uint32(row) {
			but = but[1:]
			continue
		}
		if number == 0 {
			continue
		}
		v := &c.groups.verdicts[number-1]
		if numbers[number-1] == 0 {
			numbers[number-1] = o.table.number(*v)
		}
		o.Codes[row], o.numbers[row] = v.code, numbers[number-1]
	}
	c.run.judged = c.filters
}

// passed counts the answers that nobody had to look at: of all rows but some.
func (c *Class) passed(looked int) {
	standing := c.rows
	for _, s := range c.own() {
		if c.run.skipFilter[s.index] {
			continue
		}
		if standing > looked {
			c.run.timings.reuse(s.index, abi.Filter, standing-looked, abi.Success)
		}
		standing -= c.rejected[s.index]
	}
}

// audit asks some filters again about some of the rows that they judge. It returns false
// if an answer is another one than was kept.
func (c *Class) audit() bool {
	r, set := c.run, &c.run.classes
	for i, s := range c.own() {
		if r.skipFilter[s.index] || !r.caches.Audits(s.index) {
			continue
		}
		set.again = set.again[:0]
		first := r.caches.AuditFrom()
		for row := first; int(row) < c.rows && row < first+plugin.BlockRows && len(set.again) < equivalence.AuditRows; row++ {
			if n := c.numbers[row]; n == 0 || c.reached(i, int(c.groups.verdicts[n-1].plugin)) {
				set.again = append(set.again, row)
			}
		}
		if len(set.again) == 0 {
			continue
		}
		w := &r.workers[0]
		r.judge(&r.Cycle, w, s, set.again, &w.verdicts)
		r.keepAnswers()
		if r.caches.Demoted(s.index) {
			return false
		}
	}
	return true
}

// reached reports whether a row that a plugin rejected had passed all filters before a position.
func (c *Class) reached(position, by int) bool {
	return !slices.ContainsFunc(c.own()[:position], func(s stage[plugin.Filter]) bool { return s.index == by })
}
