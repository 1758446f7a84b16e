package pipeline_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestErrorEndsSampling: an error of a filter ends the attempt, so that no further rows are looked at.
func TestErrorEndsSampling(t *testing.T) {
	const nodes, want = 2000, 100
	var infos []*state.NodeInfo
	for i := range nodes {
		n := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
		infos = append(infos, &state.NodeInfo{Name: n.Name, Node: n, ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1)})
	}
	snapshot := state.NewSnapshot()
	snapshot.Rebuild(infos)
	workers, err := pipeline.NewWorkers(1)
	if err != nil {
		t.Fatal(err)
	}
	defer workers.Close()
	m := &moody{info: plugin.Info{Name: "Moody"}}
	points := map[abi.Point][]pipeline.Entry{}
	for _, point := range []abi.Point{abi.QueueSort, abi.Filter, abi.Bind} {
		points[point] = []pipeline.Entry{{Plugin: m}}
	}
	p, err := pipeline.New(pipeline.Config{Points: points}, pipeline.Deps{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	run := p.NewRun(nil)
	for code, all := range map[abi.Code]bool{abi.Error: false, abi.Unschedulable: true} {
		m.code, m.asked = code, 0
		run.Begin(plugin.Cycle{Context: t.Context(), Snapshot: snapshot, State: &state.CycleState{}, Pod: state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}})})
		rows := run.Rows(nodes)
		_, looked, status := run.Filter(rows, nodes/2, want)
		if looked != m.asked || all != (looked == nodes) || all != status.Success() {
			t.Errorf("%v: the filter was asked about %d of %d rows, %d were counted; status is %v", code, m.asked, nodes, looked, status)
		}
	}
}
