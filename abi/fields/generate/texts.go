package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// files returns what is generated.
func files() []file {
	rust := naming{[5]string{"", "NODE_", "POD_", "", "NAMESPACE_"}, snake, "    pub const %s: u32 = %d;\n"}
	c := naming{[5]string{"BERTH__POD_", "BERTH__NODE_", "BERTH__PLACED_", "BERTH__", "BERTH__NAMESPACE_"}, snake, "  %s = %d,\n"}
	as := naming{[5]string{"", "Node", "Placed", "", "Namespace"}, func(s string) string { return s }, "  %s = %d,\n"}
	tables := []abi.TableID{abi.TableNodes, abi.TablePods, abi.TableStrings, abi.TableNamespaces}
	const generated = "Generated from abi/fields.\n"
	out := []file{
		{path: "column_ids.go", parts: []part{{"const (\n", ")\n", goIDs()}}},
		{path: "events.go", parts: []part{
			{"// The resources. " + generated + "const (\n", ")\n", goKinds()},
			{"// The actions, as in k8s.io/kube-scheduler/framework. " + generated + "const (\n", ")\n", goActions()},
		}},
		{path: "SPEC.md", parts: []part{
			{"| resource | | | |\n|---:|---|---:|---|\n", "\n\n", specKinds()},
			{"bits that are not listed may be set (4.5): ", ".\n3.11", specActions()},
		}},
		{path: "sdk/rust/src/event.rs", parts: []part{
			{"impl EventKind {\n    // " + generated, "}\n", rustKinds()}, {"impl EventAction {\n    // " + generated, "}\n", rustActions()},
		}},
		{path: "sdk/rust/src/abi.rs", parts: []part{
			{"    pub const ARENA: u32 = 256;\n\n    // " + generated, "}\n", rust.constants(tables...)},
			{"pub mod field {\n    #![allow(missing_docs)]\n    // " + generated, "}\n", rust.constants(fields.Record)},
		}},
		{path: "sdk/c/src/abi.h", parts: []part{
			{"typedef enum {\n  // " + generated + "  BERTH_EVENT_ANY", "} BerthEventKind;", strings.TrimPrefix(cKinds(), "  BERTH_EVENT_ANY")},
			{"typedef enum {\n  // " + generated + "  BERTH_ADD", "} BerthEventAction;", strings.TrimPrefix(cActions(), "  BERTH_ADD")},
			{"its arena (ABI-4.8)\n\n  // " + generated, "\n  BERTH__U8", c.constants(append(tables, fields.Record)...)},
		}},
		{path: "sdk/assemblyscript/assembly/abi.ts", parts: []part{
			{"export const enum EventKind {\n  // " + generated, "}\n", asKinds()},
			{"export const enum EventAction {\n  // " + generated, "}\n", asActions()},
			{"export const enum Column {\n  // " + generated, "}\n", as.constants(tables...)},
			{"export const enum Field {\n  // " + generated, "}\n", as.constants(fields.Record) + "  Last = " + last(fields.Record) + ",\n"},
		}},
	}
	for table, heading := range []string{
		fields.Record:       "| id | name in the manifest | arg | elements | meaning |\n|---:|---|---|---|---|\n",
		abi.TableNodes:      "### Table 1, nodes: one row a node\n\n" + columnsHead,
		abi.TablePods:       "### Table 2, pods: one row (a slot) a pod on a node\n\n" + columnsHead,
		abi.TableStrings:    "### Table 3, strings: one row an id\n\n| id | | type | meaning |\n|---:|---|---|---|\n",
		abi.TableNamespaces: "### Table 4, namespaces: one row a namespace that has an object\n\n" + columnsHead,
	} {
		out[2].parts = append(out[2].parts, part{heading, "\n\n", strings.TrimSuffix(specRows(abi.TableID(table)), "\n")})
	}
	return append(out, append(readers(), columnReaders()...)...)
}

const columnsHead = "| id | name in the manifest | arg | type | meaning |\n|---:|---|---|---|---|\n"

// in returns the entries of a table.
func in(table abi.TableID) (out []fields.Entry) {
	for _, e := range fields.All() {
		if e.Table == table {
			out = append(out, e)
		}
	}
	return out
}

// last returns the highest id of a table that modules read.
func last(table abi.TableID) (id string) {
	for _, e := range in(table) {
		if !e.Native {
			id = fmt.Sprint(e.ID)
		}
	}
	return id
}

// goIDs returns the constants of package abi, with what they mean as comments.
func goIDs() string {
	var b strings.Builder
	for table := range abi.TableNamespaces + 1 {
		for _, e := range in(table) {
			if e.Reserved {
				continue
			}
			by := e.Manifest()
			if e.Native {
				by = "native plugins only"
			}
			if by != "" {
				by = " (" + by + ")"
			}
			for _, line := range wrap(fmt.Sprintf("%s%s: %s.", e.Go, by, strings.ReplaceAll(e.Meaning, "`", "")), 110) {
				b.WriteString("\t// " + line + "\n")
			}
			fmt.Fprintf(&b, "\t%s ColumnID = %d\n", e.Go, e.ID)
		}
	}
	return b.String()
}

// wrap breaks a text into lines, but not between backquotes.
func wrap(text string, width int) (lines []string) {
	line, open := "", ""
	for word := range strings.FieldsSeq(text) {
		if open += word; strings.Count(open, "`")%2 == 1 {
			open += " "
			continue
		}
		word, open = open, ""
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// specRows returns the rows of a table in SPEC.md.
func specRows(table abi.TableID) string {
	var b strings.Builder
	for _, e := range in(table) {
		name, arg, typ := e.List, [...]string{"0", "resource", "key", "type", "0 cpu, 1 memory"}[e.Arg], e.Elements
		if e.Name != "" {
			name += ": " + e.Name
		}
		if name != "" {
			name = "`" + name + "` "
		}
		if e.AlsoName != "" {
			name += "or `" + e.AlsoName + "` "
		}
		if typ == "" {
			typ = typeName(e.Type)
		}
		if e.Span {
			typ = "span → " + typ
		}
		switch {
		case e.Native:
		case e.Reserved:
			fmt.Fprintf(&b, "| %d | | | | %s |\n", e.ID, e.Meaning)
		case table == abi.TableStrings:
			fmt.Fprintf(&b, "| %d | | %s | %s |\n", e.ID, typ, e.Meaning)
		default:
			fmt.Fprintf(&b, "| %d | %s| %s | %s | %s |\n", e.ID, name, arg, typ, e.Meaning)
		}
	}
	return b.String()
}

func typeName(t abi.Type) string {
	names := [...]string{
		abi.TypeU8: "u8", abi.TypeU16: "u16", abi.TypeU32: "u32", abi.TypeU64: "u64", abi.TypeI32: "i32", abi.TypeI64: "i64",
		abi.TypeSpan: "span", abi.TypePair: "pair", abi.TypeTaint: "taint", abi.TypePort: "port", abi.TypeImage: "image", abi.TypeBytes: "bytes",
	}
	return names[t]
}

// naming is how a language names and writes a constant.
type naming struct {
	tables [5]string // prefixes
	of     func(pascal string) string
	format string
}

// constants returns the constants of tables, those of each after an empty line.
func (n *naming) constants(tables ...abi.TableID) string {
	var all []string
	for _, table := range tables {
		var b strings.Builder
		for _, e := range in(table) {
			if e.Native || e.Reserved {
				continue
			}
			name := e.SDK
			if name == "" {
				name = strings.ToUpper(e.Name[:1]) + e.Name[1:]
			}
			fmt.Fprintf(&b, n.format, n.tables[table]+n.of(name), e.ID)
		}
		all = append(all, b.String())
	}
	return strings.Join(all, "\n")
}

// snake turns PascalCase into SNAKE_CASE.
func snake(pascal string) string {
	var b strings.Builder
	was := false
	for i, r := range pascal {
		upper := unicode.IsUpper(r)
		if upper && i > 0 && (!was || i+1 < len(pascal) && unicode.IsLower(rune(pascal[i+1]))) {
			b.WriteByte('_') // a word begins, also after CSI
		}
		was = upper
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
