package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// tally is what a plugin did at a point.
type tally struct {
	calls, fuel int64
	took        time.Duration
	// answers counts them, in words; scores are those of nodes that got one.
	answers   map[string]int
	scores    int
	low, high int64
}

// of returns the tally of a point; nil while nothing is counted.
func (h *hosted) of(p abi.Point) *tally {
	if h.tallies == nil {
		return nil
	}
	t := h.tallies[p]
	if t == nil {
		t = &tally{answers: map[string]int{}}
		h.tallies[p] = t
	}
	return t
}

// call makes a call of a point.
func (h *hosted) call(p abi.Point, call func()) {
	t := h.of(p)
	if t == nil {
		call()
		return
	}
	fuel, start := h.plugin.Fuel(), time.Now()
	call()
	t.took += time.Since(start)
	t.fuel += h.plugin.Fuel() - fuel
	t.calls++
}

// answered counts the answer of a call as a whole, or about a pod.
func (h *hosted) answered(p abi.Point, s *plugin.Status) {
	if t := h.of(p); t != nil {
		t.answers[inWords(s.CodeOf(), s.AllReasons())]++
	}
}

// judged counts the verdicts of a call of filter.
func (h *hosted) judged(v *plugin.Verdicts) {
	t := h.of(abi.Filter)
	if t == nil {
		return
	}
	for i, code := range v.Codes {
		var reasons []string
		if n := v.Reasons[i]; n > 0 {
			reasons = v.Table[n-1]
		}
		t.answers[inWords(code, reasons)]++
	}
}

// scored counts the scores of a pod's nodes.
func (h *hosted) scored(p abi.Point, scores []int64) {
	t := h.of(p)
	if t == nil {
		return
	}
	if t.scores == 0 {
		t.low, t.high = scores[0], scores[0]
	}
	t.low, t.high = min(t.low, slices.Min(scores)), max(t.high, slices.Max(scores))
	t.scores += len(scores)
}

func inWords(code abi.Code, reasons []string) string {
	if len(reasons) == 0 {
		return code.String()
	}
	return code.String() + " (" + strings.Join(reasons, ", ") + ")"
}

// countedRounds is how often each pod is placed while calls are counted. It is fixed, so that the fuel is the same on every run.
const countedRounds = 2

// benchedPoints are the points that bench calls.
func benchedPoints() []abi.Point {
	return []abi.Point{
		abi.PreEnqueue, abi.QueueSort, abi.PreFilter, abi.Filter, abi.PreScore, abi.Score, abi.Normalize,
		abi.Reserve, abi.Permit, abi.PreBind, abi.Unreserve,
	}
}

// count places the pods at all points of bench, and counts; used is for one of the pods. What it counts does not depend on time.
func (h *hosted) count() (used counts, placed int, tallies map[abi.Point]*tally) {
	for i := range countedRounds * len(h.pods) { // the first rounds copy strings
		h.place(i)
	}
	h.tallies = map[abi.Point]*tally{}
	var sum counts
	for range countedRounds {
		h.queued()
		for i := range h.pods {
			before := h.counts()
			row, ok := h.place(i)
			now := h.counts().since(before, 1)
			sum.fuel, sum.written, sum.calls = sum.fuel+now.fuel, sum.written+now.written, sum.calls+now.calls
			if placed++; ok {
				h.reserve(row)
			}
		}
	}
	tallies, h.tallies = h.tallies, nil
	return sum.since(counts{}, placed), placed, tallies
}

// queued calls the points of the queue about all pods at once.
func (h *hosted) queued() {
	if h.has(abi.PreEnqueue) {
		out := make([]*plugin.Status, len(h.pods))
		h.call(abi.PreEnqueue, func() { h.plugin.PreEnqueue(h.pods, out) })
		for _, s := range out {
			h.answered(abi.PreEnqueue, s)
		}
	}
	if h.has(abi.QueueSort) {
		queued := make([]*state.QueuedPod, len(h.pods))
		for i, pod := range h.pods {
			queued[i] = &state.QueuedPod{Pod: pod, Timestamp: time.Unix(int64(i), 0), Attempts: 1}
		}
		h.call(abi.QueueSort, func() { h.plugin.Keys(queued) })
		t := h.of(abi.QueueSort)
		for _, q := range queued {
			t.answers[fmt.Sprintf("a key of %d bytes", len(q.SortKey))]++
		}
	}
}

// reserve takes the cycle's pod through the points from reserve to preBind on a node, and back.
func (h *hosted) reserve(row uint32) {
	if !slices.ContainsFunc([]abi.Point{abi.Reserve, abi.Permit, abi.PreBind, abi.Unreserve}, h.has) {
		return
	}
	name := h.snapshot.Name(row)
	info, ok := h.cache.Node(name)
	if !ok {
		panic("BUG: the snapshot has a node that the cache lacks")
	}
	pl := &plugin.Placement{
		Context: context.Background(), Pod: h.cycle.Pod.On(name, state.Patch{}), Node: info.Node, Info: info, State: &h.state, Seed: h.turns,
	}
	on := true
	step := func(p abi.Point, f func() *plugin.Status) {
		if on && h.has(p) {
			var s *plugin.Status
			h.call(p, func() { s = f() })
			h.answered(p, s)
			on = s.Success() || p == abi.Permit && s.Is(abi.Wait)
		}
	}
	step(abi.Reserve, func() *plugin.Status {
		d, s := h.plugin.Reserve(pl)
		pl.Patch = d.Patch
		return s
	})
	step(abi.Permit, func() *plugin.Status { _, _, s := h.plugin.Permit(pl); return s })
	step(abi.PreBind, func() *plugin.Status { _, s := h.plugin.PreBind(pl); return s })
	if h.has(abi.Unreserve) {
		h.call(abi.Unreserve, func() { h.plugin.Unreserve(pl) })
	}
	h.plugin.Unassumed(pl.Pod.UID)
}

// mostAnswers is how many different answers of a point are shown.
const mostAnswers = 4

// String returns the answers, the most frequent first.
func (t *tally) String() string {
	if t.scores > 0 {
		return fmt.Sprintf("%d × %d to %d", t.scores, t.low, t.high)
	}
	texts := slices.Sorted(maps.Keys(t.answers))
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(t.answers[b], t.answers[a]) })
	rest := 0
	for i, text := range texts {
		if i >= mostAnswers {
			rest += t.answers[text]
			continue
		}
		texts[i] = fmt.Sprintf("%d × %s", t.answers[text], text)
	}
	if rest > 0 {
		texts = append(texts[:mostAnswers], fmt.Sprintf("%d × others", rest))
	}
	return strings.Join(texts, "; ")
}

// tallied prints what a plugin did at each point.
func (p *printer) tallied(b *benched) {
	p.printf("\nCalls and answers for %s on %s\n\n", count(b.pods, "pod"), count(b.nodes, "node"))
	var rows []table.Row
	for _, point := range benchedPoints() {
		if t := b.tallies[point]; t != nil {
			each := seconds(t.took.Seconds() / float64(t.calls))
			rows = append(rows, table.Row{wire.PointName(point), t.calls, each, t.fuel / t.calls, t.String()})
		}
	}
	number := func(head string) column { return column{head: head, numbers: true} }
	if b.judges && b.tallies[abi.PreFilter] != nil && b.tallies[abi.Filter] == nil && b.tallies[abi.Score] == nil {
		defer p.text("No node was looked at, as preFilter lets no pod on: pass hints that the plugin understands, such as --hint KEY=VALUE.")
	}
	p.table([]column{{head: "POINT"}, number("CALLS"), number("TIME"), number("FUEL"), {head: "ANSWERS", least: 30}}, rows)
}
