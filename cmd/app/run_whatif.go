package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// whatIf answers a question about the cluster as the loop knows it between two attempts.
func (w *watched) whatIf(ctx context.Context, r *whatif.Request) (answer *whatif.Answer, err error) {
	err = w.aboutNow(ctx, func(c *whatif.Cluster) error {
		if now := w.running.Load(); now.optional != nil {
			reading, cancel := context.WithTimeout(ctx, readOptional)
			c.Known = *knownOf(now.optional(reading))
			cancel()
		}
		answer, err = c.Ask(ctx, r)
		return err
	})
	return answer, err
}

// readOptional is how long a question waits for objects that are optional.
const readOptional = 5 * time.Second

// podNow asks whether a pending pod would fit by now.
func (w *watched) podNow(ctx context.Context, pod *v1.Pod) (now *debughttp.Now, err error) {
	err = w.aboutNow(ctx, func(c *whatif.Cluster) error {
		answer, e, err := c.AskPod(ctx, pod)
		if err == nil {
			now = &debughttp.Now{Code: answer.Code, Node: answer.Node}
		}
		if e != nil {
			now.Change, now.Tried = e.Change, e.Tried
		}
		return err
	})
	return now, err
}

// aboutNow asks about the cluster as the loop knows it. Questions are asked one at a time.
func (w *watched) aboutNow(ctx context.Context, ask func(*whatif.Cluster) error) error {
	if !w.asking.TryLock() {
		return whatif.ErrBusy
	}
	defer w.asking.Unlock()
	now := w.running.Load()
	if now == nil {
		return errors.New("the scheduler has not started yet")
	}
	// Their factories may register metrics or start goroutines, which a question must not do again.
	if own := now.assembly.Status().CompiledIn; len(own) > 0 {
		return fmt.Errorf("plugin %s is compiled in, and a question cannot make it a second time: ask about files, with --cluster", own[0].Name)
	}
	var contents scheduler.Contents
	var objects kube.Objects
	if err := now.assembly.Scheduler.Do(ctx, func() {
		contents, objects = now.assembly.Scheduler.Contents(), now.cluster.Objects()
	}); err != nil {
		return err
	}
	c := clusterOf(now.assembly.Config(), contents)
	c.Storage, c.Owners, c.PodDisruptionBudgets = objects.Storage, objects.Owners, objects.PodDisruptionBudgets
	c.Scheduler.Workers = 1 // the others are for the scheduler
	var err error
	if caught := plugin.Guard(plugin.InQuestion, "a what-if", nil, func() { err = ask(c) }); caught != nil {
		err = caught
	}
	if caught := new(plugin.Panic); errors.As(err, &caught) {
		now.assembly.Panicked(caught)
	}
	return err
}

// clusterOf returns the cluster that a loop knows, without other objects.
func clusterOf(a assembly.Config, contents scheduler.Contents) *whatif.Cluster {
	c := &whatif.Cluster{Scheduler: a, Bound: contents.Placed, Debts: contents.Debts, At: contents.At, Feeds: contents.Feeds}
	for _, node := range contents.Nodes {
		c.Nodes = append(c.Nodes, node.Object)
	}
	for _, namespace := range contents.Namespaces {
		c.Namespaces = append(c.Namespaces, namespace.Object)
	}
	for _, n := range contents.Nominated {
		pod := n.Pod.Object
		if pod.Status.NominatedNodeName != n.Node { // it has not been written yet
			pod = pod.DeepCopy()
			pod.Status.NominatedNodeName = n.Node
		}
		c.Nominated = append(c.Nominated, pod)
	}
	return c
}
