package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// whatIf answers a question about the cluster as the loop knows it between two attempts.
func (w *watched) whatIf(ctx context.Context, r *whatif.Request) (*whatif.Answer, error) {
	now := w.running.Load()
	if now == nil {
		return nil, errors.New("the scheduler has not started yet")
	}
	// Their factories may register metrics or start goroutines, which a question must not do again.
	if own := now.assembly.Status().CompiledIn; len(own) > 0 {
		return nil, fmt.Errorf("plugin %s is compiled in, and a question cannot make it a second time: ask about files, with --cluster", own[0].Name)
	}
	var contents scheduler.Contents
	var objects kube.Objects
	if err := now.assembly.Scheduler.Do(ctx, func() {
		contents, objects = now.assembly.Scheduler.Contents(), now.cluster.Objects()
	}); err != nil {
		return nil, err
	}
	c := clusterOf(now.assembly.Config(), contents)
	c.Storage, c.Owners, c.PodDisruptionBudgets = objects.Storage, objects.Owners, objects.PodDisruptionBudgets
	c.Scheduler.Workers = 1 // the others are for the scheduler
	return c.Ask(ctx, r)
}

// clusterOf returns the cluster that a loop knows, without other objects.
func clusterOf(a assembly.Config, contents scheduler.Contents) *whatif.Cluster {
	c := &whatif.Cluster{Scheduler: a, Bound: contents.Placed}
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
