package hostplugins_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// brute returns what a plugin should answer for a pod.
func (w *volumeWorld) brute(name string, pod *v1.Pod) said {
	switch name {
	case "VolumeRestrictions":
		return w.bruteRestrictions(pod)
	case "VolumeZone":
		return w.bruteZone(pod)
	case "NodeVolumeLimits":
		return w.bruteLimits(pod)
	}
	return w.bruteBinding(pod)
}

// straight is the shape that bruteScore uses.
func straight() *configv1.VolumeBindingArgs {
	return &configv1.VolumeBindingArgs{Shape: []configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}}}
}

// TestVolumesOracle compares the plugins with a brute-force evaluation, while a cluster changes
// step by step: the data that plugins keep must be equal to data read again.
func TestVolumesOracle(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		g := volumeGen{rt}
		w := g.world(5)
		plugins := w.plugins(t, straight())
		cluster := plugintest.NewCluster()
		for step := range 4 {
			pod := g.incoming(w, fmt.Sprintf("new%d", step))
			s := cluster.Snapshot(w.nodes, w.placed)
			for _, name := range volumePlugins() {
				c := cycleOf(s, pod)
				got, want := ask(plugins[name], c), w.brute(name, pod)
				if !slices.Equal(got.nodes, want.nodes) || got.pre != want.pre {
					rt.Fatalf("%s at step %d:\n%v\nwant\n%v", name, step, got, want)
				}
				if name == "VolumeBinding" {
					checkScores(rt, w, plugins[name], c, pod, got)
				}
			}
			for range g.number("changes", 4) {
				g.happen(w)
			}
		}
	})
}

func checkScores(rt *rapid.T, w *volumeWorld, p plugin.Plugin, c *plugin.Cycle, pod *v1.Pod, verdicts said) {
	out := make([]int64, c.Snapshot.Len())
	status := p.(plugin.PreScore).PreScore(c, nil)
	if status.Success() {
		status = p.(plugin.Score).Score(c, rowsOf(c.Snapshot), out)
	}
	if !status.Success() && !status.Is(abi.Skip) {
		rt.Fatalf("scores: %v", status)
	}
	for row, verdict := range verdicts.nodes {
		n := w.nodeOf(c.Snapshot.Name(uint32(row)))
		if want := w.bruteScore(pod, n); verdict == inWords(abi.Success, nil) && out[row] != want {
			rt.Fatalf("node %s scores %d, want %d", n.Name, out[row], want)
		}
	}
}

func (w *volumeWorld) nodeOf(name string) *v1.Node { return named(w.nodes, "", name) }
