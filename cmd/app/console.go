package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// source is what the console shows of the running scheduler.
func (w *watched) source() debughttp.Source {
	return debughttp.Source{
		About: debughttp.About{Version: w.version}, Now: time.Now,
		Places: onLoop(w, placesOf), Problems: w.problems,
		Queue: func(ctx context.Context) ([]debughttp.Queued, error) {
			pods, err := onLoop(w, queuedOf)(ctx)
			oldestFirst(pods)
			return pods, err
		},
		Nodes: func(ctx context.Context) ([]debughttp.Node, error) {
			contents, err := onLoop(w, (*scheduler.Scheduler).Contents)(ctx)
			return nodesOf(contents), err
		},
		Work: func(ctx context.Context) ([]debughttp.Work, error) {
			totals, err := onLoop(w, (*scheduler.Scheduler).Totals)(ctx)
			return workOf(totals), err
		},
	}
}

// onLoop returns a function that asks the scheduler between two attempts.
func onLoop[T any](w *watched, of func(*scheduler.Scheduler) T) func(ctx context.Context) (T, error) {
	return func(ctx context.Context) (out T, err error) {
		r := w.running.Load()
		if r == nil {
			return out, errors.New("it has not started yet")
		}
		err = r.assembly.Scheduler.Do(ctx, func() { out = of(r.assembly.Scheduler) })
		return out, err
	}
}

// atPermit is the place of pods that wait there, which are in flight in the queue.
const atPermit = "waiting"

// placesOf counts pods by place.
func placesOf(s *scheduler.Scheduler) map[string]int {
	p := s.Pending()
	return map[string]int{
		queue.Active.String(): p.Queue.Active, queue.Backoff.String(): p.Queue.Backoff, queue.ErrorBackoff.String(): p.Queue.ErrorBackoff,
		queue.Unschedulable.String(): p.Queue.Unschedulable, queue.Gated.String(): p.Queue.Gated, atPermit: p.Waiting, queue.Binding.String(): p.Binding,
	}
}

// queuedOf returns the pods that are not placed.
func queuedOf(s *scheduler.Scheduler) []debughttp.Queued {
	waiting := make(map[types.UID][]string)
	for _, w := range s.WaitingPods() {
		waiting[w.Pod.UID] = w.Plugins
	}
	out := []debughttp.Queued{}
	for place, p := range s.Queued() {
		q := debughttp.Queued{
			Namespace: p.Pod.Namespace, Name: p.Pod.Name, UID: p.Pod.UID, Profile: p.Pod.Profile, Priority: p.Pod.Priority, Place: place.String(),
			Since: unlessZero(p.Timestamp), First: unlessZero(p.InitialAttempt), BackoffUntil: unlessZero(p.BackoffUntil), Attempts: p.Attempts,
			RetryAt: unlessZero(p.RetryAt), RetryBy: p.RetryBy,
		}
		switch plugins, waits := waiting[p.Pod.UID]; {
		case waits:
			q.Place, q.Plugins = atPermit, plugins
		case p.GatedBy != "":
			q.Plugins, q.Reason = []string{p.GatedBy}, p.GateReason
		case queueOf(place) == "": // what rejected it before does not count while it is bound
		default:
			q.Plugins = slices.Concat(p.Rejectors, p.Pending)
		}
		out = append(out, q)
	}
	return out
}

// oldestFirst sorts pods by how long they have been waiting.
func oldestFirst(pods []debughttp.Queued) {
	since := func(q *debughttp.Queued) int64 {
		if at := cmp.Or(q.First, q.Since); at != nil {
			return at.UnixNano()
		}
		return 0
	}
	slices.SortStableFunc(pods, func(a, b debughttp.Queued) int {
		return cmp.Or(cmp.Compare(since(&a), since(&b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// nodesOf returns what nodes have, and what pods on them request.
func nodesOf(c scheduler.Contents) []debughttp.Node {
	requested := make(map[string]*state.Resources, len(c.Nodes))
	for _, n := range c.Nodes {
		requested[n.Name] = &state.Resources{}
	}
	for _, pod := range c.Placed {
		if r := requested[pod.NodeName()]; r != nil {
			r.Add(&pod.Requests)
		}
	}
	out := make([]debughttp.Node, 0, len(c.Nodes))
	for _, n := range c.Nodes {
		node := debughttp.Node{Name: n.Name, Unschedulable: n.Object.Spec.Unschedulable}
		for i := range n.Object.Spec.Taints {
			node.Taints = append(node.Taints, n.Object.Spec.Taints[i].ToString())
		}
		names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods}
		for _, s := range n.Allocatable.Scalars {
			names = append(names, s.Name)
		}
		for _, name := range names {
			node.Resources = append(node.Resources, debughttp.Amount{
				Name: string(name), Allocatable: n.Allocatable.Amount(name), Requested: requested[n.Name].Amount(name),
			})
		}
		out = append(out, node)
	}
	return out
}

// workOf returns what plugins did.
func workOf(t scheduler.Totals) []debughttp.Work {
	out := make([]debughttp.Work, 0, len(t.Plugins))
	for i := range t.Plugins {
		p := &t.Plugins[i]
		out = append(out, debughttp.Work{
			Profile: p.Profile, Plugin: p.Plugin, Digest: p.Digest, Point: p.Point.String(),
			Calls: p.Calls, Rows: p.Rows, Reused: p.Reused, Faults: p.Faults, Duration: p.Duration,
		})
	}
	return out
}

// placeOf says where a pod is among the pods that are not placed; empty if it is not there.
func placeOf(pods []debughttp.Queued, namespace, name string) string {
	for i := range pods {
		p := &pods[i]
		switch {
		case p.Namespace != namespace || p.Name != name:
		case p.Place == atPermit:
			return fmt.Sprintf("waiting at Permit for %v", p.Plugins)
		case p.Place == queue.Gated.String() && len(p.Plugins) > 0:
			return p.Place + " by " + strings.Join(p.Plugins, ", ") + ": " + p.Reason
		default:
			return p.Place
		}
	}
	return ""
}
