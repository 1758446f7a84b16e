package wire

import (
	"slices"
	"strconv"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// since refuses names that came with a later minor version than the manifest's (ABI-9.14): a host of that version, which has to run the
// module, does not know them.
func (v manifestValidator) since(m *Manifest) {
	_, minor, ok := parseABI(m.ABI)
	if !ok {
		return
	}
	told := map[string]bool{} // several columns have one list
	later := func(path, name string, since int) {
		if uint64(since) > minor && !told[path] {
			told[path] = true
			needs := strconv.Itoa(abi.Major) + "." + strconv.Itoa(since)
			v.add(path, quoted(name)+" came with ABI "+needs+", the manifest is of "+m.ABI, `write "abi": `+strconv.Quote(needs), "ABI-9.14")
		}
	}
	for _, e := range fields.All() {
		for i, name := range m.Reads.List(e.List) {
			if e.Name == "" || name == e.Name {
				later(index("reads."+e.List, i), name, e.Since)
			}
		}
	}
	if len(m.Reads.Objects) > 0 {
		later("objects", "objects", 2)
	}
	for _, l := range m.Reads.lists() {
		if len(m.Reads.FromConfig[l.name]) > 0 {
			later(index("reads."+l.name, len(*l.value)), fromConfig, 1)
		}
	}
	for _, f := range fields.Functions() {
		if i := slices.Index(m.Host, f.Name); i >= 0 {
			later(index("host", i), f.Name, f.Since)
		}
	}
	for i, event := range m.Events {
		path := index("events", i)
		for _, e := range fields.Events() {
			if e.Resource == event.Resource {
				later(path+".resource", e.Resource, e.Since)
			}
		}
		for _, a := range fields.Actions() {
			if k := slices.Index(event.Actions, a.Name); k >= 0 {
				later(index(path+".actions", k), a.Name, a.Since)
			}
		}
	}
}
