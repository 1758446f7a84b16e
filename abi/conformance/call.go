package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// call makes the call of a step, with defaults for what the case leaves out.
func (lib *library) call(state *played, doc *stepDoc, plugin string) (*Call, error) {
	point, err := pointOf(doc.Point)
	if err != nil {
		return nil, err
	}
	out := &Call{Plugin: plugin, Point: point, WhatIf: doc.WhatIf}
	nodes := doc.Nodes
	if nodes == nil {
		for i := range state.cluster.Nodes {
			nodes = append(nodes, state.cluster.Nodes[i].Metadata.Name)
		}
	}
	switch point {
	case abi.Filter, abi.PreScore, abi.Score, abi.Normalize:
		out.Nodes = nodes
	}
	switch {
	case point == abi.Normalize:
		if out.Scores = doc.Scores; out.Scores == nil {
			out.Scores = state.scores
		}
		if len(out.Scores) != len(nodes) {
			return nil, fmt.Errorf("conformance: %d scores for %d nodes", len(out.Scores), len(nodes))
		}
	case point == abi.PostFilter:
		return out, out.verdicts(state, doc)
	case point >= abi.Reserve:
		if out.Node = doc.Node; out.Node == "" {
			out.Node = nodes[0]
		}
	case point <= abi.Hint:
		return out, lib.batch(out, doc)
	}
	return out, nil
}

func (c *Call) verdicts(state *played, doc *stepDoc) error {
	for i := range state.cluster.Nodes {
		name := "Unschedulable"
		if i < len(doc.Verdicts) {
			name = doc.Verdicts[i]
		}
		code, err := codeOf(name)
		if err != nil {
			return err
		}
		c.Verdicts = append(c.Verdicts, code)
	}
	return nil
}

// batch sets the pods of a call about many pods, and the event of a hint.
func (lib *library) batch(c *Call, doc *stepDoc) error {
	pods := doc.Pods
	if doc.Copies > 0 {
		c.Pods = podCopies(doc.Copies)
	} else if pods == nil {
		pods = []json.RawMessage{json.RawMessage(`"web"`), json.RawMessage(`"batch"`)}
	}
	for _, text := range pods {
		pod, err := lib.pod(text, "")
		if err != nil {
			return err
		}
		c.Pods = append(c.Pods, *pod)
	}
	if c.Point == abi.QueueSort {
		c.Queue = make([]wire.QueueEntry, len(c.Pods))
		for i := range min(len(doc.Queue), len(c.Pods)) {
			c.Queue[i] = wire.QueueEntry{Time: doc.Queue[i].Time, Attempts: doc.Queue[i].Attempts}
		}
	}
	if c.Point == abi.Hint {
		if c.Event = doc.Event; c.Event == nil {
			three := lib.objects.Clusters["three"]
			c.Event = &Event{Resource: abi.EventNode, Actions: abi.ActionAdd, NewNode: &three.Nodes[0]}
		}
	}
	return nil
}

// patched applies the host's patches to the pod.
func (s *played) patched(directives []wire.Directive) {
	for _, d := range directives {
		m := &s.pod.Metadata
		switch d.Kind {
		case abi.Annotate:
			m.Annotations = with(m.Annotations, d.First, d.Second)
		case abi.Label:
			m.Labels = with(m.Labels, d.First, d.Second)
		}
	}
}

func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}
