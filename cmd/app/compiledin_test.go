package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/debughttp"
)

// picky is a plugin of kube-scheduler's framework that takes the node of its args, if an informer knows it.
type picky struct {
	node   string
	handle framework.Handle
}

func (*picky) Name() string { return "Picky" }

func (p *picky) Filter(_ context.Context, _ framework.CycleState, _ *v1.Pod, node framework.NodeInfo) *framework.Status {
	known, err := p.handle.SharedInformerFactory().Core().V1().Nodes().Lister().Get(node.Node().Name)
	if err != nil {
		return framework.AsStatus(err)
	}
	if known.Name != p.node {
		return framework.NewStatus(framework.Unschedulable, "node(s) were not picked")
	}
	return nil
}

// TestRunCompiledIn: berth run schedules through a plugin that is compiled in; the metrics, berth explain and berth
// plugin status show it.
func TestRunCompiledIn(t *testing.T) {
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "s")
	const text = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Picky}]}}
  pluginConfig: [{name: Picky, args: {node: n-2}}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newProgram(WithPlugin("Picky", func(_ context.Context, args runtime.Object, h framework.Handle) (framework.Plugin, error) {
		node := strings.Split(string(args.(*runtime.Unknown).Raw), `"`)[3]
		return &picky{node: node, handle: h}, nil
	}))
	l := liveWith(t, p, "--config="+file, "--debug-socket="+socket, "--secure-port=0", "--leader-elect=false")
	l.node("n-1", 4)
	l.pod("ns", "p", 1, 0)
	l.await("scheduler_schedule_attempts_total", `result="unschedulable"`)
	l.node("n-2", 4)
	l.await("scheduler_schedule_attempts_total", `result="scheduled"`)
	l.await("berth_plugin_calls_total", `plugin="Picky"`, `point="Filter"`)

	var status debughttp.Plugins
	l.get(debughttp.PluginsPath, &status)
	if c := status.CompiledIn; len(c) != 1 || c[0].Name != "Picky" || c[0].Profile != v1.DefaultSchedulerName || len(c[0].Points) != 1 || c[0].Points[0] != "filter" {
		t.Errorf("berth plugin status has %+v", status)
	}
	var pod debughttp.Pod
	l.get(debughttp.ExplainPath+"ns/p", &pod)
	if pod.Last == nil || pod.Last.Attempt.Node != "n-2" {
		t.Errorf("berth explain has %+v", pod)
	}
}
