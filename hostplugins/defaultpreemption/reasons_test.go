package defaultpreemption_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/defaultpreemption"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// rejecting is hypothetical nodes that are rejected, each for long reasons of its own.
type rejecting struct {
	plugin.HypotheticalNode
	code  abi.Code
	nodes int
}

func (r *rejecting) Node(uint32) plugin.HypotheticalNode { r.nodes++; return r }

func (r *rejecting) Close() {}

func (r *rejecting) Remove(*state.Pod) *plugin.Status { return nil }

func (r *rejecting) Judge() *plugin.Status {
	return plugin.NewStatus(r.code, fmt.Sprint(r.nodes, strings.Repeat("x", 16<<10)), "a reason of all nodes")
}

// TestManyReasons: the reasons why nodes are no candidates take little memory, however many there
// are.
func TestManyReasons(t *testing.T) {
	const nodes = 500
	var infos []*state.NodeInfo
	for i := range nodes {
		name := fmt.Sprint("n", i)
		info := &state.NodeInfo{
			Name: name, Node: state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}), ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1),
		}
		info.AddPod(state.PlacedPod{Pod: pod(name, 0), Slot: uint32(i), Generation: 1})
		infos = append(infos, info)
	}
	snap := state.NewSnapshot()
	snap.Rebuild(infos)
	for _, code := range []abi.Code{abi.Unschedulable, abi.Error} {
		p, err := defaultpreemption.New(nil, defaultpreemption.Deps{})
		if err != nil {
			t.Fatal(err)
		}
		tried := &rejecting{code: code}
		d := &plugin.Diagnosis{Codes: make([]abi.Code, nodes), WhatIf: tried}
		for i := range d.Codes {
			d.Codes[i] = abi.Unschedulable
		}
		c := &plugin.Cycle{Context: context.Background(), Snapshot: snap, Pod: pod("new", 1), State: &state.CycleState{}}
		_, status := p.PostFilter(c, d)
		message := status.Message()
		if tried.nodes != nodes || len(message) > 2<<20 {
			t.Errorf("%s: %d nodes were tried, and the message has %d bytes: %.100s", code, tried.nodes, len(message), message)
		}
		// Some 63 reasons have a megabyte. One stands for the others, and one is of all nodes; the first is shown.
		if i := strings.LastIndex(message, "and "); code == abi.Unschedulable && message[i:] != "and 64 more reasons." {
			t.Errorf("the message ends with %.100s", message[i:])
		}
	}
}

func pod(name string, priority int32) *state.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}}
	p.Spec.Priority = &priority
	return state.NewPod(p)
}
