package hostplugins_test

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/pernode"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestSpread compares PodTopologySpread, whose counts follow a changing cluster, with an
// implementation that evaluates every pod of every node again: verdicts, skips, scores, and
// what-ifs.
func TestSpread(t *testing.T) {
	const name = "PodTopologySpread"
	seeded.Check(t, func(rt *rapid.T) {
		g := fair{rt}
		p := g.mindingProfile()
		columns, objects := p.columns(t), p.objects(t)
		only(columns, name)
		objects.Filters = slices.DeleteFunc(objects.Filters, func(f pernode.Filter) bool { return f.Name() != name })
		objects.Scores = slices.DeleteFunc(objects.Scores, func(w plugintest.WeightedPerNode) bool { return w.Score.Name() != name })
		w := plugintest.NewLiveCluster()
		for i := range 1 + g.number("nodes", 6) {
			w.SetNode(g.minded(i))
		}
		next := 0
		var pods []*v1.Pod
		for i := range 3 {
			pods = append(pods, g.minding(1000+i))
		}
		for range 1 + g.number("updates", 9) {
			for range g.number("steps", 12) {
				next = g.step(w, next)
			}
			w.Update(g.chance("anew", 5))
			if g.chance("missed", 20) {
				continue
			}
			pod := pods[g.number("pod", len(pods)-1)]
			p.world.set(w)
			a, b := plugintest.Result{KeepRaw: true}, plugintest.Result{KeepRaw: true}
			columns.Run(w.Snapshot, state.NewPod(pod), &a)
			objects.Run(w.Objects(), pod, &b)
			if err := plugintest.Difference(&a, &b); err != nil {
				rt.Fatalf("%v", err)
			}
			whatIf(g, columns.Filters[0], objects.Filters[0], w, pod)
		}
	})
}

// whatIf removes pods from a node and adds others, and compares the verdicts with those for a
// cluster in that state. Pods that are being deleted are left out: in a what-if kube-scheduler,
// and so the plugin, counts them differently.
func whatIf(g fair, columns plugin.Filter, objects pernode.Filter, w *plugintest.LiveCluster, pod *v1.Pod) {
	nodes := w.Objects()
	at := g.number("what-if", len(nodes)-1)
	s := w.Snapshot
	defer s.DropOverlays()
	overlay := s.Overlay(uint32(at))

	// A nominated pod is on the overlay before PreFilter, and AddPod is called for it
	// afterwards.
	var nominated *v1.Pod
	if g.chance("nominated", 30) {
		nominated = g.minding(2000)
		nominated.Labels["fresh"] = "label"
		s.AddPod(overlay, state.NewPod(nominated))
	}
	c := &plugin.Cycle{Context: context.Background(), Snapshot: s, Pod: state.NewPod(pod), State: &state.CycleState{}}
	if _, status := columns.(plugin.PreFilter).PreFilter(c); !status.Success() {
		return
	}
	told := columns.(plugin.PreFilterExtensions)
	placed := slices.Clone(nodes[at].Placed)
	check := func(when string) {
		var v plugin.Verdicts
		v.Reset(1)
		columns.Filter(c, []uint32{overlay}, &v)
		cluster := slices.Clone(nodes)
		node := *nodes[at]
		node.Placed, cluster[at] = placed, &node
		objects.(pernode.Clusterwide).See(cluster, nil)
		objects.Prepare(pod)
		code, reasons := objects.Filter(&node)
		if v.Codes[0] != code || !slices.Equal(v.Texts(0), reasons) {
			g.Fatalf("%s: verdict %v %q, want %v %q", when, v.Codes[0], v.Texts(0), code, reasons)
		}
	}
	add := func(p *v1.Pod) {
		if status := told.AddPod(c, overlay, state.NewPod(p)); !status.Success() {
			g.Fatalf("AddPod: %v", status)
		}
		placed = append(placed, p)
	}
	if nominated != nil {
		add(nominated)
		check("nominated")
	}
	before := c.State.Clone()
	as := slices.Clone(placed)
	var gone []*v1.Pod
	for i := range 1 + g.number("changes", 4) {
		switch n := len(placed); {
		case n > 0 && g.chance("remove", 60):
			j := g.number("victim", n-1)
			if victim := placed[j]; victim.DeletionTimestamp == nil {
				s.RemovePod(overlay, victim.UID)
				if status := told.RemovePod(c, overlay, state.NewPod(victim)); !status.Success() {
					g.Fatalf("RemovePod: %v", status)
				}
				gone, placed = append(gone, victim), slices.Delete(slices.Clone(placed), j, j+1)
			}
		case len(gone) > 0 && g.chance("reprieve", 60):
			p := gone[len(gone)-1]
			gone = gone[:len(gone)-1]
			s.AddPod(overlay, state.NewPod(p))
			add(p)
		default:
			p := g.minding(3000 + i)
			s.AddPod(overlay, state.NewPod(p))
			add(p)
		}
		check("after a change")
	}
	// A copy of the state is not affected.
	c.State, placed = before, as
	check("in a copy of the state")
}

// copies wants a copy of the PreFilter state to stay as it is when pods that joined before leave
// the original again.
func (g fair) copies(f plugin.PreFilterExtensions, c plugin.Cycle, rows []uint32) {
	pods := make([]*state.Pod, 6)
	for i := range pods {
		pods[i] = state.NewPod(g.minding(2000 + i))
	}
	each := func(change func(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status) {
		for i, pod := range pods {
			if status := change(&c, rows[i%len(rows)], pod); !status.Success() {
				g.Fatalf("a what-if: %v", status)
			}
		}
	}
	each(f.AddPod)
	copied := c
	copied.State = c.State.Clone()
	before := verdicts(f.(plugin.Filter), &copied, rows)
	each(f.RemovePod)
	if after := verdicts(f.(plugin.Filter), &copied, rows); !slices.Equal(before, after) {
		g.Fatalf("%s: a copy of the state changes with the original: %v, then %v", f.(plugin.Plugin).Info().Name, before, after)
	}
}

// TestFilterWithoutState: a filter without the PreFilter state gives the same verdicts, and
// AddPod returns an error. Copies of the state are independent.
func TestFilterWithoutState(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		g := fair{rt}
		p := g.mindingProfile()
		columns := p.columns(t)
		only(columns, "PodTopologySpread", "InterPodAffinity")
		w := plugintest.NewLiveCluster()
		for i := range 1 + g.number("nodes", 6) {
			w.SetNode(g.minded(i))
		}
		for next := range 12 {
			g.step(w, next)
		}
		w.Update(false)
		pod := state.NewPod(g.minding(1000))
		rows := rowsOf(w.Snapshot)
		bare := &plugin.Cycle{Context: context.Background(), Snapshot: w.Snapshot, Pod: pod, State: &state.CycleState{}}
		for _, f := range columns.Filters {
			c := *bare
			c.State = &state.CycleState{}
			_, status := f.(plugin.PreFilter).PreFilter(&c)
			if status.Is(abi.UnschedulableAndUnresolvable) {
				continue
			}
			if got, want := verdicts(f, bare, rows), verdicts(f, &c, rows); !slices.Equal(got, want) {
				rt.Fatalf("%s: %v without state, %v with it", f.Info().Name, got, want)
			}
			if status.Success() {
				g.copies(f.(plugin.PreFilterExtensions), c, rows)
			}
			if status := f.(plugin.PreFilterExtensions).AddPod(bare, 0, pod); !status.Is(abi.Error) {
				rt.Fatalf("%s: AddPod without state says %v", f.Info().Name, status)
			}
		}
		for _, s := range columns.Scores {
			c := *bare
			c.State = &state.CycleState{}
			if status := s.Plugin.(plugin.PreScore).PreScore(&c, rows); !status.Success() && !status.Is(abi.Skip) {
				continue
			}
			a, b := make([]int64, len(rows)), make([]int64, len(rows))
			if x, y := s.Plugin.Score(&c, rows, a), s.Plugin.Score(bare, rows, b); !x.Success() || !y.Success() || !slices.Equal(a, b) {
				rt.Fatalf("%s: %v without state, %v with it", s.Plugin.Info().Name, b, a)
			}
		}
	})
}
