package conformance_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
)

// attempt is one attempt to place a pod.
type attempt struct {
	w     *world
	q     *queued
	skips map[*plugin]bool
}

// ask calls a point if the plugin has it.
func (a *attempt) ask(pl *plugin, call *conformance.Call) (*conformance.Answer, error) {
	if pl.man.Points.Get(call.Point) == nil && (call.Point != abi.Normalize || pl.man.Points.Score == nil || pl.man.Points.Score.Normalize == "") {
		return nil, nil
	}
	call.Plugin = pl.Name
	answer, err := a.q.cycle.Call(context.Background(), call)
	if err == nil && answer.Fault != "" {
		answer.Code = abi.Error
	}
	if err == nil && answer.RetryAfter > 0 && (a.q.retry == 0 || answer.RetryAfter < a.q.retry) {
		a.q.retry = answer.RetryAfter
	}
	return answer, err
}

func (w *world) try(q *queued) error {
	own := q.pod
	q.retry = 0
	begun, err := w.profile.Begin(context.Background(), &w.cluster, &own)
	if err != nil {
		return err
	}
	q.cycle = begun.(*cycle)
	a := &attempt{w: w, q: q, skips: map[*plugin]bool{}}
	nodes, rejectors, message, err := a.filter()
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		if err := a.postFilter(); err != nil {
			return err
		}
		w.park(q, rejectors, message)
		return nil
	}
	if q.node, err = a.choose(nodes); err != nil {
		return err
	}
	return a.reserve()
}

func (w *world) park(q *queued, rejectors []*plugin, message string) {
	w.retry(q, q.retry)
	q.parked, q.everybody, q.outcome.Message = rejectors, len(rejectors) == 0, message
}

// filter returns the nodes that are left.
func (a *attempt) filter() (nodes []string, rejectors []*plugin, message string, err error) {
	for i := range a.w.cluster.Nodes {
		nodes = append(nodes, a.w.cluster.Nodes[i].Metadata.Name)
	}
	for _, pl := range a.w.profile.plugins {
		answer, err := a.ask(pl, &conformance.Call{Point: abi.PreFilter})
		switch {
		case err != nil:
			return nil, nil, "", err
		case answer == nil:
			continue
		case answer.Code == abi.Skip:
			a.skips[pl] = !a.w.h.wrong("does not heed Skip")
		case answer.Code != abi.Success:
			return nil, []*plugin{pl}, strings.Join(answer.Reasons, ", "), nil
		case answer.Narrowed && !a.w.h.wrong("does not heed row sets"):
			nodes = slices.DeleteFunc(nodes, func(name string) bool { return !slices.Contains(answer.Rows, name) })
		}
	}
	for _, pl := range a.w.profile.plugins {
		if a.skips[pl] || len(nodes) == 0 {
			continue
		}
		answer, err := a.ask(pl, &conformance.Call{Point: abi.Filter, Nodes: nodes})
		if err != nil {
			return nil, nil, "", err
		}
		if answer == nil {
			continue
		}
		if answer.Code != abi.Success {
			return nil, []*plugin{pl}, "it failed", nil
		}
		var left []string
		for i, code := range answer.Codes {
			if code == abi.Success {
				left = append(left, nodes[i])
			} else if len(answer.RowReasons[i]) > 0 {
				message = strings.Join(answer.RowReasons[i], ", ")
			}
		}
		if len(left) < len(nodes) {
			rejectors = append(rejectors, pl)
		}
		nodes = left
	}
	return nodes, rejectors, message, nil
}

func (a *attempt) postFilter() error {
	for _, pl := range a.w.profile.plugins {
		verdicts := make([]abi.Code, len(a.w.cluster.Nodes))
		for i := range verdicts {
			verdicts[i] = abi.Unschedulable
		}
		answer, err := a.ask(pl, &conformance.Call{Point: abi.PostFilter, Verdicts: verdicts})
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		for _, d := range answer.Directives {
			if d.Kind == abi.Nominate && !a.w.h.wrong("does not nominate") {
				a.q.outcome.Nominated = d.First
			}
		}
	}
	return nil
}

// choose returns the node with the highest score.
func (a *attempt) choose(nodes []string) (string, error) {
	total := make([]int64, len(nodes))
	for _, pl := range a.w.profile.plugins {
		answer, err := a.ask(pl, &conformance.Call{Point: abi.PreScore, Nodes: nodes})
		if err != nil {
			return "", err
		}
		if answer != nil && answer.Code == abi.Skip && !a.w.h.wrong("does not heed Skip") {
			continue
		}
		if answer, err = a.ask(pl, &conformance.Call{Point: abi.Score, Nodes: nodes}); err != nil || answer == nil || answer.Code != abi.Success {
			if err != nil {
				return "", err
			}
			continue
		}
		scores := answer.Scores
		normal, err := a.ask(pl, &conformance.Call{Point: abi.Normalize, Nodes: nodes, Scores: scores})
		if err != nil {
			return "", err
		}
		if normal != nil {
			scores = normal.Scores
		}
		for i, s := range scores {
			total[i] += s
		}
	}
	best := 0
	for i := range total {
		if total[i] > total[best] && !a.w.h.wrong("does not heed scores") {
			best = i
		}
	}
	return nodes[best], nil
}

// reserve assumes the pod and calls reserve and permit.
func (a *attempt) reserve() error {
	w, q := a.w, a.q
	assumed := q.pod
	assumed.Spec.NodeName = q.node
	w.cluster.Pods = append(slices.Clone(w.cluster.Pods), assumed)
	for _, pl := range w.profile.plugins {
		answer, err := a.ask(pl, &conformance.Call{Point: abi.Reserve, Node: q.node})
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		if answer.Code != abi.Success {
			return w.fail(q, []*plugin{pl}, strings.Join(answer.Reasons, ", "))
		}
		if err := w.act(pl, answer); err != nil {
			return err
		}
		if !w.h.wrong("reserved patches are not visible") {
			w.cluster.Pods[len(w.cluster.Pods)-1].Metadata = q.cycle.pod.Metadata
		}
	}
	q.waits = map[*plugin]time.Duration{}
	for _, pl := range w.profile.plugins {
		answer, err := a.ask(pl, &conformance.Call{Point: abi.Permit, Node: q.node})
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		switch answer.Code {
		case abi.Success:
		case abi.Wait:
			q.waits[pl] = w.now + answer.Wait
		default:
			return w.fail(q, []*plugin{pl}, strings.Join(answer.Reasons, ", "))
		}
		if err := w.act(pl, answer); err != nil {
			return err
		}
	}
	if len(q.waits) > 0 {
		return nil
	}
	return w.bind(q)
}

// fail undoes a pod's reservations and parks it (ABI-5.17).
func (w *world) fail(q *queued, rejectors []*plugin, message string) error {
	q.waits = nil
	a := &attempt{w: w, q: q}
	for _, pl := range slices.Backward(w.profile.plugins) {
		if w.h.wrong("does not unreserve") {
			break
		}
		if _, err := a.ask(pl, &conformance.Call{Point: abi.Unreserve, Node: q.node}); err != nil {
			return err
		}
	}
	if !w.h.wrong("a failed pod keeps its node") {
		w.forget(q)
	}
	w.park(q, rejectors, message)
	return nil
}
