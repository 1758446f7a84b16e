package pipeline

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/reuse"
	"github.com/berth-scheduler/berth/runtime/state"
)

// A share of the kept answers is asked again: each plugin in one cycle of auditEvery,
// about auditRows rows. A guest that breaks its promise is found by that, and from then
// on it is asked every time.
const (
	auditEvery = 64
	auditRows  = 8
)

// Broken is an answer of a plugin of scope node that was another one when it was asked
// again, although nothing that it declares to read had changed.
type Broken struct {
	Plugin *plugin.Info
	Pod    *state.Pod
	Node   string
	Point  abi.Point
}

// keeping is how a run keeps the answers of one plugin.
type keeping struct {
	keeper   *reuse.Keeper // nil if none are kept
	fallible plugin.Fallible
	breaker  plugin.Breaker
	answers  *reuse.Answers // of this cycle; nil if none are kept
	asked    bool           // answers is that of this cycle
	audit    bool           // some answers of this cycle are asked again
}

// keep makes a run keep answers in a store.
func (r *Run) keep(store *reuse.Store) {
	r.keeping, r.store, r.classes = make([]keeping, len(r.p.infos)), store, make(map[string]*Class)
	r.classOnce = store.Once()
	add := func(p plugin.Plugin, index int) {
		k := &r.keeping[index]
		if k.keeper != nil {
			return
		}
		k.keeper = store.Keeper(p)
		k.fallible, _ = p.(plugin.Fallible)
		k.breaker, _ = p.(plugin.Breaker)
	}
	for _, s := range r.p.points.filter {
		add(s.plugin, s.index)
	}
	for _, s := range r.p.points.score {
		add(s.plugin, s.index)
	}
}

// Drop forgets the answers of a run that is not used any more.
func (r *Run) Drop() {
	for _, c := range r.classes {
		c.entry.Remove()
	}
	for i := range r.keeping {
		if k := r.keeping[i].keeper; k != nil {
			k.Drop()
		}
	}
}

// Inherit drops another run, which is not used any more, but for the answers of plugins that this
// one has too.
func (r *Run) Inherit(from *Run) {
	from.settle()
	for i, info := range r.p.infos {
		at := slices.Index(from.p.infos, info)
		if at < 0 || r.store == nil || from.store != r.store || r.keeping[i].keeper == nil || from.keeping[at].keeper == nil {
			continue
		}
		r.keeping[i].keeper.Drop()
		r.keeping[i].keeper, from.keeping[at].keeper = from.keeping[at].keeper, nil
	}
	from.Drop()
}

// DropAnswers forgets all answers, as if no cycle had run.
func (r *Run) DropAnswers() {
	if r.store == nil {
		return
	}
	r.settle()
	for _, c := range r.classes {
		c.entry.Remove()
	}
	r.classOnce = r.store.Once()
	for i := range r.keeping {
		if k := r.keeping[i].keeper; k != nil {
			k.Forget()
		}
	}
}

// settle ends the use of the answers of a cycle.
func (r *Run) settle() {
	for i := range r.keeping {
		if k := &r.keeping[i]; k.answers != nil {
			k.answers.Settle()
			k.answers = nil
		}
	}
}

// forgetAnswers ends the use of the last cycle's answers.
func (r *Run) forgetAnswers(s *state.Snapshot) {
	if r.store == nil {
		return
	}
	for _, i := range r.own.plugins { // of the last cycle
		k := &r.keeping[i]
		if k.answers != nil {
			k.answers.Settle()
		}
		k.answers, k.asked, k.audit = nil, false, false
	}
	r.unlike = false
	r.store.Trim(s.Len())
	r.store.Follow(s)
}

// answersOf returns the answers of a plugin that are kept for the cycle's pod; nil if none
// are. A plugin whose breaker is open is not asked, and gives no answers. A pod that waits for a resize is like no other.
func (r *Run) answersOf(index int) *reuse.Answers {
	if r.store == nil || r.Cycle.Resize {
		return nil
	}
	k := &r.keeping[index]
	if k.keeper != nil && k.keeper.Demoted() {
		k.answers = nil // those of this cycle, too
	}
	if k.asked || k.keeper == nil || k.keeper.Demoted() {
		return k.answers
	}
	k.asked = true
	if k.breaker != nil {
		if _, open := k.breaker.RetryAt(r.Cycle.Pod.Namespace); open {
			return nil
		}
	}
	var namespace *state.Namespace
	if row, ok := r.Cycle.Snapshot.NamespaceRow(r.Cycle.Pod.Namespace); ok {
		namespace = r.Cycle.Snapshot.Namespaces.Namespace[row]
	}
	k.answers = k.keeper.For(&r.Cycle, namespace)
	k.audit = (r.Cycle.Seed>>1+uint64(index))%auditEvery == 0
	return k.answers
}

// bypassed reports whether kept answers of a plugin are of no use: if all rows are looked at
// for a pod that is not alike to others, it costs no more to ask a plugin that is compiled in.
func (r *Run) bypassed(index int) bool {
	return r.store == nil || r.unlike && r.keeping[index].fallible == nil
}

// kept returns the answers of a plugin that workers look at; nil if there are none.
func (r *Run) kept(index int) *reuse.Answers {
	if r.bypassed(index) {
		return nil
	}
	return r.keeping[index].answers
}

// unanswered returns how many calls of a point ended without an answer of the plugin.
func (k *keeping) unanswered(point abi.Point) int64 {
	if k.fallible == nil {
		return 0
	}
	return k.fallible.Unanswered(point)
}

// audited reports whether a block is the one in which some answers are asked again.
func (r *Run) audited(k *keeping, rows []uint32) bool {
	if !k.audit {
		return false
	}
	return rows[0]/plugin.BlockRows == r.auditFrom()/plugin.BlockRows
}

// auditFrom is the first row of the block in which some answers are asked again.
func (r *Run) auditFrom() uint32 {
	blocks := uint32(r.Cycle.Snapshot.Len()+plugin.BlockRows-1) / plugin.BlockRows
	return uint32(r.Cycle.Seed>>32) % blocks * plugin.BlockRows
}

// broken demotes a plugin.
func (r *Run) broken(index int, point abi.Point, row uint32) {
	k := r.keeping[index].keeper
	if !k.Demote() {
		return
	}
	if report := r.p.broken; report != nil {
		report(Broken{Plugin: r.p.infos[index], Pod: r.Cycle.Pod, Node: r.Cycle.Snapshot.Name(row), Point: point})
	}
}

// asking is the rows of a block that a plugin is asked about. Rows with the same content
// share the answer about the first of them.
type asking struct {
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
	answers *reuse.Answers
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

// split sets the rows to ask, ascending: those without an answer that holds, and some of
// the others if the block is audited.
func (a *asking) split(answers *reuse.Answers, rows []uint32, holds func(i int) bool, audit bool) {
	a.rows, a.positions = a.rows[:0], a.positions[:0]
	a.call++
	again := 0
	for i, row := range rows {
		answer := len(a.rows)
		if holds(i) {
			if !audit || again == auditRows {
				continue
			}
			again++
		} else if answers.Shared() {
			answer = a.first(answers.Place(row))
		}
		if answer == len(a.rows) {
			a.rows = append(a.rows, row)
		}
		a.positions = append(a.positions, position{i, answer})
	}
}

// first returns the answer for a place in this call: the next one if it has none.
func (a *asking) first(place uint32) int {
	for len(a.firsts) <= int(place) {
		a.firsts = append(a.firsts, first{})
	}
	if f := &a.firsts[place]; f.call != a.call {
		*f = first{a.call, len(a.rows)}
	}
	return a.firsts[place].answer
}

// learn keeps the answers that workers left.
func (r *Run) learn() {
	for i := range r.workers {
		a := &r.workers[i].asking
		for j := range a.learnt {
			a.learnt[j].keep()
		}
		a.learnt = a.learnt[:0]
	}
}

// learn keeps an answer, at once if no other worker reads the place.
func (a *asking) learn(l learnt) {
	if l.answers.Shared() {
		a.learnt = append(a.learnt, l)
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

// judge has a filter judge rows: it gives the verdicts that are kept, and asks for the
// others in one call. It returns how many rows it asked about.
func (r *Run) judge(c *plugin.Cycle, w *worker, s stage[plugin.Filter], rows []uint32, v *plugin.Verdicts) (asked int) {
	v.Reset(len(rows))
	var answers *reuse.Answers
	if int(rows[0]) < r.Cycle.Snapshot.Len() { // overlay rows are of one cycle
		answers = r.kept(s.index)
	}
	if answers == nil {
		w.turn.wait(c, s.plugin, abi.Filter)
		r.p.filter(c, s, rows, v)
		return len(rows)
	}
	k, a := &r.keeping[s.index], &w.asking
	a.kept = a.kept[:0]
	a.split(answers, rows, func(i int) bool {
		code, reason, ok := answers.Verdict(rows[i])
		if ok && code != abi.Success {
			v.Reject(i, code, a.number(v, answers, reason))
		}
		return ok
	}, r.audited(k, rows))
	if len(a.rows) == 0 {
		return 0
	}
	out := &a.verdicts
	out.Reset(len(a.rows))
	w.turn.wait(c, s.plugin, abi.Filter)
	before := k.unanswered(abi.Filter)
	keep := r.p.filter(c, s, a.rows, out) && k.unanswered(abi.Filter) == before
	a.reasons = slices.Grow(a.reasons[:0], len(out.Table)+1)[:len(out.Table)+1]
	clear(a.reasons)
	for _, p := range a.positions {
		i, j := p.of, p.answer
		code, reason := out.Codes[j], &a.reasons[out.Reasons[j]]
		if !reason.known {
			*reason = a.translate(v, answers, out.Texts(j))
		}
		was, number, holds := answers.Verdict(rows[i])
		if keep && holds && (was != code || number != reason.kept) {
			r.broken(s.index, abi.Filter, rows[i])
		}
		v.Codes[i], v.Reasons[i] = code, reason.number
		if keep && rows[i] == a.rows[j] && reason.keep && (code == abi.Success || code.Rejected()) {
			a.learn(learnt{answers: answers, row: rows[i], point: abi.Filter, code: code, reason: reason.kept})
		}
	}
	return len(a.rows)
}

// translate gives the reasons of a call their numbers in v and among those that are kept.
func (a *asking) translate(v *plugin.Verdicts, answers *reuse.Answers, texts []string) translated {
	t := translated{known: true}
	if len(texts) > 0 {
		t.number = v.Reason(texts...)
	}
	t.kept, t.keep = answers.Reason(texts)
	return t
}

// number returns the number in v of reasons that are kept.
func (a *asking) number(v *plugin.Verdicts, answers *reuse.Answers, reason uint16) uint16 {
	if reason == 0 {
		return 0
	}
	for len(a.kept) <= int(reason) {
		a.kept = append(a.kept, 0)
	}
	if a.kept[reason] == 0 {
		a.kept[reason] = v.Reason(answers.Texts(reason)...)
	}
	return a.kept[reason]
}

// scored has a plugin score rows: it gives the scores that are kept, and asks for the
// others in one call. It returns how many rows it asked about.
func (r *Run) scored(w *worker, s stage[plugin.Score], rows []uint32, out []int64) (asked int, status *plugin.Status) {
	answers := r.kept(s.index)
	if answers == nil {
		w.turn.wait(&r.Cycle, s.plugin, abi.Score)
		return len(rows), r.p.ask(s.info, abi.Score, func() *plugin.Status { return s.plugin.Score(&r.Cycle, rows, out) })
	}
	k, a := &r.keeping[s.index], &w.asking
	a.split(answers, rows, func(i int) (ok bool) {
		out[i], ok = answers.Score(rows[i])
		return ok
	}, r.audited(k, rows))
	if len(a.rows) == 0 {
		return 0, nil
	}
	a.scores = slices.Grow(a.scores[:0], len(a.rows))[:len(a.rows)]
	clear(a.scores)
	w.turn.wait(&r.Cycle, s.plugin, abi.Score)
	before := k.unanswered(abi.Score)
	status = r.p.ask(s.info, abi.Score, func() *plugin.Status { return s.plugin.Score(&r.Cycle, a.rows, a.scores) })
	keep := status.Success() && k.unanswered(abi.Score) == before
	for _, p := range a.positions {
		i, j := p.of, p.answer
		if keep && rows[i] == a.rows[j] {
			if was, known := answers.Score(rows[i]); known && was != a.scores[j] {
				r.broken(s.index, abi.Score, rows[i])
			}
			a.learn(learnt{answers: answers, row: rows[i], point: abi.Score, score: a.scores[j]})
		}
		out[i] = a.scores[j]
	}
	return len(a.rows), status
}

// measured counts a call about some of the rows, whose other answers were kept.
func (w *worker) measured(index int, point abi.Point, rows, asked int, lowest abi.Code, watch clock.Stopwatch) {
	if asked > 0 {
		w.timings.add(index, point, asked, lowest, watch.Elapsed())
	}
	if reused := rows - asked; reused > 0 {
		w.timings.reuse(index, point, reused, lowest)
	}
}
