package conformance_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
)

// world is the reference as a whole scheduler: a queue, and one pod at a time.
type world struct {
	h       *reference
	profile *profile
	cluster cluster.Cluster // its pods are bound or assumed
	queue   []*queued
	done    map[string]*queued
	now     time.Duration
	bound   int
}

// queued is a pod in the queue; it may be bound by now.
type queued struct {
	pod       cluster.Pod // as in the API
	entry     wire.QueueEntry
	key       []byte
	gated     bool
	parked    []*plugin // the plugins that rejected it; nil for an active pod
	everybody bool      // any event wakes it
	waits     map[*plugin]time.Duration
	retry     time.Duration // the shortest that the attempt has asked for (ABI-5.22)
	again     time.Duration // when it is tried again; 0 leaves it to events
	cycle     *cycle
	node      string
	outcome   conformance.Outcome
}

// Start implements conformance.Scheduler.
func (h *reference) Start(ctx context.Context, plugins []conformance.Plugin) (conformance.Running, error) {
	p, err := h.Load(ctx, plugins)
	if err != nil {
		return nil, err
	}
	return &world{h: h, profile: p.(*profile), done: map[string]*queued{}}, nil
}

// Close implements conformance.Running.
func (w *world) Close(context.Context) error { return nil }

// Outcome implements conformance.Running.
func (w *world) Outcome(_ context.Context, namespace, name string) (*conformance.Outcome, error) {
	q := w.done[namespace+"/"+name]
	if q == nil {
		return nil, fmt.Errorf("there is no pod %s/%s", namespace, name)
	}
	out := q.outcome
	out.Waiting = len(q.waits) > 0
	out.Labels, out.Annotations = q.pod.Metadata.Labels, q.pod.Metadata.Annotations
	return &out, nil
}

// Apply implements conformance.Running.
func (w *world) Apply(_ context.Context, c conformance.Change) error {
	switch {
	case c.Node != nil:
		at := slices.IndexFunc(w.cluster.Nodes, func(n cluster.Node) bool { return n.Metadata.Name == c.Node.Metadata.Name })
		event := &conformance.Event{Resource: abi.EventNode, Actions: abi.ActionAdd, NewNode: c.Node}
		if at >= 0 {
			event.Actions, event.OldNode = abi.ActionUpdateNodeLabel, &w.cluster.Nodes[at]
			w.cluster.Nodes = slices.Delete(slices.Clone(w.cluster.Nodes), at, at+1)
		}
		if c.Delete {
			event.Actions, event.NewNode = abi.ActionDelete, nil
		} else {
			w.cluster.Nodes = append(w.cluster.Nodes, *c.Node)
		}
		return w.event(event, "Node")
	case c.Namespace != nil:
		w.cluster.Namespaces = append(w.cluster.Namespaces, *c.Namespace)
		return nil
	case c.Delete:
		return w.remove(c.Pod)
	}
	return w.add(c.Pod)
}

func (w *world) add(p *cluster.Pod) error {
	q := &queued{pod: *p, entry: wire.QueueEntry{Time: int64(len(w.done) + 1)}}
	w.done[p.Metadata.Namespace+"/"+p.Metadata.Name] = q
	w.queue = append(w.queue, q)
	for _, pl := range w.profile.plugins {
		if pl.man.Points.QueueSort == nil {
			continue
		}
		answer, err := w.batch(pl, &conformance.Call{Point: abi.QueueSort, Pods: []cluster.Pod{*p}, Queue: []wire.QueueEntry{q.entry}})
		if err != nil {
			return err
		}
		if answer.Fault == "" && answer.Code == abi.Success {
			q.key = append([]byte{0}, answer.Keys[0]...)
		}
	}
	return w.gate(q)
}

func (w *world) batch(pl *plugin, call *conformance.Call) (*conformance.Answer, error) {
	cycle, err := w.profile.Begin(context.Background(), &w.cluster, nil)
	if err != nil {
		return nil, err
	}
	call.Plugin = pl.Name
	return cycle.Call(context.Background(), call)
}

// gate calls pre_enqueue (ABI-5.9).
func (w *world) gate(q *queued) error {
	q.gated, q.again = false, 0
	for _, pl := range w.profile.plugins {
		if pl.man.Points.PreEnqueue == nil || w.h.wrong("does not ask pre_enqueue") {
			continue
		}
		answer, err := w.batch(pl, &conformance.Call{Point: abi.PreEnqueue, Pods: []cluster.Pod{q.pod}})
		if err != nil {
			return err
		}
		if answer.Fault != "" || answer.Code != abi.Success || answer.Codes[0] != abi.Success {
			q.gated = true
			if len(answer.RetryAfters) > 0 {
				w.retry(q, answer.RetryAfters[0])
			}
			if len(answer.RowReasons) > 0 {
				q.outcome.Message = strings.Join(answer.RowReasons[0], ", ")
			}
		}
	}
	return nil
}

func (w *world) remove(p *cluster.Pod) error {
	key := p.Metadata.Namespace + "/" + p.Metadata.Name
	q := w.done[key]
	delete(w.done, key)
	w.queue = slices.DeleteFunc(w.queue, func(other *queued) bool { return other == q })
	w.forget(q)
	return w.event(&conformance.Event{Resource: abi.EventPlacedPod, Actions: abi.ActionDelete, OldPod: &q.pod}, "Pod")
}

// forget removes a pod from its node.
func (w *world) forget(q *queued) {
	w.cluster.Pods = slices.DeleteFunc(slices.Clone(w.cluster.Pods), func(p cluster.Pod) bool { return p.Metadata.UID == q.pod.Metadata.UID })
}

// event wakes parked pods and rechecks gates (ABI-5.12, ABI-9.7).
func (w *world) event(e *conformance.Event, resource string) error {
	action := map[abi.EventAction]string{abi.ActionAdd: "Add", abi.ActionDelete: "Delete", abi.ActionUpdateNodeLabel: "UpdateNodeLabel"}[e.Actions]
	for _, q := range slices.Clone(w.queue) {
		if q.gated {
			if err := w.gate(q); err != nil {
				return err
			}
		}
		wake := q.everybody
		for _, pl := range q.parked {
			registered := len(pl.man.Events) == 0 || w.h.wrong("asks about every event") || slices.ContainsFunc(pl.man.Events, func(m wire.ManifestEvent) bool {
				return m.Resource == resource && slices.Contains(m.Actions, action)
			})
			if !registered {
				continue
			}
			if pl.man.Points.Hint == nil {
				wake = true
				continue
			}
			answer, err := w.batch(pl, &conformance.Call{Point: abi.Hint, Pods: []cluster.Pod{q.pod}, Event: e})
			if err != nil {
				return err
			}
			wake = wake || answer.Codes[0] == abi.Success || w.h.wrong("does not heed hints")
		}
		if wake {
			q.parked, q.everybody, q.again = nil, false, 0
		}
	}
	return nil
}

// Settle implements conformance.Running.
func (w *world) Settle(_ context.Context, d time.Duration) error {
	end := w.now + d
	for {
		if err := w.tries(); err != nil {
			return err
		}
		var next *queued
		var by *plugin
		for _, q := range w.queue {
			for pl, deadline := range q.waits {
				if deadline <= end && (next == nil || deadline < next.waits[by]) {
					next, by = q, pl
				}
			}
		}
		var again *queued
		for _, q := range w.queue {
			if q.again > 0 && q.again <= end && (again == nil || q.again < again.again) {
				again = q
			}
		}
		if again != nil && (next == nil || again.again < next.waits[by]) {
			w.now = again.again
			again.parked, again.everybody, again.again = nil, false, 0
			if err := w.gate(again); err != nil {
				return err
			}
			continue
		}
		if next == nil {
			w.now = end
			return nil
		}
		w.now = next.waits[by]
		if err := w.fail(next, []*plugin{by}, "timed out"); err != nil {
			return err
		}
	}
}

// retry has a pod tried again after a time.
func (w *world) retry(q *queued, after time.Duration) {
	if after > 0 && !w.h.wrong("does not heed retry_after") {
		q.again = w.now + after
	}
}

// tries tries active pods until none is left.
func (w *world) tries() error {
	for {
		var active []*queued
		for _, q := range w.queue {
			if !q.gated && q.parked == nil && !q.everybody && len(q.waits) == 0 {
				active = append(active, q)
			}
		}
		if len(active) == 0 {
			return nil
		}
		slices.SortFunc(active, w.order)
		if err := w.try(active[0]); err != nil {
			return err
		}
	}
}

// order is ABI-5.10; a pod without a key comes last (ABI-5.11).
func (w *world) order(a, b *queued) int {
	if w.h.wrong("sorts by time") {
		return cmp.Compare(a.entry.Time, b.entry.Time)
	}
	if (a.key == nil) != (b.key == nil) {
		return cmp.Compare(len(b.key), len(a.key))
	}
	return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.entry.Time, b.entry.Time), cmp.Compare(a.pod.Metadata.UID, b.pod.Metadata.UID))
}

// act carries out directives about other pods (ABI-13.4).
func (w *world) act(by *plugin, answer *conformance.Answer) error {
	for _, d := range answer.Directives {
		at := slices.IndexFunc(w.queue, func(q *queued) bool { return q.pod.Metadata.UID == d.First })
		if at < 0 {
			continue
		}
		q := w.queue[at]
		switch d.Kind {
		case abi.Allow:
			delete(q.waits, by)
			if w.h.wrong("every plugin allows") {
				clear(q.waits)
			}
			if len(q.waits) == 0 && q.waits != nil {
				if err := w.bind(q); err != nil {
					return err
				}
			}
		case abi.Reject:
			if len(q.waits) > 0 {
				if err := w.fail(q, []*plugin{by}, d.Second); err != nil {
					return err
				}
			}
		case abi.Activate:
			if !w.h.wrong("does not activate") {
				q.parked, q.everybody = nil, false
			}
		}
	}
	return nil
}

// bind binds the pod with all patches (ABI-5.19).
func (w *world) bind(q *queued) error {
	a := &attempt{w: w, q: q}
	for _, point := range []abi.Point{abi.PreBind, abi.Bind} {
		for _, pl := range w.profile.plugins {
			answer, err := a.ask(pl, &conformance.Call{Point: point, Node: q.node})
			if err != nil {
				return err
			}
			if answer != nil && answer.Code != abi.Success && answer.Code != abi.Skip {
				return w.fail(q, []*plugin{pl}, strings.Join(answer.Reasons, ", "))
			}
			if point == abi.Bind && answer != nil && answer.Code == abi.Success {
				break
			}
			if point == abi.Bind && answer != nil && w.h.wrong("Skip of bind ends it") {
				return w.fail(q, nil, "skipped")
			}
		}
	}
	w.bound++
	q.outcome.Node, q.outcome.Order, q.outcome.Message, q.waits = q.node, w.bound, "", nil
	if !w.h.wrong("patches do not travel with the binding") {
		q.pod.Metadata = q.cycle.pod.Metadata
	}
	w.queue = slices.DeleteFunc(w.queue, func(other *queued) bool { return other == q })
	for _, pl := range w.profile.plugins {
		if _, err := a.ask(pl, &conformance.Call{Point: abi.PostBind, Node: q.node}); err != nil {
			return err
		}
	}
	return nil
}
