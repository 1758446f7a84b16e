package lock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Changes describes the differences from the lock file, which may be nil: new and removed
// plugins, versions, and what a plugin may now see or do that it could not before, or the
// reverse.
func Changes(before *File, now []Plugin) []string {
	if before == nil {
		before = &File{}
	}
	var out []string
	gone := map[[2]string]bool{}
	for _, p := range before.Plugins {
		gone[[2]string{p.Name, p.Source}] = true
	}
	for i := range now {
		p := &now[i]
		delete(gone, [2]string{p.Name, p.Source})
		was := before.find(p.Name, p.Source)
		if was == nil {
			was = before.named(p.Name, gone)
		}
		out = append(out, changes(was, p)...)
	}
	for _, key := range slices.SortedFunc(maps.Keys(gone), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		out = append(out, fmt.Sprintf("%s: removed (%s)", key[0], key[1]))
	}
	return out
}

// named returns the only plugin of a name whose source changed, and removes it from gone.
func (f *File) named(name string, gone map[[2]string]bool) *Plugin {
	for i := range f.Plugins {
		if p := &f.Plugins[i]; p.Name == name && gone[[2]string{p.Name, p.Source}] {
			delete(gone, [2]string{p.Name, p.Source})
			return p
		}
	}
	return nil
}

func changes(was, p *Plugin) []string {
	if was == nil {
		out := []string{fmt.Sprintf("%s: new, version %s (%s)", p.Name, p.Version, p.Source)}
		return append(out, appended(p.Name, nil, reviewed(p))...)
	}
	var out []string
	for _, c := range [][3]string{{"version", was.Version, p.Version}, {"source", was.Source, p.Source}, {"module", was.Module, p.Module}, {"image", was.Image, p.Image}} {
		if c[1] != c[2] {
			out = append(out, fmt.Sprintf("%s: %s %s -> %s", p.Name, c[0], c[1], c[2]))
		}
	}
	return append(out, appended(p.Name, reviewed(was), reviewed(p))...)
}

// reviewed returns what a reviewer checks before a plugin is used.
func reviewed(p *Plugin) []string {
	out := Permissions(p)
	for _, name := range p.Signers {
		out = append(out, "signed by "+name)
	}
	return out
}

// appended describes new and removed permissions.
func appended(name string, before, now []string) []string {
	var out []string
	for _, text := range now {
		if !slices.Contains(before, text) {
			out = append(out, fmt.Sprintf("%s: %s: new", name, text))
		}
	}
	for _, text := range before {
		if !slices.Contains(now, text) {
			out = append(out, fmt.Sprintf("%s: %s: removed", name, text))
		}
	}
	return out
}

// Permissions describes what a plugin may see and do.
func Permissions(p *Plugin) []string {
	var out []string
	for _, point := range p.Points {
		out = append(out, "runs at "+point)
	}
	for _, list := range slices.Sorted(maps.Keys(p.Reads)) {
		for _, name := range p.Reads[list] {
			out = append(out, reading(list, name))
		}
	}
	return append(out, words(&p.Grants)...)
}

// reading describes an item of a list in a manifest's reads.
func reading(list, name string) string {
	for _, l := range fields.Lists() {
		if l.Name == list {
			return "reads " + l.Reading(name)
		}
	}
	return "reads " + list + " " + name // of a later ABI
}

// words describes what directives allow.
func words(d *wire.ManifestDirectives) []string {
	var out []string
	for _, prefix := range d.Annotations {
		out = append(out, "writes annotations "+prefix)
	}
	for _, prefix := range d.Labels {
		out = append(out, "writes labels "+prefix)
	}
	for _, resource := range d.Objects {
		out = append(out, "reads objects of "+resource)
	}
	for text, ok := range map[string]bool{"nominates nodes": d.Nominate, "binds pods": d.Bind, "allows and rejects waiting pods": d.Waiting, "activates parked pods": d.Activate} {
		if ok {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}
