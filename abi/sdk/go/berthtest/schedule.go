package berthtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Schedule says how a pod is scheduled.
type Schedule struct {
	// On is the node to choose, among those that passed; empty means the one with the best
	// score, the first of equals.
	On string
	// Rejected are nodes that other plugins reject as Unschedulable.
	Rejected []string
	// Fails is a point, such as pre_bind, at which another plugin rejects the pod.
	Fails string
}

// placement is a pod between reserve and post_bind.
type placement struct {
	original Pending // as in the API
	pod      Pod     // with its patches
	node     Node    // the chosen node, as it was then
	state    state
	// published is what other plugins published in the cycle.
	published state
	nominated []Nominated   // in the cycle that chose the node, without the pod
	retry     time.Duration // that its points ask for so far
}

// Schedule takes a pod through all points, as a host does, and returns the answers and what
// happens to the pod. Afterwards the cluster is as the host would have it: the pod is on the
// node, with Reserve's patches, or waits, or is pending; nominations are set; waiting pods are
// allowed or rejected.
//
// It fails the test if the ways of making the calls differ.
func (t *Trial) Schedule(pod Pod, how Schedule) []string {
	t.tb.Helper()
	return t.act(func(w *world) { w.schedule(pod, how) })
}

// TimeOut rejects a pod, given as `namespace/name`, that has waited at Permit for too long.
func (t *Trial) TimeOut(pod string) []string {
	t.tb.Helper()
	return t.act(func(w *world) {
		p := w.waits(func(p *Pod) bool { return p.id() == pod })
		if p == nil {
			t.tb.Fatalf("pod %s does not wait", pod)
		}
		w.lose(p, "")
	})
}

// act runs f in all ways on copies of the cluster, and keeps the result.
func (t *Trial) act(f func(w *world)) []string {
	t.tb.Helper()
	var after *world
	show, _ := t.each(func(s *session) []string {
		w := &world{session: s}
		copied := *t
		copied.Nodes, copied.Nominated = cloneNodes(t.Nodes), slices.Clone(t.Nominated)
		copied.Pending, copied.waiting = slices.Clone(t.Pending), nil
		for _, p := range t.waiting {
			again := *p
			again.state = maps.Clone(p.state)
			copied.waiting = append(copied.waiting, &again)
		}
		s.Trial = &copied
		f(w)
		w.settle()
		if after == nil {
			after = w
		}
		return w.show
	})
	t.Nodes, t.Nominated, t.Pending, t.waiting = after.Nodes, after.Nominated, after.Pending, after.waiting
	return show
}

// world is a cluster that changes.
type world struct {
	*session
	show []string
	own  string // the main pod
	todo []func()
}

// settle carries out directives and their consequences.
func (w *world) settle() {
	for len(w.todo) > 0 {
		next := w.todo[0]
		w.todo = w.todo[1:]
		next()
	}
}

// say adds lines about a pod, with its name unless it is the main pod.
func (w *world) say(p *Pod, lines ...string) {
	for _, line := range lines {
		if p.id() != w.own {
			line = p.id() + ": " + line
		}
		w.show = append(w.show, line)
	}
}

func (w *world) schedule(pod Pod, how Schedule) {
	w.tb.Helper()
	w.own = pod.id()
	entry := Pending{Pod: pod}
	if i := slices.IndexFunc(w.Pending, func(p Pending) bool { return p.uid() == pod.uid() }); i >= 0 {
		entry.Queued, entry.Attempts = w.Pending[i].Queued, w.Pending[i].Attempts
		w.Pending = slices.Delete(w.Pending, i, i+1)
	}
	entry.Attempts++
	w.retry = 0
	a := w.try(&pod, w.whatIf(&pod, nil, how.Rejected))
	best := -1
	for i, v := range a.verdicts {
		w.show = append(w.show, v.String())
		if v.Code == abi.Success && (how.On == v.Node || how.On == "" && (best < 0 || v.Score > a.verdicts[best].Score)) {
			best = i
		}
	}
	if best < 0 {
		got, called := a.postFilter()
		if called {
			w.say(&pod, got.lines("")...)
			w.effects(&pod, got)
		}
		w.say(&pod, again(w.retry))
		w.Pending = append(w.Pending, entry)
		return
	}
	p := &placement{
		original: entry, pod: pod, node: cloneNodes(w.Nodes[best : best+1])[0], state: w.kept(a.state), published: a.published,
		retry: w.retry,
	}
	p.pod.NodeName = p.node.Name
	w.Nominated = slices.DeleteFunc(w.Nominated, func(n Nominated) bool { return n.uid() == pod.uid() })
	p.nominated = slices.Clone(w.Nominated)
	w.Nodes[best].Pods = append(w.Nodes[best].Pods, p.pod)
	if !w.step(p, abi.Reserve, how) || !w.step(p, abi.Permit, how) {
		return
	}
	w.bind(p, how)
}

// bind takes a pod through the binding cycle.
func (w *world) bind(p *placement, how Schedule) {
	w.tb.Helper()
	if !w.step(p, abi.PreBind, how) || !w.step(p, abi.Bind, how) {
		return
	}
	*w.placed(p) = p.pod // the watch confirms it
	w.say(&p.pod, "bound to "+p.node.Name)
	w.step(p, abi.PostBind, how)
}

// step calls a point for a pod, and reports whether the pod continues.
func (w *world) step(p *placement, point abi.Point, how Schedule) bool {
	w.tb.Helper()
	if how.Fails == pointName(point) {
		w.lose(p, "another plugin rejects it at "+how.Fails)
		return false
	}
	if !w.manifest.exports(point) {
		return true
	}
	w.retry = p.retry
	got := w.placing(p, point)
	p.retry = w.retry
	w.say(&p.pod, got.lines(p.node.Name)...)
	w.effects(&p.pod, got)
	switch {
	case point == abi.PostBind:
		return true
	case got.fault != "":
	case got.code == abi.Wait:
		w.say(&p.pod, "waits")
		w.waiting = append(w.waiting, p)
		return false
	case got.code == abi.Success || got.code == abi.Skip:
		labels, annotations := written(got.directives)
		p.pod = p.pod.patched(labels, annotations)
		if point == abi.Reserve {
			*w.placed(p) = p.pod
		}
		return true
	}
	w.lose(p, "")
	return false
}

// placing calls a point about a pod and its node, in an aux instance.
func (w *world) placing(p *placement, point abi.Point) answer {
	w.tb.Helper()
	c := content{nodes: []Node{p.node}, nominated: p.nominated, namespaces: w.Namespaces, pod: &p.pod, aux: true}
	if fields.Of(abi.IncomingNow).Points.Has(point) {
		c.now = w.Now
	}
	w.use(point, p.state, p.published)
	code := w.call(&w.aux, newImage(w.manifest, &c, w.numbers(1, true)), point, asked{})
	return w.answered(point, code)
}

// lose removes the pod from its node.
func (w *world) lose(p *placement, why string) {
	w.tb.Helper()
	if why != "" {
		w.say(&p.pod, why)
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(q *placement) bool { return q == p })
	if w.manifest.exports(abi.Unreserve) {
		got := w.placing(p, abi.Unreserve)
		w.say(&p.pod, got.lines(p.node.Name)...)
		w.effects(&p.pod, got)
	}
	for i := range w.Nodes {
		w.Nodes[i].Pods = slices.DeleteFunc(w.Nodes[i].Pods, func(q Pod) bool { return q.uid() == p.pod.uid() })
	}
	w.say(&p.pod, again(p.retry))
	w.Pending = append(w.Pending, p.original)
}

// placed returns the cluster's version of the pod.
func (w *world) placed(p *placement) *Pod {
	for i := range w.Nodes {
		for j := range w.Nodes[i].Pods {
			if q := &w.Nodes[i].Pods[j]; q.uid() == p.pod.uid() {
				return q
			}
		}
	}
	panic("berthtest: BUG: the pod is on no node")
}

// waits returns the waiting pod, nil if there is none.
func (w *world) waits(is func(*Pod) bool) *placement {
	for _, p := range w.waiting {
		if is(&p.pod) {
			return p
		}
	}
	return nil
}

// effects carries out directives about other pods and nodes (ABI-13.4).
func (w *world) effects(pod *Pod, got answer) {
	for _, d := range got.directives {
		switch d.Kind {
		case abi.Nominate:
			w.Nominated = slices.DeleteFunc(w.Nominated, func(n Nominated) bool { return n.uid() == pod.uid() })
			if d.First != "" {
				w.Nominated = append(w.Nominated, Nominated{Pod: *pod, Node: d.First})
			}
		case abi.Allow, abi.Reject:
			w.todo = append(w.todo, func() {
				p := w.waits(func(p *Pod) bool { return p.uid() == d.First })
				switch {
				case p == nil:
				case d.Kind == abi.Reject:
					w.lose(p, "rejected: "+d.Second)
				default:
					w.waiting = slices.DeleteFunc(w.waiting, func(q *placement) bool { return q == p })
					w.say(&p.pod, "allowed")
					w.bind(p, Schedule{})
				}
			})
		}
	}
}

// written returns the labels and annotations that directives set.
func written(directives []wire.Directive) (labels, annotations map[string]string) {
	labels, annotations = map[string]string{}, map[string]string{}
	for _, d := range directives {
		switch d.Kind {
		case abi.Label:
			labels[d.First] = d.Second
		case abi.Annotate:
			annotations[d.First] = d.Second
		}
	}
	return labels, annotations
}

// Delete removes a pod, given as `namespace/name`, or a node with its pods from the cluster.
func (t *Trial) Delete(name string) error {
	found, what := false, "pod"
	drop := func(p *Pod) bool { found = found || p.id() == name; return p.id() == name }
	if !strings.Contains(name, "/") {
		what, drop = "node", func(p *Pod) bool { return p.NodeName == name }
		t.Nodes = slices.DeleteFunc(t.Nodes, func(n Node) bool { found = found || n.Name == name; return n.Name == name })
		t.Nominated = slices.DeleteFunc(t.Nominated, func(n Nominated) bool { return n.Node == name })
	}
	for i := range t.Nodes {
		t.Nodes[i].Pods = slices.DeleteFunc(t.Nodes[i].Pods, func(p Pod) bool { return drop(&p) })
	}
	t.Pending = slices.DeleteFunc(t.Pending, func(p Pending) bool { return drop(&p.Pod) })
	t.Nominated = slices.DeleteFunc(t.Nominated, func(n Nominated) bool { return drop(&n.Pod) })
	t.waiting = slices.DeleteFunc(t.waiting, func(p *placement) bool { return drop(&p.pod) })
	if !found {
		return fmt.Errorf("there is no %s %s", what, name)
	}
	return nil
}
