// Package mutant introduces bugs into Berth's plugins, to show that the oracle would find them:
// a limit that is off by one, an operator or a field that is ignored, a wrong code, a wrong
// reason, inverted scores.
package mutant

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Mutant is one bug.
type Mutant struct {
	// Name describes the bug.
	Name string
	// The fields that are set replace parts of the plugin.
	pod     func(p *v1.Pod)                                          // as the plugin sees it
	verdict func(code abi.Code, texts []string) (abi.Code, []string) // of Filter and PreFilter
	rows    func(rows []uint32) []uint32                             // of PreFilter
	scores  func(scores []int64)                                     // of Score
	normal  func(scores []int64)                                     // instead of Normalize
	hint    func(h state.Hint) state.Hint
	less    func(less bool) bool
	bind    func(l *plugin.Placement)             // as Bind sees it
	status  func(s *plugin.Status) *plugin.Status // of PreEnqueue, PostFilter and the points after a node was chosen
	noSkip  bool
	// candidates replaces PostFilter's candidates, result changes its result.
	candidates func(all []plugin.Candidate) []plugin.Candidate
	result     func(r *plugin.PostFilterResult)
}

// Wrap returns the plugin with the bug.
func (m Mutant) Wrap(p plugin.Plugin) plugin.Plugin {
	w := &wrapped{m: m, inner: p, info: *p.Info(), pods: make(map[*state.Pod]*state.Pod)}
	w.info.Events = slices.Clone(w.info.Events)
	for i := range w.info.Events {
		e := &w.info.Events[i]
		inner := e.Hint
		if inner == nil {
			inner = func(*state.Pod, state.Object) (state.Hint, error) { return state.Queue, nil }
		}
		e.Hint = func(pod *state.Pod, object state.Object) (state.Hint, error) {
			hint, err := inner(w.see(pod), object)
			if m.hint != nil {
				return m.hint(hint), nil
			}
			return hint, err
		}
	}
	return w
}

// wrapped is a plugin with a bug. It has the methods of all points, and the points of the
// plugin.
type wrapped struct {
	m     Mutant
	inner plugin.Plugin
	info  plugin.Info
	pods  map[*state.Pod]*state.Pod
}

// Info describes the plugin.
func (w *wrapped) Info() *plugin.Info { return &w.info }

// Points returns the points of the plugin.
func (w *wrapped) Points() []abi.Point { return plugin.Points(w.inner) }

// see returns the pod as the plugin sees it.
func (w *wrapped) see(pod *state.Pod) *state.Pod {
	if w.m.pod == nil {
		return pod
	}
	seen, ok := w.pods[pod]
	if !ok {
		object := pod.Object.DeepCopy()
		w.m.pod(object)
		seen = state.NewPod(object)
		w.pods[pod] = seen
	}
	return seen
}

func (w *wrapped) cycle(c *plugin.Cycle) *plugin.Cycle {
	with := *c
	with.Pod = w.see(c.Pod)
	return &with
}

func (w *wrapped) judge(s *plugin.Status) *plugin.Status {
	if w.m.verdict == nil || !s.Rejected() {
		return s
	}
	code, texts := w.m.verdict(s.Code, s.Reasons)
	return plugin.NewStatus(code, texts...)
}

func (w *wrapped) answer(s *plugin.Status) *plugin.Status {
	if w.m.status == nil {
		return s
	}
	return w.m.status(s)
}

// PreEnqueue implements plugin.PreEnqueue.
func (w *wrapped) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	seen := make([]*state.Pod, len(pods))
	for i, pod := range pods {
		seen[i] = w.see(pod)
	}
	w.inner.(plugin.PreEnqueue).PreEnqueue(seen, out)
	for i := range out {
		out[i] = w.answer(out[i])
	}
}

// Less implements plugin.QueueSort.
func (w *wrapped) Less(a, b *state.QueuedPod) bool {
	less := w.inner.(plugin.QueueSort).Less(a, b)
	if w.m.less != nil {
		return w.m.less(less)
	}
	return less
}

// PreFilter implements plugin.PreFilter.
func (w *wrapped) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	rows, status := w.inner.(plugin.PreFilter).PreFilter(w.cycle(c))
	if status.Is(abi.Skip) && w.m.noSkip {
		return nil, nil
	}
	if w.m.rows != nil {
		rows = w.m.rows(rows)
	}
	return rows, w.judge(status)
}

// AddPod implements plugin.PreFilterExtensions.
func (w *wrapped) AddPod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	if e, ok := w.inner.(plugin.PreFilterExtensions); ok {
		return e.AddPod(w.cycle(c), overlay, pod)
	}
	return nil
}

// RemovePod implements plugin.PreFilterExtensions.
func (w *wrapped) RemovePod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	if e, ok := w.inner.(plugin.PreFilterExtensions); ok {
		return e.RemovePod(w.cycle(c), overlay, pod)
	}
	return nil
}

// Filter implements plugin.Filter.
func (w *wrapped) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	w.inner.(plugin.Filter).Filter(w.cycle(c), rows, out)
	if w.m.verdict == nil {
		return
	}
	for i := range rows {
		if out.Codes[i].Rejected() {
			code, texts := w.m.verdict(out.Codes[i], out.Texts(i))
			out.Reject(i, code, out.Reason(texts...))
		}
	}
}

// PreScore implements plugin.PreScore.
func (w *wrapped) PreScore(c *plugin.Cycle, rows []uint32) *plugin.Status {
	status := w.inner.(plugin.PreScore).PreScore(w.cycle(c), rows)
	if status.Is(abi.Skip) && w.m.noSkip {
		return nil
	}
	return status
}

// Score implements plugin.Score.
func (w *wrapped) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	status := w.inner.(plugin.Score).Score(w.cycle(c), rows, out)
	if w.m.scores != nil {
		w.m.scores(out)
	}
	return status
}

// Normalize implements plugin.Normalize.
func (w *wrapped) Normalize(c *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	if w.m.normal != nil {
		w.m.normal(scores)
		return nil
	}
	if n, ok := w.inner.(plugin.Normalize); ok {
		return n.Normalize(w.cycle(c), rows, scores)
	}
	return nil
}

func (w *wrapped) placement(l *plugin.Placement) *plugin.Placement {
	with := *l
	with.Pod = w.see(l.Pod)
	return &with
}

// Reserve implements plugin.Reserve.
func (w *wrapped) Reserve(l *plugin.Placement) (plugin.Directives, *plugin.Status) {
	d, status := w.inner.(plugin.Reserve).Reserve(w.placement(l))
	return d, w.answer(status)
}

// Unreserve implements plugin.Reserve.
func (w *wrapped) Unreserve(l *plugin.Placement) plugin.Directives {
	return w.inner.(plugin.Reserve).Unreserve(w.placement(l))
}

// Permit implements plugin.Permit.
func (w *wrapped) Permit(l *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	return w.inner.(plugin.Permit).Permit(w.placement(l))
}

// PreBindPreFlight implements plugin.PreBind.
func (w *wrapped) PreBindPreFlight(l *plugin.Placement) *plugin.Status {
	return w.answer(w.inner.(plugin.PreBind).PreBindPreFlight(w.placement(l)))
}

// PreBind implements plugin.PreBind.
func (w *wrapped) PreBind(l *plugin.Placement) (plugin.Directives, *plugin.Status) {
	return w.inner.(plugin.PreBind).PreBind(w.placement(l))
}

// Bind implements plugin.Bind.
func (w *wrapped) Bind(l *plugin.Placement) (plugin.Directives, *plugin.Status) {
	with := *l
	if w.m.bind != nil {
		w.m.bind(&with)
	}
	d, status := w.inner.(plugin.Bind).Bind(&with)
	return d, w.answer(status)
}
