package gpushare_test

import (
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/gpushare"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", gpushare.Manifest, berthtest.Native(gpushare.New))
}

// TestRegister: the annotation of a node in JSON, which scenarios cannot have, is understood as the text of older versions is. What is
// neither has no GPUs.
func TestRegister(t *testing.T) {
	trial := berthtest.New(t, gpushare.Manifest, berthtest.Native(gpushare.New), "{}")
	const one = `{"id":"u","index":1,"count":10,"devmem":8000,"devcore":100,"type":"NVIDIA-A100","numa":1,"mode":"hami-core","health":true}`
	for name, register := range map[string]string{
		"json": "[" + one + "]", "text": "u,10,8000,100,NVIDIA-A100,1,true,1,hami-core:", "short": "u,10,8000,100,NVIDIA-A100,1,true:",
		"ill": `[{"id":"u","count":10,"devmem":8000,"devcore":100,"type":"NVIDIA-A100"}]`, "bad": `[{"id":`, "odd": "u,10:", "number": `[{"id":1}]`,
		"none": "[]",
	} {
		trial.Nodes = append(trial.Nodes, berthtest.Node{Name: name, Annotations: map[string]string{"hami.io/node-nvidia-register": register}})
	}
	want := map[string]string{
		"json": "", "text": "", "short": "", "ill": "node(s) had too few GPUs that suit the pod", "bad": "node(s) had no GPUs", "odd": "node(s) had no GPUs",
		"number": "node(s) had too few GPUs that suit the pod", "none": "node(s) had no GPUs",
	}
	pod := berthtest.Pod{Namespace: "default", Name: "pod", Containers: []berthtest.Container{{Name: "c", Requests: map[string]int64{"nvidia.com/gpu": 1}}}}
	for _, v := range trial.Place(pod) {
		got := ""
		if len(v.Reasons) > 0 {
			got = v.Reasons[0]
		}
		if got != want[v.Node] {
			t.Errorf("%s: %q, want %q", v.Node, got, want[v.Node])
		}
	}
}
