package equivalence

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Calls is the memory with which one worker asks plugins about those rows of a block that have no kept answer. Rows
// with the same content share the answer about the first of them.
type Calls struct {
	rows      []uint32
	positions []position
	call      uint32
	firsts    []first // by place of answers
	verdicts  plugin.Verdicts
	scores    []int64
	reasons   []translated // of the call's verdicts
	kept      []uint16     // of those that are kept: the number in the block's verdicts
	// learnt are answers for places that workers share, until all have ended.
	learnt []learnt
}

// position is one in the block, and that of its answer among the rows asked.
type position struct{ of, answer int }

// first is the answer for a place in the last call about it.
type first struct {
	call   uint32
	answer int
}

// learnt is an answer to be kept.
type learnt struct {
	answers *Answers
	row     uint32
	point   abi.Point
	code    abi.Code
	reason  uint16
	score   int64
}

// translated is the reasons of a call: their number in the block's verdicts and among
// those that are kept, if there is room.
type translated struct {
	number, kept uint16
	keep, known  bool
}

// Filter has a filter judge rows: it gives the verdicts that are kept, and has ask ask for the others in one call;
// ask returns whether the plugin answered. Filter returns how many rows it asked about.
func (c *Caches) Filter(
	w *Calls, index int, rows []uint32, v *plugin.Verdicts, ask func(rows []uint32, v *plugin.Verdicts) bool,
) (asked int) {
	v.Reset(len(rows))
	if c.Bypassed(index) || c.plugins[index].answers == nil || int(rows[0]) >= c.cycle.Snapshot.Len() { // overlay rows are of one cycle
		ask(rows, v)
		return len(rows)
	}
	k := &c.plugins[index]
	answers := k.answers
	w.kept = w.kept[:0]
	w.split(answers, rows, func(i int) bool {
		code, reason, ok := answers.Verdict(rows[i])
		if ok && code != abi.Success {
			v.Reject(i, code, w.number(v, answers, reason))
		}
		return ok
	}, c.audited(k, rows))
	if len(w.rows) == 0 {
		return 0
	}
	out := &w.verdicts
	out.Reset(len(w.rows))
	before := k.unanswered(abi.Filter)
	keep := ask(w.rows, out) && k.unanswered(abi.Filter) == before
	w.reasons = slices.Grow(w.reasons[:0], len(out.Table)+1)[:len(out.Table)+1]
	clear(w.reasons)
	for _, p := range w.positions {
		i, j := p.of, p.answer
		code, reason := out.Codes[j], &w.reasons[out.Reasons[j]]
		if !reason.known {
			*reason = translate(v, answers, out.Texts(j))
		}
		was, number, holds := answers.Verdict(rows[i])
		if keep && holds && (was != code || number != reason.kept) {
			c.demote(index, abi.Filter, rows[i])
		}
		v.Codes[i], v.Reasons[i] = code, reason.number
		if keep && rows[i] == w.rows[j] && reason.keep && (code == abi.Success || code.Rejected()) {
			w.learn(learnt{answers: answers, row: rows[i], point: abi.Filter, code: code, reason: reason.kept})
		}
	}
	return len(w.rows)
}

// Score has a plugin score rows: it gives the scores that are kept, and has ask ask for the others in one call. It
// returns how many rows it asked about.
func (c *Caches) Score(
	w *Calls, index int, rows []uint32, out []int64, ask func(rows []uint32, out []int64) *plugin.Status,
) (asked int, status *plugin.Status) {
	if c.Bypassed(index) || c.plugins[index].answers == nil {
		return len(rows), ask(rows, out)
	}
	k := &c.plugins[index]
	answers := k.answers
	w.split(answers, rows, func(i int) (ok bool) {
		out[i], ok = answers.Score(rows[i])
		return ok
	}, c.audited(k, rows))
	if len(w.rows) == 0 {
		return 0, nil
	}
	w.scores = slices.Grow(w.scores[:0], len(w.rows))[:len(w.rows)]
	clear(w.scores)
	before := k.unanswered(abi.Score)
	status = ask(w.rows, w.scores)
	keep := status.Success() && k.unanswered(abi.Score) == before
	for _, p := range w.positions {
		i, j := p.of, p.answer
		if keep && rows[i] == w.rows[j] {
			if was, known := answers.Score(rows[i]); known && was != w.scores[j] {
				c.demote(index, abi.Score, rows[i])
			}
			w.learn(learnt{answers: answers, row: rows[i], point: abi.Score, score: w.scores[j]})
		}
		out[i] = w.scores[j]
	}
	return len(w.rows), status
}

// split sets the rows to ask about, ascending: those without an answer that holds, and some of
// the others if the block is audited.
func (w *Calls) split(answers *Answers, rows []uint32, holds func(i int) bool, audit bool) {
	w.rows, w.positions = w.rows[:0], w.positions[:0]
	w.call++
	again := 0
	for i, row := range rows {
		answer := len(w.rows)
		if holds(i) {
			if !audit || again == AuditRows {
				continue
			}
			again++
		} else if answers.Shared() {
			answer = w.first(answers.Place(row))
		}
		if answer == len(w.rows) {
			w.rows = append(w.rows, row)
		}
		w.positions = append(w.positions, position{i, answer})
	}
}

// first returns the answer for a place in this call: the next one if it has none.
func (w *Calls) first(place uint32) int {
	for len(w.firsts) <= int(place) {
		w.firsts = append(w.firsts, first{})
	}
	if f := &w.firsts[place]; f.call != w.call {
		*f = first{w.call, len(w.rows)}
	}
	return w.firsts[place].answer
}

// Keep keeps the answers that the worker has for places that others read, when all workers have ended.
func (w *Calls) Keep() {
	for i := range w.learnt {
		w.learnt[i].keep()
	}
	w.learnt = w.learnt[:0]
}

// learn keeps an answer, at once if no other worker reads the place.
func (w *Calls) learn(l learnt) {
	if l.answers.Shared() {
		w.learnt = append(w.learnt, l)
	} else {
		l.keep()
	}
}

func (l *learnt) keep() {
	if l.point == abi.Filter {
		l.answers.KeepVerdict(l.row, l.code, l.reason)
	} else {
		l.answers.KeepScore(l.row, l.score)
	}
}

// translate gives the reasons of a call their numbers in v and among those that are kept.
func translate(v *plugin.Verdicts, answers *Answers, texts []string) translated {
	t := translated{known: true}
	if len(texts) > 0 {
		t.number = v.Reason(texts...)
	}
	t.kept, t.keep = answers.Reason(texts)
	return t
}

// number returns the number in v of reasons that are kept.
func (w *Calls) number(v *plugin.Verdicts, answers *Answers, reason uint16) uint16 {
	if reason == 0 {
		return 0
	}
	for len(w.kept) <= int(reason) {
		w.kept = append(w.kept, 0)
	}
	if w.kept[reason] == 0 {
		w.kept[reason] = v.Reason(answers.Texts(reason)...)
	}
	return w.kept[reason]
}
