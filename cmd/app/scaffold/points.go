package scaffold

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/tools/txtar"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// The sources of plugins with chosen points.
//
//go:embed points/*.tmpl
var templates embed.FS

// Points returns the names of extension points in manifests, in the order of a pod's path.
func Points() []string {
	var names []string
	for _, p := range abi.Points() {
		if name := wire.PointName(p); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// choice is the points of a plugin, in the order of a pod's path. Its methods serve templates too.
type choice []string

// choose checks names of points.
func choose(names []string) (choice, error) {
	seen := map[string]bool{}
	for _, name := range names {
		switch {
		case !slices.Contains(Points(), name):
			return nil, fmt.Errorf("%q is not an extension point: use some of %s", name, strings.Join(Points(), ","))
		case seen[name]:
			return nil, fmt.Errorf("%s is there twice: remove one", name)
		}
		seen[name] = true
	}
	c := choice(slices.DeleteFunc(Points(), func(name string) bool { return !seen[name] }))
	m, err := wire.DecodeManifest([]byte(strings.ReplaceAll(c.manifest(), nameWord, "x")))
	if err == nil {
		err = m.Validate()
	}
	var wrong *wire.ManifestError
	if errors.As(err, &wrong) { // the first one
		return nil, fmt.Errorf("%s: %s: %s", strings.TrimPrefix(wrong.Path, "points."), wrong.Detail, wrong.Fix)
	}
	return c, err
}

// Has reports whether one of the points is chosen.
func (c choice) Has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(c, name) })
}

// Counts reports whether the filter looks at the number of pods in the state.
func (c choice) Counts() bool { return c.Has("addPod") && c.Has("filter") }

// Refuses reports whether the plugin writes what the host may have no room for.
func (c choice) Refuses() bool { return c.Has("addPod", "reserve", "preBind", "bind") }

// Fields reports whether the plugin has any fields.
func (c choice) Fields() bool {
	return c.Has("preEnqueue", "hint", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind")
}

// GoExports returns the packages that export the points.
func (c choice) GoExports() []string {
	return c.exports(func(name string) string {
		return strings.ToLower(map[string]string{"queueSort": "queueKey", "removePod": "addPod"}[name])
	}, strings.ToLower)
}

// RustExports returns the names of the points for export!.
func (c choice) RustExports() string {
	return strings.Join(c.exports(func(name string) string { return map[string]string{"queueSort": "queue_key"}[name] }, snake), ", ")
}

// CExports returns the macros that export the points, with their functions.
func (c choice) CExports() []string {
	return c.exports(func(string) string { return "" }, func(name string) string {
		if name == "queueSort" {
			name = "queueKey"
		}
		return "BERTH_" + strings.ToUpper(snake(name)) + "(" + snake(name) + ")"
	})
}

// exports returns what exports each point, once.
func (c choice) exports(special, usual func(name string) string) []string {
	var out []string
	for _, name := range c {
		export := special(name)
		if export == "" {
			export = usual(name)
		}
		if !slices.Contains(out, export) {
			out = append(out, export)
		}
	}
	return out
}

// snake returns a name in the style of functions in Rust and C.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// RustUse returns the line or lines that import from the crate berth, as rustfmt writes them.
func (c choice) RustUse() string {
	names := []string{"Base", "Plugin", "Pod", "Status"}
	needs := []struct{ points, names string }{
		{"preEnqueue", "PreEnqueue PodAnnotation Const Reason"}, {"queueSort", "QueueKey Queued Key"},
		{"hint", "Hint HintResult Event NodeLabel Const"}, {"preFilter", "PreFilter Nodes Rows Const"},
		{"addPod", "AddPod Node Reason"}, {"filter", "Filter Node NodeLabel Const Reason"}, {"postFilter", "PostFilter Judged Code Reason"},
		{"preScore", "PreScore Nodes Const"}, {"score", "Score Node NodeLabel Const"}, {"normalize", "Normalize Nodes"},
		{"reserve", "Reserve Node Reason"}, {"unreserve", "Unreserve Node Level"}, {"permit", "Permit Node PodAnnotation Const"},
		{"preBind", "PreBind Node Reason"}, {"bind", "Bind Node Reason"}, {"postBind", "PostBind Node Level"},
	}
	for _, need := range needs {
		if c.Has(need.points) {
			names = append(names, strings.Fields(need.names)...)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	const width = 100
	if line := "use berth::{" + strings.Join(names, ", ") + "};"; len(line) <= width {
		return line
	}
	out, line := "use berth::{\n", "   "
	for _, name := range names {
		if len(line)+len(" ,")+len(name) > width {
			out, line = out+line+"\n", "   "
		}
		line += " " + name + ","
	}
	return out + line + "\n};"
}

// manifest returns the manifest of a plugin with the points.
func (c choice) manifest() string {
	list := func(names ...string) []string { // those whose points are chosen: a name, then its points, separated by commas
		var out []string
		for i := 0; i < len(names); i += 2 {
			if c.Has(strings.Split(names[i+1], ",")...) {
				out = append(out, names[i])
			}
		}
		return out
	}
	var reads, rest []string
	add := func(to *[]string, key string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // strings always can
		}
		if string(text) != "null" {
			*to = append(*to, fmt.Sprintf("%q: %s", key, strings.ReplaceAll(string(text), `","`, `", "`)))
		}
	}
	add(&reads, "node", list("name", "postFilter,reserve,unreserve,postBind", "pods", "addPod"))
	add(&reads, "nodeLabels", list("example.com/maintenance", "hint,filter", "example.com/tier", "score"))
	add(&reads, "pods", list("namespace", "addPod"))
	add(&reads, "podAnnotations", list("example.com/hold", "preEnqueue", "example.com/wait", "permit"))
	add(&reads, "pod", list("namespace", "preFilter,preScore", "priority", "queueSort", "annotations", "preEnqueue,permit"))
	add(&rest, "host", list("log", "unreserve,postBind", "state_get", "addPod", "state_set", "addPod"))
	var events []string
	if c.Has("hint", "preFilter", "filter", "reserve", "permit") {
		events = append(events, `{"resource": "Node", "actions": ["Add", "UpdateNodeLabel"]}`)
	}
	switch {
	case c.Has("preEnqueue"):
		events = append(events, `{"resource": "Pod", "actions": ["Delete", "Update"]}`)
	case c.Has("addPod"):
		events = append(events, `{"resource": "Pod", "actions": ["Delete"]}`)
	}
	if len(events) > 0 {
		rest = append(rest, `"events": [`+strings.Join(events, ", ")+"]")
	}
	var directives []string
	if c.Has("reserve", "preBind") {
		directives = append(directives, `"annotations": ["example.com/"]`)
	}
	if c.Has("postFilter") {
		directives = append(directives, `"nominate": true`)
	}
	if c.Has("bind") {
		directives = append(directives, `"bind": true`)
	}
	if len(directives) > 0 {
		rest = append(rest, `"directives": {`+strings.Join(directives, ", ")+"}")
	}
	var points []string
	for _, name := range c {
		points = append(points, fmt.Sprintf("%q: %s", name, c.scope(name)))
	}
	all := []string{
		`"$schema": "./` + schemaFile + `"`, `"name": "` + nameWord + `"`, `"version": "0.1.0"`, `"publisher": "` + Publisher + `"`, `"license": "Apache-2.0"`,
		`"description": "shows the points ` + strings.Join(c, ", ") + `"`, `"abi": "1.0"`,
		`"points": {` + strings.Join(points, ", ") + "}", `"reads": {` + strings.Join(reads, ", ") + "}",
	}
	return "{\n  " + strings.Join(append(all, rest...), ",\n  ") + "\n}\n"
}

// scope returns the value of a point in the manifest: a point that judges nodes one by one has
// scope node if it may (ABI-5.8, ABI-5.13).
func (c choice) scope(name string) string {
	switch {
	case name != "filter" && name != "score":
		return "{}"
	case name == "filter" && c.Has("addPod", "removePod") || name == "score" && c.Has("preScore", "normalize"):
		return `{"scope": "cluster"}`
	}
	return `{"scope": "node"}`
}

// replace puts the plugin with the points in the place of the tutorial's.
func (c choice) replace(all []txtar.File, language string) ([]txtar.File, error) {
	sources := map[string]map[string]string{
		"go":             {identWord + ".go": "plugin.go.tmpl", "guest/main.go": "main.go.tmpl"},
		"rust":           {"src/lib.rs": "lib.rs.tmpl"},
		"c":              {"plugin.c": "plugin.c.tmpl"},
		"assemblyscript": {"assembly/index.ts": "index.ts.tmpl"},
	}[language]
	parsed, err := template.ParseFS(templates, "points/*.tmpl")
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for i, f := range all {
		switch source := sources[f.Name]; {
		case source != "":
			var b bytes.Buffer
			if err := parsed.ExecuteTemplate(&b, source, c); err != nil {
				return nil, err
			}
			all[i].Data = b.Bytes()
		case f.Name == "manifest.json":
			all[i].Data = []byte(c.manifest())
		case f.Name == "tests/plugin.rs":
			all[i].Data = bytes.ReplaceAll(f.Data, []byte("Maintenance"), []byte("Starter"))
		case f.Name == "testdata/nodes.txt":
			all[i].Data = []byte(c.scenario())
		case f.Name == "README.md":
			all[i].Data = bytes.Replace(f.Data, []byte("It keeps pods off nodes with maintenance soon.\nReplace this rule by your own."),
				[]byte("It shows the points "+strings.Join(c, ", ")+".\nReplace what they do by your own rules."), 1)
			all[i].Data = bytes.ReplaceAll(all[i].Data, []byte("?config=config.json"), nil)
			if !c.Has("filter", "score") { // bench has nothing to measure
				all[i].Data = bytes.Replace(all[i].Data, []byte("berth plugin bench "+nameWord+".wasm\n"), nil, 1)
			}
		}
	}
	return all, nil
}

// formatted returns Go's source as gofmt has it.
func formatted(name string, data []byte) ([]byte, error) {
	if !strings.HasSuffix(name, ".go") || vendored(name) {
		return data, nil
	}
	return format.Source(data)
}
