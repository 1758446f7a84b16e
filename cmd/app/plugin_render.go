package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
)

// inspection prints a module's properties as text.
func (p *printer) inspection(i *inspection) {
	m := i.Manifest
	p.text("%s %s, a plugin for ABI %s", m.Name, m.Version, m.ABI)
	if m.Description != "" {
		p.text("%s", m.Description)
	}
	p.printf("\n")
	memory := size(i.Memory.Min) + " at start, "
	if i.Memory.Max > 0 {
		memory += "at most " + size(i.Memory.Max)
	} else {
		memory += "no maximum declared"
	}
	facts := []struct{ name, value string }{
		{"File", i.File},
		{"Digest", i.Digest},
		{"Size", fmt.Sprintf("%s, %s of code in %s", size(int64(i.Size)), size(int64(i.CodeSize)), count(i.Functions, "function"))},
		{"Memory", memory},
		{"Publisher", m.Publisher},
		{"License", m.License},
		{"Enforces", strings.Join(m.Enforces, ", ")},
	}
	for _, f := range facts {
		if f.value != "" {
			p.printf("%-10s %s\n", f.name, f.value)
		}
	}
	p.printf("\n")
	p.points(i.Points)
	p.reads(i.Reads)
	if i.NotKept != "" {
		p.text("The plugin is asked about every node for every pod, because %s. Measure the cost with berth plugin bench.", i.NotKept)
		p.printf("\n")
	}
	p.events(m.Events)
	p.directives(m)
	p.configFields(m.Config)
	p.imports(i)
	p.limits(i.Limits)
	p.sections(i.Sections)
	for _, w := range i.Warnings {
		p.text("warning: %s", w)
	}
}

func (p *printer) points(points []pointInfo) {
	rows := make([]table.Row, 0, len(points))
	for _, point := range points {
		rows = append(rows, table.Row{point.Point, point.Export, point.Signature, cmp.Or(point.Scope, "-"), cmp.Or(point.Normalize, "-")})
	}
	p.table([]column{{head: "POINT"}, {head: "EXPORT"}, {head: "SIGNATURE"}, {head: "SCOPE"}, {head: "NORMALIZE"}}, rows)
}

func (p *printer) reads(reads []wire.Reading) {
	if len(reads) == 0 {
		p.printf("The plugin reads nothing.\n\n")
		return
	}
	rows := make([]table.Row, 0, len(reads))
	for _, r := range reads {
		rows = append(rows, table.Row{r.List, strings.Join(r.Names, ", ")})
	}
	p.table([]column{{head: "READS"}, {head: "NAMES", least: 20}}, rows)
}

func (p *printer) events(events []wire.ManifestEvent) {
	if len(events) == 0 {
		return
	}
	rows := make([]table.Row, 0, len(events))
	for _, e := range events {
		rows = append(rows, table.Row{e.Resource, strings.Join(e.Actions, ", ")})
	}
	p.table([]column{{head: "RETRIES AFTER"}, {head: "ACTIONS", least: 20}}, rows)
}

// directives prints what the module does besides answering.
func (p *printer) directives(m *wire.Manifest) {
	d := &m.Directives
	var rows []table.Row
	add := func(ok bool, name, what string) {
		if ok {
			rows = append(rows, table.Row{name, what})
		}
	}
	add(len(d.Annotations) > 0, "annotations", "writes annotations of pods: "+strings.Join(d.Annotations, "…, ")+"…")
	add(len(d.Labels) > 0, "labels", "writes labels of pods: "+strings.Join(d.Labels, "…, ")+"…")
	add(d.Nominate, "nominate", "nominates nodes for pods that fit nowhere")
	add(d.Bind, "bind", "binds pods itself")
	add(d.Waiting, "waiting", "allows and rejects waiting pods")
	add(d.Activate, "activate", "moves parked pods to the active queue")
	rights := m.Rights()
	add(len(rights.Objects) > 0, "objects", "reads fields of objects: "+strings.Join(rights.Objects, ", "))
	add(len(m.Publishes) > 0, "publishes", "shares state keys with other plugins: "+strings.Join(m.Publishes, ", "))
	if len(rows) > 0 {
		p.table([]column{{head: "ASKS FOR"}, {head: "WHAT", least: 20}}, rows)
	}
}

// configFields prints the configuration's fields in the schema.
func (p *printer) configFields(schema []byte) {
	if len(schema) == 0 {
		p.printf("The plugin has no configuration.\n\n")
		return
	}
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &s); err != nil || len(s.Properties) == 0 {
		p.printf("The plugin has a configuration; -o json shows its schema.\n\n")
		return
	}
	rows := make([]table.Row, 0, len(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var field struct {
			Type        any
			Enum        []any
			Description string
		}
		_ = json.Unmarshal(s.Properties[name], &field) // true and false have none of these
		kind := ""
		switch {
		case len(field.Enum) > 0:
			kind = joined(field.Enum, " | ")
		case field.Type != nil:
			kind = joined([]any{field.Type}, "")
		}
		required := "no"
		if slices.Contains(s.Required, name) {
			required = "yes"
		}
		rows = append(rows, table.Row{quotedText(name), cmp.Or(kind, "-"), required, cmp.Or(quotedText(field.Description), "-")})
	}
	p.table([]column{{head: "CONFIG"}, {head: "TYPE", least: 10}, {head: "REQUIRED"}, {head: "MEANING", least: 20}}, rows)
}

func joined(values []any, separator string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = quotedText(fmt.Sprint(v))
	}
	return strings.Join(texts, separator)
}

// maxCell is the longest name or description of a module in a table, in bytes.
const maxCell = 1 << 10

// quotedText quotes a text from a module if it could disturb a terminal or a table.
func quotedText(s string) string {
	if shown := plain.Line(s, maxCell); shown == s {
		return s
	}
	return plain.Quote(s, maxCell)
}

// imports prints the host functions. Functions of WASI, which toolchains add, are printed
// by name only.
func (p *printer) imports(i *inspection) {
	var rows []table.Row
	var wasi []string
	for _, imp := range i.Imports {
		if imp.Module == abi.WASIModule {
			wasi = append(wasi, imp.Name)
			continue
		}
		rows = append(rows, table.Row{imp.Module + "." + imp.Name, imp.Signature})
	}
	if len(rows) == 0 {
		p.printf("The module imports no host function.\n\n")
	} else {
		p.table([]column{{head: "IMPORT"}, {head: "SIGNATURE"}}, rows)
	}
	if len(wasi) > 0 {
		slices.Sort(wasi)
		p.text("Imports of %s that do nothing: %s", abi.WASIModule, strings.Join(slices.Compact(wasi), ", "))
		p.printf("\n")
	}
}

func (p *printer) sections(sections []sectionInfo) {
	rows := make([]table.Row, 0, len(sections))
	for _, s := range sections {
		name := s.Name
		if s.Custom != "" {
			name = "custom " + plain.Quote(s.Custom, maxCell)
		}
		rows = append(rows, table.Row{name, s.Size})
	}
	p.table([]column{{head: "SECTION"}, {head: "BYTES", numbers: true}}, rows)
}

// size formats a number of bytes.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return count(int(bytes), "byte")
}
