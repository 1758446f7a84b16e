package pipeline

import (
	"math"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// sum is the totals that plugins of scope node give the rows of a class, kept from pod to pod.
type sum struct {
	valid bool
	all   bool   // no other plugin scores
	at    uint64 // in the store's changes
	parts []part
	tree  equivalence.Tree
	bytes int64
}

// part is one plugin's scores of the feasible rows.
type part struct {
	stage[plugin.Score]
	answers *equivalence.Answers
	number  uint64 // of the answers
	scaling plugin.Scaling
	// What follows is of plugins with a scaling only.
	raw             []int32 // by row
	lowest, highest extreme
	from, to        int64 // the bounds that totals were made with
}

// extreme is a lowest or highest score, and how many rows have it.
type extreme struct {
	score int64
	rows  int
	lost  bool // all rows that had it are gone
}

// Scores of rows that have none: those that are not feasible, and those to which the plugin gave abi.NoScore.
const (
	absent = math.MinInt32 + iota
	unscored
)

// Sum adds up what plugins of scope node give the rows of the class. It returns false if an
// answer of theirs is not kept, and then nothing is known.
func (c *Class) Sum() bool {
	watch := clock.Start()
	ok := c.add()
	if ok {
		c.run.ran(abi.Score, nil, watch)
	}
	return ok
}

func (c *Class) add() bool {
	r, s := c.run, &c.sum
	at := 0
	s.all = true
	for _, stage := range r.own.score {
		if r.skipScore[stage.index] {
			continue
		}
		scaling, ok := scalingOf(stage.plugin)
		if !ok || stage.info.Scope(abi.Score) != abi.ScopeNode || c.filters < len(r.own.filter) && r.caches.Guest(stage.index) {
			s.all = false // a guest is asked only about rows that passed all filters
			continue
		}
		a := r.caches.Lookup(stage.index)
		if a == nil {
			return false
		}
		a.Scores()
		if at == len(s.parts) || s.parts[at].index != stage.index || s.parts[at].number != a.Number() {
			s.valid = false
			for len(s.parts) <= at {
				s.parts = append(s.parts, part{})
			}
			s.parts[at] = part{stage: stage, answers: a, number: a.Number(), scaling: scaling, raw: s.parts[at].raw[:0]}
		}
		at++
	}
	if at != len(s.parts) {
		s.valid, s.parts = false, s.parts[:at]
	}
	rows, ok := r.classes.store.Changed(s.at)
	if !ok || !s.valid {
		s.valid = c.rate(c.feasible) && c.dense()
	} else {
		s.valid = c.follows(r.classes.distinct(rows, c.rows))
	}
	s.at = r.classes.store.Position()
	return s.valid && c.auditScores()
}

// scalingOf returns how a plugin's scores are brought into range; false if not row by row.
func scalingOf(p plugin.Plugin) (plugin.Scaling, bool) {
	if scaler, ok := p.(plugin.Scaler); ok {
		return scaler.Scaling()
	}
	_, normalizes := p.(plugin.Normalize)
	return plugin.Unscaled, !normalizes
}

// rate has all plugins score rows, but for those whose scores are kept. It returns false if
// one of these scores is not kept, or none that can be scaled.
func (c *Class) rate(rows []uint32) bool {
	r := c.run
	for i := range c.sum.parts {
		p := &c.sum.parts[i]
		if len(rows) > 0 {
			r.classes.ratings = slices.Grow(r.classes.ratings[:0], len(rows))[:len(rows)]
			clear(r.classes.ratings)
			if !r.rate(p.stage, rows, r.classes.ratings).Success() {
				return false
			}
		}
		if reused := len(c.feasible) - len(rows); reused > 0 {
			r.timings.reuse(p.index, abi.Score, reused, abi.Success)
		}
		for _, row := range rows {
			score, ok := p.answers.Score(row)
			if !ok || p.scaling != plugin.Unscaled && score < 0 && score != abi.NoScore {
				return false
			}
		}
	}
	return true
}

// dense adds up all totals anew.
func (c *Class) dense() bool {
	s, r := &c.sum, c.run
	n := c.rows
	for i := range s.parts {
		p := &s.parts[i]
		if p.scaling == plugin.Unscaled {
			continue
		}
		if len(p.raw) != n {
			p.raw = slices.Grow(p.raw[:0], n)[:n]
		}
		for row := range p.raw {
			p.raw[row] = absent
		}
		for _, row := range c.feasible {
			p.raw[row] = p.score(row)
		}
		p.search(c.feasible)
		p.from, p.to = p.scaling.Bounds(p.lowest.score, p.highest.score)
	}
	r.classes.ratings = slices.Grow(r.classes.ratings[:0], len(c.feasible))[:len(c.feasible)]
	for i, row := range c.feasible {
		total, ok := c.total(row)
		if !ok {
			return false
		}
		r.classes.ratings[i] = total
	}
	s.tree.Build(n, c.feasible, r.classes.ratings)
	bytes := s.tree.Bytes()
	for i := range s.parts {
		bytes += int64(cap(s.parts[i].raw)) * 4
	}
	c.entry.Grow(bytes - s.bytes)
	s.bytes = bytes
	return true
}

// total returns the sum of a row's scores; false if one of them is out of range.
func (c *Class) total(row uint32) (total int64, ok bool) {
	for i := range c.sum.parts {
		p := &c.sum.parts[i]
		score, _ := p.answers.Score(row)
		if score = p.scaling.Apply(score, p.from, p.to); score < abi.MinScore || score > abi.MaxScore {
			return 0, false
		}
		total += score * p.weight
	}
	return total, true
}

// follows takes in rows that changed.
func (c *Class) follows(rows []uint32) bool {
	s, r := &c.sum, c.run
	r.standing = r.standing[:0]
	for _, row := range rows {
		if c.numbers[row] == 0 {
			r.standing = append(r.standing, row)
		}
	}
	if !c.rate(r.standing) {
		return false
	}
	for i := range s.parts {
		if p := &s.parts[i]; p.scaling != plugin.Unscaled && !c.extremes(p, rows) {
			return c.dense()
		}
	}
	for _, row := range rows {
		if c.numbers[row] != 0 {
			s.tree.Remove(row)
			continue
		}
		total, ok := c.total(row)
		if !ok {
			return false
		}
		s.tree.Set(row, total)
	}
	return true
}

// extremes takes in the scores of rows that changed. It returns false if the bounds are
// others now, so that all totals are.
func (c *Class) extremes(p *part, rows []uint32) bool {
	for _, row := range rows {
		if was := p.raw[row]; was != absent {
			p.exclude(was)
		}
		p.raw[row] = absent
		if c.numbers[row] == 0 {
			p.raw[row] = p.score(row)
			p.include(p.raw[row])
		}
	}
	if p.highest.lost || p.lowest.lost && p.scaling == plugin.Spread {
		p.search(c.feasible)
	}
	from, to := p.scaling.Bounds(p.lowest.score, p.highest.score)
	return from == p.from && to == p.to
}

// search looks for the extremes among all feasible rows.
func (p *part) search(feasible []uint32) {
	p.lowest, p.highest = extreme{}, extreme{}
	for _, row := range feasible {
		p.include(p.raw[row])
	}
}

// score returns the score that is kept of a row; those that are have 32 bits.
func (p *part) score(row uint32) int32 {
	score, _ := p.answers.Score(row)
	if score == abi.NoScore {
		return unscored
	}
	return int32(score)
}

func (p *part) include(raw int32) {
	if raw == unscored {
		return
	}
	score := int64(raw)
	if e := &p.lowest; e.rows == 0 && !e.lost || score < e.score {
		*e = extreme{score: score, rows: 1}
	} else if score == e.score {
		e.rows, e.lost = e.rows+1, false
	}
	if e := &p.highest; e.rows == 0 && !e.lost || score > e.score {
		*e = extreme{score: score, rows: 1}
	} else if score == e.score {
		e.rows, e.lost = e.rows+1, false
	}
}

func (p *part) exclude(raw int32) {
	score := int64(raw)
	for _, e := range [...]*extreme{&p.lowest, &p.highest} {
		if score == e.score {
			e.rows--
			e.lost = e.rows == 0
		}
	}
}

// auditScores asks some plugins again about some of the feasible rows. It returns false if
// an answer is another one than was kept.
func (c *Class) auditScores() bool {
	r := c.run
	for i := range c.sum.parts {
		p := &c.sum.parts[i]
		if !r.caches.Audits(p.index) {
			continue
		}
		from, _ := slices.BinarySearch(c.feasible, r.caches.AuditFrom())
		rows := c.feasible[from:min(from+equivalence.AuditRows, len(c.feasible))]
		if len(rows) == 0 {
			continue
		}
		r.classes.ratings = slices.Grow(r.classes.ratings[:0], len(rows))[:len(rows)]
		r.scoreRows(&r.workers[0], p.stage, rows, r.classes.ratings)
		r.keepAnswers()
		if r.caches.Demoted(p.index) {
			c.sum.valid = false
			return false
		}
	}
	return true
}

// Decides reports whether the sum has all scores of all feasible rows, after Sum.
func (c *Class) Decides() bool { return c.sum.all && c.filters == len(c.run.own.filter) }

// Tree has the totals, after Sum, if it decides.
func (c *Class) Tree() *equivalence.Tree { return &c.sum.tree }

// Len returns the number of plugins that scored, after Sum, if it decides.
func (c *Class) Len() int { return len(c.sum.parts) }

// At returns what the i-th plugin gave a feasible row.
func (c *Class) At(i int, row uint32) (name string, raw, normalized, weighted int64) {
	return c.sum.parts[i].at(row)
}

func (p *part) at(row uint32) (name string, raw, normalized, weighted int64) {
	raw, _ = p.answers.Score(row)
	normalized = p.scaling.Apply(raw, p.from, p.to)
	return p.info.Name, raw, normalized, normalized * p.weight
}
