package pipeline

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Feasible runs the other filters, and returns the rows that all passed, ascending. It returns
// none if a filter failed, too. Then the Outcome has the verdicts of all rows.
func (c *Class) Feasible() []uint32 {
	r, o := c.run, &c.run.Outcome
	rows := c.feasible
	r.classes.fell = r.classes.fell[:0]
	if c.filters < len(r.own.filter) {
		r.chainOf(&r.Cycle, r.own.filter[c.filters:], rows)
		o.few = false
		r.feasible = append(r.feasible[:0], r.stand(rows)...)
		if rows = r.feasible; o.table.failed() {
			rows = nil
		}
	}
	if len(rows) == 0 {
		c.fill(nil)
		o.few, r.judged = false, len(r.own.filter)
	} else if len(rows) < len(c.feasible) {
		c.fallen()
	}
	r.ran(abi.Filter, nil, c.watch)
	return rows
}

// fallen groups the rows that other filters rejected.
func (c *Class) fallen() {
	r, o := c.run, &c.run.Outcome
	r.classes.fell = slices.Grow(r.classes.fell, o.Groups())[:o.Groups()]
	for i := range r.classes.fell {
		r.classes.fell[i] = group{lowest: r.classes.fell[i].lowest[:0]}
	}
	for _, row := range c.feasible {
		if n := o.numbers[row]; n != 0 {
			g := &r.classes.fell[n-1]
			if g.size++; len(g.lowest) < LowestKept {
				g.lowest = append(g.lowest, row)
			}
		}
	}
}

// Groups calls yield for each group of rows with one verdict, in the order of the lowest
// rows, which is those that are kept, or all.
func (c *Class) Groups(all bool, yield func(by *plugin.Info, code abi.Code, reasons []string, size int, rows []uint32)) {
	r := c.run
	order := r.classes.order[:0]
	at := func(i int) (*group, *verdict) {
		if other := i - len(c.sizes); other >= 0 {
			return &r.classes.fell[other], &r.Outcome.table.verdicts[other]
		}
		return &c.sizes[i], &c.groups.verdicts[i]
	}
	for i := range len(c.sizes) + len(r.classes.fell) {
		if g, _ := at(i); g.size > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, _ := at(a)
		y, _ := at(b)
		return int(x.lowest[0]) - int(y.lowest[0])
	})
	r.classes.order = order
	for _, i := range order {
		g, v := at(i)
		rows := g.lowest
		if all {
			rows = c.all(i, make([]uint32, 0, g.size))
		}
		yield(r.p.infos[v.plugin], v.code, v.texts, g.size, rows)
	}
}

// all appends all rows of a group.
func (c *Class) all(i int, rows []uint32) []uint32 {
	if other := i - len(c.sizes); other >= 0 {
		for _, row := range c.feasible {
			if int(c.run.Outcome.numbers[row]) == other+1 {
				rows = append(rows, row)
			}
		}
		return rows
	}
	for row, number := range c.numbers {
		if int(number) == i+1 {
			rows = append(rows, uint32(row))
		}
	}
	return rows
}

// Score adds what the other plugins give the feasible rows, after Sum, as Run.Score does.
func (c *Class) Score(rows []uint32) *plugin.Status {
	watch := clock.Start()
	status := c.score(rows)
	c.run.ran(abi.Score, status, watch)
	return status
}

func (c *Class) score(rows []uint32) *plugin.Status {
	r, parts := c.run, c.sum.parts
	out := &r.Scores
	out.rows, out.Totals = rows, slices.Grow(out.Totals[:0], len(rows))[:len(rows)]
	for i, row := range rows {
		out.Totals[i] = c.sum.tree.Total(row)
	}
	for _, stage := range r.own.score {
		switch {
		case r.skipScore[stage.index]:
		case len(parts) > 0 && parts[0].index == stage.index:
			out.used = append(out.used, scored{kept: parts[0]})
			parts = parts[1:]
			if len(rows) < len(c.feasible) {
				out.used[len(out.used)-1].kept.narrow(rows, out.Totals)
			}
		default:
			if status := r.scoreBy(stage, rows); !status.Success() {
				return status
			}
		}
	}
	return nil
}

// narrow takes into account that only these rows are feasible: their extremes may be others.
func (p *part) narrow(rows []uint32, totals []int64) {
	if p.from == p.to { // as those of any rows then
		return
	}
	was := *p
	p.search(rows)
	if p.from, p.to = p.scaling.Bounds(p.lowest.score, p.highest.score); p.from == was.from && p.to == was.to {
		return
	}
	for i, row := range rows {
		score := int64(p.raw[row])
		totals[i] += (p.scaling.Apply(score, p.from, p.to) - p.scaling.Apply(score, was.from, was.to)) * p.weight
	}
}
