package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Filter runs the filter chain over rows, which are ascending, and returns the
// feasible ones, ascending.
//
// With want below the number of rows the search goes through them from index
// start on, around the end, and stops at the want-th feasible row, whatever the
// number of workers; looked tells how many rows it went past. A row's verdict is
// that of the first plugin that rejected it. A verdict that is neither success
// nor a rejection fails the attempt and ends the search; the lowest such row counts.
func (r *Run) Filter(rows []uint32, start, want int) (feasible []uint32, looked int, status *plugin.Status) {
	watch := clock.Start()
	feasible, looked, status = r.filter(rows, start, want)
	r.ran(abi.Filter, status, watch)
	return feasible, looked, status
}

func (r *Run) filter(rows []uint32, start, want int) (feasible []uint32, looked int, status *plugin.Status) {
	if status := r.filterNominated(rows); !status.Success() {
		return nil, 0, status
	}
	r.feasible = r.feasible[:0]
	o := &r.Outcome
	o.Evaluated = o.Evaluated[:0]
	if want >= len(rows) {
		r.chainOf(&r.Cycle, r.own.filter[r.judged:], rows)
		o.Evaluated = append(o.Evaluated, rows...)
		r.feasible = append(r.feasible, r.stand(rows)...)
	} else {
		size := max(want, 256)
		for failed := false; looked < len(rows) && len(r.feasible) < want && !failed; {
			from := (start + looked) % len(rows)
			chunk := rows[from:min(from+size, len(rows), from+len(rows)-looked)]
			r.chain(&r.Cycle, chunk)
			for _, row := range chunk {
				looked++
				o.Evaluated = append(o.Evaluated, row)
				if code := o.Codes[row]; code != abi.Success {
					failed = failed || !code.Rejected()
				} else if r.feasible = append(r.feasible, row); len(r.feasible) == want {
					break
				}
			}
		}
	}
	if status := r.firstError(o.Evaluated); status != nil {
		return nil, len(o.Evaluated), status
	}
	if want < len(rows) {
		slices.Sort(r.feasible)
	}
	return r.feasible, len(o.Evaluated), nil
}

// filterNominated runs the chain on rows with nominated pods added, each with a
// state of its own. Those that fail keep that verdict; the others are judged
// once more without the nominated pods, since those may go elsewhere.
func (r *Run) filterNominated(rows []uint32) *plugin.Status {
	for i := range r.nominated {
		n := &r.nominated[i]
		if _, ok := slices.BinarySearch(rows, n.row); !ok {
			continue
		}
		t := hypothetical{run: r, cycle: r.Cycle, base: n.row, row: n.overlay}
		t.cycle.State = r.Cycle.State.Clone()
		for _, pod := range n.pods {
			if status := t.told(pod); !status.Success() {
				return status
			}
		}
		r.chain(&t.cycle, []uint32{n.overlay})
		r.Outcome.copyRow(n.row, n.overlay)
	}
	return nil
}

// chain runs the filters in order over those rows that still stand. Neighbours
// of scope node run block by block, each block through all of them; a filter of
// scope cluster sees all standing rows in one call.
func (r *Run) chain(c *plugin.Cycle, rows []uint32) { r.chainOf(c, r.own.filter, rows) }

// chainOf is chain with some of the filters.
func (r *Run) chainOf(c *plugin.Cycle, filters []stage[plugin.Filter], rows []uint32) {
	for i := 0; i < len(filters); {
		first := filters[i]
		if r.skipFilter[first.index] {
			i++
			continue
		}
		end := i + 1
		if first.info.Scope(abi.Filter) == abi.ScopeNode {
			for end < len(filters) && (r.skipFilter[filters[end].index] || filters[end].info.Scope(abi.Filter) == abi.ScopeNode) {
				end++
			}
		}
		r.segment(c, filters[i:end], r.stand(rows), first.info.Scope(abi.Filter))
		i = end
	}
}

// stand returns the rows that no filter rejected yet.
func (r *Run) stand(rows []uint32) []uint32 {
	r.standing = r.standing[:0]
	for _, row := range rows {
		if r.Outcome.Codes[row] == abi.Success {
			r.standing = append(r.standing, row)
		}
	}
	return r.standing
}

func (r *Run) segment(c *plugin.Cycle, filters []stage[plugin.Filter], rows []uint32, scope abi.Scope) {
	if len(rows) == 0 {
		return
	}
	r.blocks = r.blocks[:0]
	if scope == abi.ScopeNode {
		r.blocks = cut(rows, r.blocks)
	} else {
		r.blocks = append(r.blocks, rows)
	}
	for len(r.tables) < len(r.blocks) {
		r.tables = append(r.tables, nil)
	}
	if scope == abi.ScopeNode {
		for _, s := range filters {
			if r.skipFilter[s.index] || r.caches.Bypassed(s.index) {
				continue
			}
			if a := r.caches.Lookup(s.index); a != nil {
				a.Verdicts()
			}
		}
	}
	r.turns.begin(r.blocks)
	r.p.workers.do(len(r.blocks), func(w, block int) {
		defer r.turns.end(block)
		r.workers[w].turn = turn{of: &r.turns, block: block}
		defer func() { r.workers[w].turn = turn{} }()
		r.block(c, &r.workers[w], filters, r.blocks[block])
		r.tables[block] = append(r.tables[block][:0], r.workers[w].table.verdicts...)
	})
	r.keepAnswers()
	// Blocks numbered their verdicts by themselves; join them in block order, so
	// that numbers do not depend on who was first.
	o := &r.Outcome
	for i, block := range r.blocks {
		if len(r.tables[i]) == 0 {
			continue
		}
		r.numbers = r.numbers[:0]
		for _, v := range r.tables[i] {
			r.numbers = append(r.numbers, o.table.number(v))
		}
		for _, row := range block {
			if n := o.numbers[row]; n != 0 {
				o.numbers[row] = r.numbers[n-1]
			}
		}
	}
}

// block runs filters over one block of rows, leaving out rows as they fall.
func (r *Run) block(c *plugin.Cycle, w *worker, filters []stage[plugin.Filter], rows []uint32) {
	o := &r.Outcome
	w.rows = append(w.rows[:0], rows...)
	w.table.reset()
	standing := w.rows
	for _, s := range filters {
		if len(standing) == 0 {
			return
		}
		if r.skipFilter[s.index] {
			w.turn.pass(s.plugin)
			continue
		}
		v := &w.verdicts
		watch := clock.Start()
		asked := r.judge(c, w, s, standing, v)
		w.numbers = slices.Grow(w.numbers[:0], len(v.Table)+1)[:len(v.Table)+1]
		clear(w.numbers)
		kept, lowest := 0, v.Codes[0]
		for i, row := range standing {
			code := v.Codes[i]
			lowest = min(lowest, code)
			if code == abi.Success {
				standing[kept] = row
				kept++
				continue
			}
			n := &w.numbers[v.Reasons[i]]
			if n.number == 0 || n.code != code {
				*n = numbered{code: code, number: w.table.number(verdict{plugin: uint8(s.index), code: code, texts: v.Texts(i)})}
			}
			o.Codes[row], o.numbers[row] = code, n.number
		}
		w.turn.pass(s.plugin)
		w.measured(s.index, abi.Filter, len(standing), asked, lowest, watch)
		standing = standing[:kept]
	}
}

// firstError returns the failure of the lowest row whose verdict is neither
// success nor a rejection.
func (r *Run) firstError(rows []uint32) *plugin.Status {
	o := &r.Outcome
	if !o.table.failed() {
		return nil
	}
	lowest := -1
	for _, row := range rows {
		if code := o.Codes[row]; code != abi.Success && !code.Rejected() && (lowest < 0 || int(row) < lowest) {
			lowest = int(row)
		}
	}
	if lowest < 0 {
		return nil
	}
	row := uint32(lowest)
	index, _ := o.Group(row)
	name := r.p.infos[index].Name
	answer := &plugin.Status{Code: o.Codes[row], Reasons: o.Texts(row)}
	err := answer.AsError()
	if err == nil {
		err = fmt.Errorf("unexpected status %s", answer.Code)
	}
	if err.Error() == "" {
		err = errors.New("no reason given")
	}
	return plugin.Fail(fmt.Errorf("running Filter plugin %q on node %q: %w", name, r.Cycle.Snapshot.Name(row), err)).By(name)
}

// Details returns what a filter says besides of rows that it rejected for the same reasons.
func (r *Run) Details(index int, rows []uint32) []plugin.Detail {
	for _, s := range r.own.filter {
		if p, ok := s.plugin.(plugin.Detailer); ok && s.index == index {
			return p.Details(&r.Cycle, rows)
		}
	}
	return nil
}
