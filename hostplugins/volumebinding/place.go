package volumebinding

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/hostplugins/internal/topology"
)

// place finds a placement on each row for the waiting claims.
func (p *plan) place(rows []uint32, found []finding) {
	p.filtered = true
	waiting := slices.Concat(p.selected, p.open)
	if len(waiting) == 0 {
		return
	}
	size := len(p.snapshot.Nodes.Node) // including overlay rows
	for _, u := range waiting {
		u.volume, u.pool = sized(u.volume, size), sized(u.pool, size)
		u.mask = nil
		if !u.allowed.Everything() {
			u.mask = matches(&u.allowed, p.snapshot, rows)
		}
	}
	for i, row := range rows {
		if found[i].err != nil {
			continue
		}
		if p.elsewhere(row) {
			found[i].why |= noMatch
			continue
		}
		w, err := p.placeRow(i, row)
		found[i].why |= w
		found[i].err = err
	}
}

func sized(s []int32, n int) []int32 {
	if len(s) < n {
		s = append(s, make([]int32, n-len(s))...)
	}
	return s
}

// elsewhere reports whether a claim was assigned to another node.
func (p *plan) elsewhere(row uint32) bool {
	if len(p.selected) == 0 {
		return false
	}
	name := p.snapshot.Name(row)
	return slices.ContainsFunc(p.selected, func(u *unbound) bool { return u.node != name })
}

// placeRow binds the open claims to volumes, smallest claim first, and provisions for the
// others. i is the position of the row among the rows of the call.
func (p *plan) placeRow(i int, row uint32) (why, error) {
	var takenBuf [4]*topology.Item[free]
	var namedBuf [4]*v1.PersistentVolume
	taken, named := takenBuf[:0], namedBuf[:0]
	for _, u := range p.open {
		if u.err != nil {
			return 0, u.err
		}
		u.volume[row] = 0
		if own := u.ownVolume(named); own != nil {
			if own.reaches(p, row) {
				named = append(named, own.pv)
				u.volume[row] = number(p, &p.volumes, own.pv)
			}
		} else if item := u.free.First(row, taken); item != nil {
			taken = append(taken, item)
			u.volume[row] = number(p, &p.volumes, item.Value.pv)
		}
	}
	for _, u := range p.selected {
		if w, err := p.provide(u, i, row); w != 0 || err != nil {
			return w, err
		}
	}
	for _, u := range p.open {
		if u.volume[row] != 0 {
			continue
		}
		if w, err := p.provide(u, i, row); w != 0 || err != nil {
			return w, err
		}
	}
	return 0, nil
}

// ownVolume returns the volume that names the claim, except those that the pod has already
// taken; nil if there is none. The claim gets this volume or none.
func (u *unbound) ownVolume(taken []*v1.PersistentVolume) *prebound {
	for i := range u.prebound {
		if !slices.Contains(taken, u.prebound[i].pv) {
			return &u.prebound[i]
		}
	}
	return nil
}

func (own *prebound) reaches(p *plan, row uint32) bool {
	if own.reach.Everything() {
		return true
	}
	var mask nodeselector.Mask
	rows := [1]uint32{row}
	return own.reach.Match(p.snapshot, rows[:], &mask)
}

// provide checks whether a volume can be provisioned for a claim on a row. As in
// kube-scheduler, the sizes of several claims are not added up.
func (p *plan) provide(u *unbound, i int, row uint32) (why, error) {
	u.pool[row] = 0
	switch {
	case u.problem != nil:
		return 0, u.problem
	case u.unsupported, u.mask != nil && u.mask[i] == 0:
		return noMatch, nil
	case u.pools == nil:
		return 0, nil
	}
	item := u.pools.First(row, nil)
	if item == nil {
		return noSpace, nil
	}
	u.pool[row] = number(p, &p.capacities, item.Value)
	return 0, nil
}
