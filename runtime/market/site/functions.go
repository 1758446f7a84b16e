package site

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/market/lock"
)

// functions returns the functions of the templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"letters": letters,
		"points":  points,
		"permissions": func(v *index.Version) []string {
			return lock.Permissions(&lock.Plugin{Points: v.Points, Reads: v.Reads, Grants: v.Grants.ManifestDirectives})
		},
		"newest": func(v []index.Version) []index.Version {
			v = slices.Clone(v)
			slices.Reverse(v)
			return v
		},
		"cost":     func(b index.Bench) string { return rounded(b.PerPod) },
		"thousand": func(b index.Bench) string { return rounded(b.PerPod * 1000 / int64(b.Nodes)) },
		"short":    func(digest string) string { return plain.Cut(strings.TrimPrefix(digest, "sha256:"), 15) },
		"readme":   readme,
	}
}

func rounded(nanoseconds int64) string {
	return time.Duration(nanoseconds).Round(time.Microsecond).String()
}

// letter groups the plugins whose names begin with a letter.
type letter struct {
	Letter  string
	Plugins []Plugin
}

// letters groups plugins, which must be sorted by name.
func letters(plugins []Plugin) []letter {
	var out []letter
	for _, p := range plugins {
		if n := len(out); n == 0 || out[n-1].Letter != p.Name[:1] {
			out = append(out, letter{Letter: p.Name[:1]})
		}
		last := &out[len(out)-1]
		last.Plugins = append(last.Plugins, p)
	}
	return out
}

// points returns the extension points that at least one of the plugins has.
func points(plugins []Plugin) []string {
	return slices.DeleteFunc(names(), func(name string) bool {
		return !slices.ContainsFunc(plugins, func(p Plugin) bool { return slices.Contains(p.Latest.Points, name) })
	})
}

// names returns the extension points of the ABI.
func names() []string {
	var out []string
	for _, p := range abi.Points() {
		if name := wire.PointName(p); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// filters returns the style rules that filter the list without a script: while an extension
// point's link is the target of the address, rows of other plugins are hidden.
func filters() []byte {
	var out []byte
	for _, name := range names() {
		out = fmt.Appendf(out, "body:has(#p-%[1]s:target) tr[data-words]:not(.p-%[1]s) { display: none }\n", name)
	}
	return out
}
