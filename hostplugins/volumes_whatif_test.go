package hostplugins_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// TestVolumesWhatIf: a node with pods added and removed gets the verdict that it would get in a
// cluster in that state.
func TestVolumesWhatIf(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		g := volumeGen{rt}
		w := g.world(3)
		plugins := w.plugins(t, nil)
		pod := g.incoming(w, "new")
		at := g.number("node", len(w.nodes)-1)
		for _, name := range volumePlugins() {
			p, s := plugins[name], w.snapshot()
			c := cycleOf(s, pod)
			if _, status := p.(plugin.PreFilter).PreFilter(c); !status.Success() {
				continue // no plugin is called
			}
			trial := *c
			trial.State = c.State.Clone()
			overlay := s.Overlay(uint32(at))
			other := *w
			tell := func(does func(plugin.PreFilterExtensions, *v1.Pod) *plugin.Status, pod *v1.Pod) {
				if e, ok := p.(plugin.PreFilterExtensions); ok {
					if status := does(e, pod); !status.Success() {
						rt.Fatal(status)
					}
				}
			}
			for _, old := range w.placed {
				if old.Spec.NodeName != w.nodes[at].Name || !g.chance("removed", 60) {
					continue
				}
				other.placed = without(other.placed, old)
				s.RemovePod(overlay, old.UID)
				tell(func(e plugin.PreFilterExtensions, pod *v1.Pod) *plugin.Status {
					return e.RemovePod(&trial, overlay, decoded(pod))
				}, old)
			}
			for i := range g.number("added", 2) {
				more := g.volumePod(fmt.Sprintf("more%d", i), w.nodes[at].Name)
				other.placed = append(slices.Clone(other.placed), more)
				s.AddPod(overlay, decoded(more))
				tell(func(e plugin.PreFilterExtensions, pod *v1.Pod) *plugin.Status {
					return e.AddPod(&trial, overlay, decoded(pod))
				}, more)
			}
			got := verdicts(p.(plugin.Filter), &trial, []uint32{overlay})[0]
			want := other.fresh(t, name, pod)
			if want.pre == "Success" && got != want.nodes[at] || want.pre != "Success" && got != "Success []" {
				rt.Fatalf("%s: %s in the what-if, %v in a cluster in that state", name, got, want)
			}
			// The state of the cycle itself is unchanged.
			if got, want := verdicts(p.(plugin.Filter), c, rowsOf(s)), w.fresh(t, name, pod); !slices.Equal(got, want.nodes) {
				rt.Fatalf("%s: %v after a what-if, want %v", name, got, want)
			}
		}
	})
}
