package berthtest

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Place tries to place a pod and returns a verdict for each node, in the order of Nodes. Nodes
// with nominated pods of at least the same priority are also judged with these pods on them. It
// fails the test if ways that must agree do not.
func (t *Trial) Place(pod Pod) []Verdict {
	t.tb.Helper()
	verdicts, _ := t.tried(&pod, nil, nil)
	return verdicts
}

// PlaceWithout is Place as in preemption: nodes are judged without some pods, given as
// `namespace/name`.
func (t *Trial) PlaceWithout(pod Pod, without ...string) []Verdict {
	t.tb.Helper()
	verdicts, _ := t.tried(&pod, without, nil)
	return verdicts
}

// tried returns the verdicts and the answer of post_filter, if it was called.
func (t *Trial) tried(pod *Pod, without, rejected []string) (verdicts []Verdict, after []string) {
	t.tb.Helper()
	w := t.whatIf(pod, without, rejected)
	var first *attempt
	_, alike := t.each(func(s *session) []string {
		a := s.try(pod, w)
		lines := []string{}
		for _, v := range a.verdicts {
			lines = append(lines, v.String())
		}
		var more []string
		if got, called := a.postFilter(); called {
			more = got.lines("")
		}
		if first == nil {
			first, after = a, more
		}
		return append(lines, more...)
	})
	if alike && len(w.rows)+len(rejected) == 0 && t.checkAlone(pod, first) {
		t.checkOverlays(pod, first.filtered)
		t.checkChanges(pod)
	}
	return first.verdicts, after
}

// mostAlone is how many nodes of a cluster checkAlone judges.
const mostAlone = 8

// checkAlone judges nodes in clusters of one node: at points of scope node the answers must be the same. It reports the first difference.
func (t *Trial) checkAlone(pod *Pod, want *attempt) bool {
	t.tb.Helper()
	if !t.manifest.Sharded() {
		return true
	}
	lines := func(a *attempt, i int) []string {
		if score, scored := a.raw[i]; scored {
			return []string{fmt.Sprintf("%s, score %d", a.filtered[i].short(), score)}
		}
		return []string{a.filtered[i].short()}
	}
	for i := range t.Nodes[:min(len(t.Nodes), mostAlone)] {
		now := *t
		now.Nodes, now.Nominated = t.Nodes[i:][:1], nil
		for _, n := range t.Nominated {
			if n.Node == t.Nodes[i].Name {
				now.Nominated = append(now.Nominated, n)
			}
		}
		got := (&session{Trial: &now, ways: once}).try(pod, now.whatIf(pod, nil, nil))
		if t.differ(lines(want, i), lines(got, 0), way{"an instance that has no other node", nodeOnly}) {
			return false
		}
	}
	return true
}

// checkOverlays filters overlay rows that copy nodes: their verdicts must equal those of rows
// if the filter has scope node, or updates its state.
func (t *Trial) checkOverlays(pod *Pod, want []Verdict) {
	t.tb.Helper()
	if !t.manifest.exports(abi.Filter) || t.manifest.Scope(abi.Filter) != abi.ScopeNode && !t.manifest.exports(abi.AddPod) {
		return
	}
	w := &what{}
	for i := max(0, len(t.Nodes)-2); i < len(t.Nodes); i++ {
		w.rows = append(w.rows, changed(i, &t.Nodes[i], nil, nil))
	}
	for k, v := range t.overlaid(pod, w) {
		if wanted := want[w.rows[k].node]; v != nil && v.short() != wanted.short() {
			t.tb.Errorf("%s: filter returns %q for a row, but %q for an overlay row with the same content", t.manifest.Name, wanted.short(), v.short())
		}
	}
}

// checkChanges compares add_pod and remove_pod with a PreFilter that sees the change: for each
// node, without its first pod, and with that pod twice.
func (t *Trial) checkChanges(pod *Pod) {
	t.tb.Helper()
	if !t.manifest.exports(abi.AddPod) || !t.manifest.exports(abi.Filter) {
		return
	}
	for i := range t.Nodes {
		if len(t.Nodes[i].Pods) == 0 {
			continue
		}
		first := &t.Nodes[i].Pods[0]
		other := *first
		other.Name, other.UID = first.Name+"-again", first.uid()+"-again"
		for _, n := range []whatNode{
			changed(i, &t.Nodes[i], nil, []*Pod{first}), changed(i, &t.Nodes[i], []*Pod{&other}, nil),
		} {
			got := t.overlaid(pod, &what{rows: []whatNode{n}})[0]
			now := *t
			now.Nodes = cloneNodes(t.Nodes)
			now.Nodes[i].Pods = nil
			for _, p := range n.row.pods {
				now.Nodes[i].Pods = append(now.Nodes[i].Pods, *p)
			}
			a := (&session{Trial: &now, ways: once}).attempt(pod, &what{})
			if a.preFilter(); got == nil || a.skip || a.verdicts[i].Code != abi.Success {
				continue // add_pod and remove_pod are about filter
			}
			a.filter(&what{})
			if want := a.verdicts[i].short(); got.short() != want {
				t.tb.Errorf("%s: with pods %s on %s filter returns %q after add_pod or remove_pod, but %q after a PreFilter that saw them",
					t.manifest.Name, ids(n.row.pods), t.Nodes[i].Name, got.short(), want)
			}
		}
	}
}

func ids(pods []*Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.id())
	}
	slices.Sort(all)
	return all
}

// overlaid returns filter's verdicts on overlay rows; nil for nodes that pre_filter excluded.
func (t *Trial) overlaid(pod *Pod, w *what) []*Verdict {
	t.tb.Helper()
	s := &session{Trial: t, ways: once}
	a := s.attempt(pod, w)
	a.preFilter()
	all := make([]*Verdict, len(w.rows))
	for k := range w.rows {
		if n := &w.rows[k]; !a.skip && a.verdicts[n.node].Code == abi.Success {
			v := a.overlay(uint32(k), n)
			all[k] = &v
		}
	}
	return all
}
