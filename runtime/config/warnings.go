package config

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Warning is about something that is accepted but has less effect than its author may expect: a
// plugin of kube-scheduler that is not, or only partly, implemented; or https without
// verification.
type Warning struct {
	File string
	Line int // 0 if unknown
	// Path is the place in the file, for a plugin the first one that names it; empty if
	// ByDefault.
	Path string
	// Plugin is the plugin's name, empty for other warnings. There is one warning per plugin.
	Plugin string
	// ByDefault is true if only the default list names the plugin.
	ByDefault bool
	Detail    string
}

// String gives "file:line: path: detail" without the parts that are not known.
func (w Warning) String() string { return position(w.File, w.Line, w.Path) + w.Detail }

// note is what is known about a plugin that is not implemented.
type note struct {
	path    string // first place in the file, "" if none
	enabled bool   // enabled somewhere, by the file or by default
	given   bool   // has arguments somewhere
}

// noteEnabled, noteDisabled and noteArgs record a mention of a plugin that is not implemented. The
// path is nil for the default list. Calls come in file order.
func (r *report) noteEnabled(name string, path *field.Path) {
	n := r.mention(name, path)
	n.enabled = true
	r.notes[name] = n
}

func (r *report) noteDisabled(name string, path *field.Path) {
	r.notes[name] = r.mention(name, path)
}

func (r *report) noteArgs(name string, path *field.Path) {
	n := r.mention(name, path)
	n.given = true
	r.notes[name] = n
}

func (r *report) mention(name string, path *field.Path) note {
	n := r.notes[name]
	if p := text(path); n.path == "" || p != "" && r.lines.of(p) < r.lines.of(n.path) {
		n.path = p
	}
	return n
}

// warn records a warning that is not about a plugin.
func (r *report) warn(path *field.Path, detail string) {
	r.warned = append(r.warned, Warning{File: r.file, Line: r.lines.of(text(path)), Path: text(path), Detail: detail})
}

// warnings returns the recorded warnings, one per plugin: those about the file by line, then
// those about the default list by name.
func (r *report) warnings() []Warning {
	ws := slices.Clone(r.warned)
	for name, n := range r.notes {
		w := Warning{Path: n.path, Plugin: name, ByDefault: n.path == "", Detail: n.detail(name)}
		if !w.ByDefault {
			w.File, w.Line = r.file, r.lines.of(n.path)
		}
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(a, b Warning) int {
		if a.ByDefault != b.ByDefault {
			if b.ByDefault {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Plugin, b.Plugin))
	})
	return ws
}

func (n note) detail(name string) string {
	const pending = "pods that need a rule that only this plugin enforces stay pending"
	what := "disabling it has no effect"
	switch {
	case n.enabled:
		what = "it is left out"
	case n.given:
		what = "its args are ignored"
	}
	return "plugin " + quote(name) + " of kube-scheduler v1.37 is not implemented yet: " + what +
		", and " + pending
}
