package berthtest

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Read is a name in a list of a manifest's reads, such as taints in node.
type Read struct{ List, Name string }

// String returns `reads.node: taints`.
func (r Read) String() string { return "reads." + r.List + ": " + r.Name }

// Reads returns what a region shows because a manifest lists it, as [Options] can leave it out. Names that a configuration brings are
// not among it, nor what stands for nothing in a region.
func Reads(m *wire.Manifest) (all []Read) {
	lists := readsOf(&m.Reads)
	containers := slices.Contains(lists["pod"], "containers") // whose numbers for each resource have no place of their own
	for _, l := range fields.Lists() {
		for _, name := range lists[l.Name] {
			switch {
			case l.Name == "resolution", l.Name == "resources" && containers, l.Name == "feeds" && slices.Contains(m.Reads.RequiredFeeds, name):
			default:
				all = append(all, Read{l.Name, name})
			}
		}
	}
	return all
}

// hides reports whether the trial leaves out a column, or a field of the pod record.
func (m *Manifest) hides(id abi.ColumnID, arg uint32) bool {
	if m.without == (Read{}) {
		return false
	}
	e := fields.Of(id)
	if e == nil || e.Refers {
		return false
	}
	if e.List == m.without.List && e.Name != "" && (e.Name == m.without.Name || e.AlsoName == m.without.Name) {
		return true
	}
	return e.ArgList() == m.without.List && m.without == m.read(e.ArgList(), arg)
}

// read returns the i-th name in a list.
func (m *Manifest) read(list string, i uint32) Read {
	names := m.Reads[list]
	if uint64(i) >= uint64(len(names)) {
		return Read{}
	}
	return Read{list, names[i]}
}
