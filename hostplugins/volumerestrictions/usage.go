package volumerestrictions

import (
	"slices"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/hostplugins/internal/delta"
	"github.com/berth-scheduler/berth/runtime/state"
)

// usage is the claims and disks that the placed pods use, maintained from cycle to cycle: only
// rows that have changed are read again.
type usage struct {
	rows   delta.Rows
	byRow  []rowUse
	claims map[claims.Key]int // number of uses of a claim
	disks  map[disk][]placed

	podsRead int // for tests that compare the cost with the size of a change
}

// rowUse is what a row adds to the totals.
type rowUse struct {
	claims []claims.Key
	disks  []disk
}

// placed is a mount and its row.
type placed struct {
	mount
	row uint32
}

func newUsage() usage {
	return usage{claims: make(map[claims.Key]int), disks: make(map[disk][]placed)}
}

// update brings the totals up to date with a snapshot.
func (u *usage) update(s *state.Snapshot) {
	rows, fresh := u.rows.Update(s)
	if fresh {
		u.byRow = nil
		clear(u.claims)
		clear(u.disks)
	}
	for _, row := range rows {
		u.drop(row)
		if int(row) < s.Len() {
			u.read(s, row)
		}
	}
}

// drop subtracts what a row added.
func (u *usage) drop(row uint32) {
	if int(row) >= len(u.byRow) {
		return
	}
	use := &u.byRow[row]
	for _, key := range use.claims {
		if u.claims[key]--; u.claims[key] == 0 {
			delete(u.claims, key)
		}
	}
	for _, d := range use.disks {
		left := slices.DeleteFunc(u.disks[d], func(p placed) bool { return p.row == row })
		if u.disks[d] = left; len(left) == 0 {
			delete(u.disks, d)
		}
	}
	*use = rowUse{}
}

// read adds what the pods of a row use.
func (u *usage) read(s *state.Snapshot, row uint32) {
	for int(row) >= len(u.byRow) {
		u.byRow = append(u.byRow, rowUse{})
	}
	use := &u.byRow[row]
	for _, slot := range s.Nodes.Pods.Row(row) {
		u.podsRead++
		pod := s.Pods.Pod[slot]
		if pod.Features&(state.FeatureVolumeClaims|state.FeatureExclusiveVolumes) == 0 {
			continue
		}
		for i := range pod.Object.Spec.Volumes {
			if source := pod.Object.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
				key := claims.Key{Namespace: pod.Namespace, Name: source.ClaimName}
				use.claims = append(use.claims, key)
				u.claims[key]++
			}
		}
		if pod.Features&state.FeatureExclusiveVolumes == 0 {
			continue
		}
		for _, m := range mounts(pod.Object) {
			if !slices.Contains(use.disks, m.disk) {
				use.disks = append(use.disks, m.disk)
			}
			u.disks[m.disk] = append(u.disks[m.disk], placed{mount: m, row: row})
		}
	}
}

// taken returns the rows on which a wanted disk conflicts, ascending.
func (u *usage) taken(want []mount) []uint32 {
	var out []uint32
	for i := range want {
		for j := range u.disks[want[i].disk] {
			if p := &u.disks[want[i].disk][j]; want[i].clashes(&p.mount) {
				out = append(out, p.row)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
