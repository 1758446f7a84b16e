// Package wire reads and writes the data that host and guest exchange (abi/SPEC.md): modules,
// manifests, call records, the columns of a snapshot, pod records. It depends only on the
// standard library, so that hosts, guests and tests can share it.
package wire

// Dict interns strings as ids. Id 0 means absent, so the empty string has an id of its own. Ids
// are unordered and valid within one epoch: a Dict only grows, and a new epoch has a new Dict.
type Dict struct {
	ids     map[string]uint32
	strings []string
}

// NewDict returns an empty dictionary.
func NewDict() *Dict {
	return &Dict{ids: make(map[string]uint32), strings: []string{""}}
}

// Intern returns the id of s; a new string gets a new id.
func (d *Dict) Intern(s string) uint32 {
	id, ok := d.ids[s]
	if !ok {
		id = uint32(len(d.strings))
		d.ids[s] = id
		d.strings = append(d.strings, s)
	}
	return id
}

// Lookup returns the id of s, or 0 if s was not interned in this epoch.
func (d *Dict) Lookup(s string) uint32 { return d.ids[s] }

// String returns the string of an id; the empty string for 0.
func (d *Dict) String(id uint32) string { return d.strings[id] }

// Len returns the number of ids, including the absent one.
func (d *Dict) Len() int { return len(d.strings) }
