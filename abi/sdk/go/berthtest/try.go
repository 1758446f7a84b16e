package berthtest

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// attempt is one attempt to find a node for a pod, in one session.
type attempt struct {
	*session
	about     content
	state     state
	published state
	verdicts  []Verdict     // by node
	filtered  []Verdict     // as they were before scoring
	raw       map[int]int64 // scores by node, before they are normalized
	skip      bool          // pre_filter returned Skip
	image     *image        // of the cycle instance
}

// try takes a pod through the points from pre_filter to normalize, or to post_filter if no node
// is left.
func (s *session) try(pod *Pod, w *what) *attempt {
	s.tb.Helper()
	a := s.attempt(pod, w)
	a.preFilter()
	for i := range a.verdicts {
		if v := &a.verdicts[i]; v.Code == abi.Success && slices.Contains(w.rejected, v.Node) {
			v.Code, v.Reasons = abi.Unschedulable, []string{"by another plugin"}
		}
	}
	a.filter(w)
	a.filtered = slices.Clone(a.verdicts)
	a.score()
	return a
}

// attempt begins an attempt.
func (s *session) attempt(pod *Pod, w *what) *attempt {
	a := &attempt{session: s, state: state{}, about: content{nodes: s.Nodes, nominated: s.Nominated, namespaces: s.Namespaces, pod: pod, now: s.Now}}
	a.about.overlay, a.about.list = w.overlays()
	for i := range s.Nodes {
		a.verdicts = append(a.verdicts, Verdict{Node: s.Nodes[i].Name})
	}
	a.published = s.publish(pod)
	return a
}

// now returns the image for the next call of the cycle instance.
func (a *attempt) now() *image {
	if a.image == nil || a.ways&renumber != 0 {
		a.image = newImage(a.manifest, &a.about, a.numbers(len(a.about.nodes), false))
	}
	return a.image
}

// ask calls a point of the cycle instance.
func (a *attempt) ask(point abi.Point, q asked) abi.Code {
	a.tb.Helper()
	a.use(point, a.state, a.published)
	return a.call(&a.cycle, a.image, point, q)
}

// all applies the answer of a call as a whole to every remaining node.
func (a *attempt) all(code abi.Code) {
	reasons := a.reasonSet(a.answer(84))
	for i := range a.verdicts {
		if a.verdicts[i].Code == abi.Success {
			a.verdicts[i].Code, a.verdicts[i].Reasons = code, reasons
		}
	}
}

func (a *attempt) preFilter() {
	a.tb.Helper()
	if !a.manifest.exports(abi.PreFilter) {
		return
	}
	var code abi.Code
	var rows uint32
	if a.manifest.Sharded() { // in an aux instance without rows (ABI-5.3)
		none := content{namespaces: a.about.namespaces, pod: a.about.pod, aux: true, now: a.about.now}
		a.use(abi.PreFilter, a.state, nil)
		code = a.call(&a.aux, newImage(a.manifest, &none, a.numbers(0, true)), abi.PreFilter, asked{})
	} else {
		rows = a.now().rows
		code = a.ask(abi.PreFilter, asked{})
	}
	switch {
	case code == abi.Skip:
		a.skip = true
	case code != abi.Success:
		a.all(code)
	case a.answer(80) == 1:
		a.narrow(rows)
	}
}

// narrow applies pre_filter's row set: other nodes are excluded.
func (a *attempt) narrow(rows uint32) {
	a.tb.Helper()
	if a.manifest.Sharded() {
		a.tb.Fatal("pre_filter of a plugin of scope node must not narrow the rows down (ABI-5.3)")
	}
	var fit []uint32
	list := a.memory()[a.answer(72):]
	for i := range a.answer(76) {
		fit = append(fit, binary.LittleEndian.Uint32(list[4*i:]))
	}
	if !slices.IsSorted(fit) || len(slices.Compact(slices.Clone(fit))) != len(fit) || len(fit) > 0 && fit[len(fit)-1] >= rows {
		a.tb.Fatalf("pre_filter's row set %v is not strictly ascending, or out of range (ABI-3.1)", fit)
	}
	for i := range a.verdicts {
		if !slices.Contains(fit, a.last.img.row(i)) {
			a.verdicts[i].Code = abi.UnschedulableAndUnresolvable
		}
	}
}

// standing returns the nodes that passed, in an order that splits calls.
func (a *attempt) standing() []int {
	var nodes []int
	order := a.order
	if order == nil {
		order = perm(len(a.about.nodes), nil)
	}
	for _, i := range order {
		if a.verdicts[i].Code == abi.Success {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// batches calls f with nodes in the order of their rows, as one batch or in twos.
func (a *attempt) batches(nodes []int, one bool, f func(q asked, nodes []int)) {
	size := max(len(nodes), 1)
	if !one {
		size = 2
	}
	for chunk := range slices.Chunk(nodes, size) {
		img, asks := a.now(), asked{}
		chunk = slices.Clone(chunk)
		slices.SortFunc(chunk, func(i, j int) int { return int(img.row(i)) - int(img.row(j)) })
		for _, i := range chunk {
			asks.rows = append(asks.rows, img.row(i))
		}
		asks.lo, asks.hi = asks.rows[0], asks.rows[len(chunk)-1]+1 // (ABI-3.9)
		if int(asks.hi-asks.lo) == len(chunk) && a.ways&listed == 0 {
			asks.rows = nil
		}
		f(asks, chunk)
	}
}

// filter judges the remaining nodes.
func (a *attempt) filter(w *what) {
	a.tb.Helper()
	if a.skip || !a.manifest.exports(abi.Filter) {
		return
	}
	done := w.judge(a)
	nodes := slices.DeleteFunc(a.standing(), func(i int) bool { return done[i] })
	a.batches(nodes, a.ways&once != 0, func(q asked, nodes []int) {
		if code := a.ask(abi.Filter, q); code != abi.Success {
			a.all(code)
			return
		}
		for at, i := range nodes {
			a.verdicts[i] = a.judged(a.verdicts[i].Node, uint32(at))
		}
	})
}

func (a *attempt) score() {
	a.tb.Helper()
	nodes := a.standing()
	if !a.manifest.exports(abi.Score) || len(nodes) == 0 {
		return
	}
	if a.manifest.exports(abi.PreScore) {
		code := abi.Success
		a.batches(nodes, true, func(q asked, _ []int) { code = a.ask(abi.PreScore, q) })
		if code == abi.Skip {
			return
		}
		if code != abi.Success {
			a.all(code)
			return
		}
	}
	scores := map[int]int64{}
	a.batches(nodes, a.ways&once != 0, func(q asked, nodes []int) {
		if code := a.ask(abi.Score, q); code != abi.Success {
			a.all(code)
		}
		for at, i := range nodes {
			scores[i] = a.scoreAt(at)
		}
	})
	if len(a.standing()) == 0 {
		return // score failed
	}
	a.raw = maps.Clone(scores)
	a.normalize(nodes, scores)
	for i, score := range scores {
		if score < abi.MinScore || score > abi.MaxScore {
			a.tb.Fatalf("the score of %s is %d, want 0 to 100 (ABI-5.7)", a.verdicts[i].Node, score)
		}
		a.verdicts[i].Score = score
	}
}

// normalize calls the plugin's normalize, or applies the manifest's normalization.
func (a *attempt) normalize(nodes []int, scores map[int]int64) {
	a.tb.Helper()
	if !a.manifest.exports(abi.Normalize) {
		list := make([]int64, len(nodes))
		for at, i := range nodes {
			list[at] = scores[i]
		}
		a.manifest.normalize(list)
		for at, i := range nodes {
			scores[i] = list[at]
		}
		return
	}
	a.batches(nodes, true, func(q asked, nodes []int) {
		for _, i := range nodes {
			q.scores = append(q.scores, scores[i])
		}
		if code := a.ask(abi.Normalize, q); code != abi.Success {
			a.all(code)
		}
		for at, i := range nodes {
			scores[i] = a.scoreAt(at)
		}
	})
}

func (a *attempt) scoreAt(i int) int64 {
	return int64(binary.LittleEndian.Uint64(a.last.img.data[a.last.img.scores+8*uint32(i):]))
}

// postFilter calls post_filter with all nodes and their verdicts, if no node passed the filters
// and none of them failed (ABI-5.14).
func (a *attempt) postFilter() (answer, bool) {
	a.tb.Helper()
	if !a.manifest.exports(abi.PostFilter) || len(a.about.nodes) == 0 ||
		slices.ContainsFunc(a.filtered, func(v Verdict) bool { return v.Code == abi.Success || v.Code == abi.Error }) {
		return answer{}, false
	}
	var got answer
	a.batches(perm(len(a.about.nodes), nil), true, func(q asked, nodes []int) {
		for _, i := range nodes {
			q.codes = append(q.codes, uint8(a.verdicts[i].Code))
		}
		got = a.answered(abi.PostFilter, a.ask(abi.PostFilter, q))
	})
	return got, true
}

// publish takes the pod through pre_filter of the plugins whose keys this one reads, each with
// different numbers, and returns the values (ABI-7.9).
func (s *session) publish(pod *Pod) state {
	values := state{}
	for name, value := range s.Published {
		values[name] = []byte(value)
	}
	for _, plugin := range slices.Sorted(maps.Keys(s.Publishers)) {
		t := s.Publishers[plugin]
		t.Nodes, t.Namespaces = s.Nodes, s.Namespaces
		other := &session{Trial: t, ways: once | renumber, rand: t.host.draw()}
		a := other.attempt(pod, &what{})
		a.preFilter()
		for _, key := range t.manifest.Publishes {
			if value, ok := a.state[key]; ok {
				values[plugin+"/"+key] = value
			}
		}
	}
	return values
}
