package fgd_test

import (
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/fgd"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", fgd.Manifest, berthtest.Native(fgd.New))
}

// TestAllocations: judging nodes does not allocate.
func TestAllocations(t *testing.T) {
	trial := berthtest.New(t, fgd.Manifest, berthtest.Native(fgd.New), `{"typicalPods": [{"milliCPU": 4000, "gpus": 1, "milliGPU": 600, "count": 3}]}`)
	pod := func(milli int) berthtest.Pod {
		return berthtest.Pod{Namespace: "default", Name: "p", Annotations: map[string]string{gpushare.CountAnnotation: "1", gpushare.MilliAnnotation: fmt.Sprint(milli)}}
	}
	for i := range 50 {
		n := berthtest.Node{Name: fmt.Sprint("node-", i), Annotations: map[string]string{gpushare.CountAnnotation: "8"}}
		for device := range i % 8 {
			p := pod(10 * i)
			p.Annotations[gpushare.DevicesAnnotation] = fmt.Sprint(device)
			n.Pods = append(n.Pods, p, pod(1000))
		}
		trial.Nodes = append(trial.Nodes, n)
	}
	call := trial.Caller([]berthtest.Pod{pod(300), pod(1000), pod(1001)})
	for i := range 3 { // makes room for rows and reasons
		call(i)
	}
	if n := testing.AllocsPerRun(100, func() { call(0); call(1); call(2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
