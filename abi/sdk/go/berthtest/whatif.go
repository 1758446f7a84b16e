package berthtest

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// what is a hypothetical cluster: with nominated pods, and without pods that preemption could
// remove. Nodes for which that makes a difference are judged on overlay rows.
type what struct {
	rows     []whatNode
	rejected []string // nodes, by other plugins
}

type whatNode struct {
	node           int
	row            *rowNode
	added, removed []*Pod
}

// overlays returns the nodes of overlay rows, and all pods that are added or removed.
func (w *what) overlays() (rows []*rowNode, pods []Pod) {
	for i := range w.rows {
		rows = append(rows, w.rows[i].row)
		for _, p := range slices.Concat(w.rows[i].added, w.rows[i].removed) {
			pods = append(pods, *p)
		}
	}
	return rows, pods
}

// whatIf returns the hypothetical cluster for a pod: with nominated pods, without some pods,
// and with nodes that other plugins reject.
func (t *Trial) whatIf(pod *Pod, without, rejected []string) *what {
	w := &what{rejected: rejected}
	for i := range t.Nodes {
		var added, removed []*Pod
		for j := range t.Nominated {
			n := &t.Nominated[j]
			if n.Node == t.Nodes[i].Name && n.uid() != pod.uid() && n.Priority >= pod.Priority {
				added = append(added, &n.Pod)
			}
		}
		for j := range t.Nodes[i].Pods {
			if p := &t.Nodes[i].Pods[j]; slices.Contains(without, p.id()) {
				removed = append(removed, p)
			}
		}
		if len(added)+len(removed) > 0 {
			w.rows = append(w.rows, changed(i, &t.Nodes[i], added, removed))
		}
	}
	return w
}

func changed(i int, n *Node, added, removed []*Pod) whatNode {
	row := newRow(n)
	row.pods = slices.DeleteFunc(row.pods, func(p *Pod) bool { return slices.Contains(removed, p) })
	row.pods = append(row.pods, added...)
	return whatNode{node: i, row: row, added: added, removed: removed}
}

// judge filters the overlay rows. A node that fails there is excluded. One that passes is also
// judged as it is, except those in done, which are judged only without some of their pods.
func (w *what) judge(a *attempt) (done map[int]bool) {
	a.tb.Helper()
	done = map[int]bool{}
	for k := range w.rows {
		n := &w.rows[k]
		if a.verdicts[n.node].Code == abi.Success {
			a.verdicts[n.node] = a.overlay(uint32(k), n)
			done[n.node] = len(n.removed) > 0
		}
	}
	return done
}

// overlay updates a copy of the state for an overlay row, and filters the row (ABI-5.13).
func (a *attempt) overlay(k uint32, n *whatNode) Verdict {
	a.tb.Helper()
	state := maps.Clone(a.state)
	who := a.verdicts[n.node].Node
	ask := func(point abi.Point, pods int) abi.Code {
		row := a.now().capacity + k
		a.use(point, state, a.published)
		return a.call(&a.cycle, a.image, point, asked{lo: row, hi: row + 1, overlay: true, pods: pods})
	}
	failed := func(code abi.Code) Verdict {
		return Verdict{Node: who, Code: code, Reasons: a.reasonSet(a.answer(84))}
	}
	if a.manifest.exports(abi.AddPod) {
		for _, c := range []struct {
			point abi.Point
			pods  []*Pod
		}{{abi.RemovePod, n.removed}, {abi.AddPod, n.added}} {
			for _, pod := range c.pods {
				if code := ask(c.point, 1+a.listed(pod)); code != abi.Success {
					return failed(code)
				}
			}
		}
	}
	if code := ask(abi.Filter, 0); code != abi.Success {
		return failed(code)
	}
	return a.judged(who, 0)
}

// listed returns where a pod is in the pod list.
func (a *attempt) listed(pod *Pod) int {
	return slices.IndexFunc(a.about.list, func(p Pod) bool { return p.uid() == pod.uid() })
}
