package hostplugins_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// brute returns what a plugin has to say of a pod.
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

// straight is the shape that brute scores are about.
func straight() *configv1.VolumeBindingArgs {
	return &configv1.VolumeBindingArgs{Shape: []configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}}}
}

// TestVolumesOracle holds the plugins against an evaluation by brute force, in one
// cluster after the other that changes come from: what plugins keep must be as
// good as read anew.
func TestVolumesOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := volumeGen{rt}
		w := g.volumeWorld(5)
		plugins := w.plugins(t, straight())
		cluster := newCluster()
		for step := range 4 {
			pod := g.incoming(w, fmt.Sprintf("new%d", step))
			s := cluster.snapshot(w)
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
	if status := p.(plugin.PreScore).PreScore(c, nil); !status.Success() {
		rt.Fatalf("PreScore: %v", status)
	}
	out := make([]int64, c.Snapshot.Len())
	if status := p.(plugin.Score).Score(c, rowsOf(c.Snapshot), out); !status.Success() {
		rt.Fatalf("Score: %v", status)
	}
	for row, verdict := range verdicts.nodes {
		n := w.nodeOf(c.Snapshot.Name(uint32(row)))
		if want := w.bruteScore(pod, n); verdict == inWords(abi.Success, nil) && out[row] != want {
			rt.Fatalf("node %s scores %d, want %d", n.Name, out[row], want)
		}
	}
}

func (w *volumeWorld) nodeOf(name string) *v1.Node { return named(w.nodes, "", name) }

// cluster keeps a snapshot of the nodes and pods of a world up to date, changed
// rows only.
type cluster struct {
	s          *state.Snapshot
	generation uint64
	slots      uint32
	rows       []*state.NodeInfo
}

func newCluster() *cluster { return &cluster{s: state.NewSnapshot()} }

func (c *cluster) next() uint64 { c.generation++; return c.generation }

// snapshot updates the snapshot. Rows are the nodes in order.
func (c *cluster) snapshot(w *volumeWorld) *state.Snapshot {
	rows := make([]*state.NodeInfo, len(w.nodes))
	var dirty, freed []uint32
	free := func(info *state.NodeInfo) {
		for _, p := range info.Pods {
			freed = append(freed, p.Slot)
		}
	}
	for _, old := range c.rows {
		if named(w.nodes, "", old.Name) == nil {
			free(old)
		}
	}
	for row, n := range w.nodes {
		at := slices.IndexFunc(c.rows, func(old *state.NodeInfo) bool { return old.Name == n.Name })
		info := &state.NodeInfo{Name: n.Name, Node: state.NewNode(n), ObjectGeneration: c.next(), PodsGeneration: c.next()}
		if at >= 0 && c.rows[at].Node.Object == n {
			info.ObjectGeneration = c.rows[at].ObjectGeneration
		}
		pods := w.on(n.Name)
		if at >= 0 && slices.EqualFunc(c.rows[at].Pods, pods, func(a state.PlacedPod, b *v1.Pod) bool { return a.Pod.Object == b }) {
			info.Pods, info.PodsGeneration = c.rows[at].Pods, c.rows[at].PodsGeneration
		} else {
			if at >= 0 {
				free(c.rows[at])
			}
			for _, p := range pods {
				info.AddPod(state.PlacedPod{Pod: state.NewPod(p), Slot: c.slots, Generation: c.next()})
				c.slots++
			}
		}
		if rows[row] = info; at != row || c.rows[at].ObjectGeneration != info.ObjectGeneration || c.rows[at].PodsGeneration != info.PodsGeneration {
			dirty = append(dirty, uint32(row))
		}
	}
	c.rows = rows
	c.s.Update(rows, dirty, freed)
	return c.s
}
