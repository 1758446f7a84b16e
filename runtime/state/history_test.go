package state_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestChangesSince: the rows and slots that changed since any generation are among those that
// the snapshot names, or it names none; and of the last updates it does name them.
func TestChangesSince(t *testing.T) {
	forgotten := 0
	seeded.Check(t, func(r *rapid.T) {
		s := state.NewSnapshot()
		generation := uint64(0)
		info := func(i int) *state.NodeInfo {
			generation++
			n := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
			return &state.NodeInfo{Name: n.Name, Node: n, ObjectGeneration: generation, PodsGeneration: generation}
		}
		var infos []*state.NodeInfo
		for i := range rapid.IntRange(1, 6).Draw(r, "nodes") {
			infos = append(infos, info(i))
		}
		s.Rebuild(infos)
		began := s.Generation
		var rows, slots [][]uint32 // by update
		for range rapid.SampledFrom([]int{1, 10, 40, 150}).Draw(r, "updates") {
			if rapid.IntRange(0, 99).Draw(r, "anew") == 50 { // small numbers are drawn far more often
				s.Rebuild(infos)
				began, rows, slots = s.Generation, nil, nil
			}
			dirty := rapid.SliceOfN(rapid.Uint32Range(0, uint32(len(infos)-1)), 0, 5).Draw(r, "dirty")
			freed := rapid.SliceOfN(rapid.Uint32Range(0, 9), 0, 3).Draw(r, "freed")
			for _, row := range dirty {
				infos[row] = info(int(row))
			}
			s.Update(infos, dirty, freed)
			rows, slots = append(rows, dirty), append(slots, freed)
		}
		for since := uint64(0); since <= s.Generation+1; since++ {
			gotRows, gotSlots, ok := s.Changes(since)
			if since < began || since >= s.Generation {
				if ok {
					r.Fatalf("changes since generation %d are known, of %d to %d", since, began, s.Generation)
				}
				continue
			}
			at := since - began
			wantRows, wantSlots := slices.Concat(rows[at:]...), slices.Concat(slots[at:]...)
			switch {
			case !ok && len(wantRows) <= len(infos) && len(wantSlots) <= 4*len(infos) && len(rows)-int(at) <= 32:
				r.Fatalf("changes since generation %d of %d are not known", since, s.Generation)
			case !ok:
				forgotten++
			case !slices.Equal(gotRows, wantRows) || !slices.Equal(gotSlots, wantSlots):
				r.Fatalf("since generation %d of %d: rows %v and slots %v, want %v and %v", since, s.Generation, gotRows, gotSlots, wantRows, wantSlots)
			}
		}
	})
	if forgotten == 0 {
		t.Error("nothing was ever forgotten")
	}
}
