package config

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Warning is something accepted that has less effect than its author may think.
// At present there is one kind: a plugin of kube-scheduler that is not built.
type Warning struct {
	File string
	Line int // 0 if not known
	// Path is the first place in the file that names the plugin; empty if
	// ByDefault.
	Path string
	// Plugin is the name; there is one warning for each.
	Plugin string
	// ByDefault is true if only the default list names the plugin.
	ByDefault bool
	Detail    string
}

// String gives "file:line: path: detail" without the parts that are not known.
func (w Warning) String() string { return place(w.File, w.Line, w.Path) + w.Detail }

// note is what is known so far about a name that is not built.
type note struct {
	path    string // first place in the file, "" if none
	enabled bool   // somewhere enabled, by file or default
	given   bool   // somewhere given arguments
}

// noteEnabled, noteDisabled and noteArgs record a mention of a plugin that is
// not built. The path is nil for the default list. Calls come in file order.
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

// warnings gives one warning for each name: those of the file by line, then
// those of the default list by name.
func (r *report) warnings() []Warning {
	var ws []Warning
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
	d := "plugin " + quote(name) + " of kube-scheduler v1.36 is not built yet: "
	switch {
	case n.enabled:
		return d + "it is left out, and pods that need a rule only it enforces stay pending"
	case n.given:
		return d + "its args are ignored"
	default:
		return d + "disabling it has no effect"
	}
}
