package cache_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/runtime/state"
)

// whatIf adds pods to overlays and removes others, and compares each overlay with the row of a
// snapshot in which the same really happened. Overlays are released in any order, which must
// not affect the others. Half of the time the rest is left for the next update to drop.
func (m *machine) whatIf(t *rapid.T) {
	m.cache.UpdateSnapshot(m.snapshot)
	s := m.snapshot
	if s.Len() == 0 {
		t.Skip("no nodes")
	}
	before := dump(t, s)
	slots := s.Pods.Len()
	open := map[uint32]string{}
	for range rapid.IntRange(1, 20).Draw(t, "overlays") {
		row := uint32(rapid.IntRange(0, s.Len()-1).Draw(t, "row"))
		overlay := s.Overlay(row)
		if overlay < uint32(s.Capacity()) {
			t.Fatalf("overlay %d is below the capacity %d", overlay, s.Capacity())
		}
		if s.Nodes.PodsGeneration[overlay] != s.Nodes.PodsGeneration[row] {
			t.Fatalf("an unchanged overlay has another generation than its row")
		}
		all := infos(m.cache)
		real := copyOf(all[row])
		all[row] = real
		for _, p := range slices.Clone(real.Pods) {
			if !rapid.Bool().Draw(t, "remove") {
				continue
			}
			real.RemovePod(p.Pod.UID)
			slot, ok := s.TakePod(overlay, p.Pod.UID)
			if !ok || s.RemovePod(overlay, p.Pod.UID) {
				t.Fatalf("pod %s cannot be removed once and only once", p.Pod.UID)
			}
			switch rapid.IntRange(0, 2).Draw(t, "reprieve") {
			case 1:
				real.AddPod(p)
				s.AddPod(overlay, p.Pod)
			case 2:
				real.AddPod(p)
				s.PutBack(overlay, slot)
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "add") {
			spec := m.drawPod(t)
			spec.Node = s.Name(row)
			pod := spec.pod()
			s.AddPod(overlay, pod)
			real.AddPod(state.PlacedPod{Pod: pod, Slot: uint32(1000 + len(real.Pods)), Generation: 1})
			if s.Nodes.PodsGeneration[overlay] != 0 {
				t.Fatalf("a changed overlay has a generation")
			}
		}
		if got, want := rowText(t, s, overlay), rowText(t, full(all), row); got != want {
			t.Fatalf("overlay and real row differ\noverlay:\n%s\nreal:\n%s", got, want)
		}
		open[overlay] = rowText(t, s, overlay)
		for _, o := range slices.Sorted(maps.Keys(open)) {
			if rapid.Bool().Draw(t, "release") {
				s.Release(o)
				delete(open, o)
			}
		}
		for o, want := range open {
			if got := rowText(t, s, o); got != want {
				t.Fatalf("a release changed overlay %d\nbefore:\n%s\nafter:\n%s", o, want, got)
			}
		}
		if len(open) == 0 && s.Pods.Len() != slots {
			t.Fatalf("without overlays there are %d slots, want %d", s.Pods.Len(), slots)
		}
	}
	if dump(t, s) != before {
		t.Fatalf("overlays changed rows\nbefore:\n%s\nafter:\n%s", before, dump(t, s))
	}
	if rapid.Bool().Draw(t, "drop") {
		s.DropOverlays()
		if dump(t, s) != before {
			t.Fatalf("dropping overlays changed rows\nbefore:\n%s\nafter:\n%s", before, dump(t, s))
		}
		requireConsistent(t, s)
	}
}

// copyOf returns a NodeInfo that can change without the cache.
func copyOf(info *state.NodeInfo) *state.NodeInfo {
	c := *info
	c.Pods = slices.Clone(info.Pods)
	c.Requested = info.Requested.Clone()
	return &c
}
