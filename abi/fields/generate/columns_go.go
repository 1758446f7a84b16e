package main

import (
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

func goColumns() *sdk {
	const of = "of({self}.c.{camel}, {self}.c.{camel}Arena, {row})"
	return &sdk{
		owner:  [5]string{1: "Node", 2: "PlacedPod", 4: "Namespace"},
		row:    [5]string{1: "n.row", 2: "p.slot", 4: "n.row"},
		prefix: [5]string{1: "Node", 2: "Placed", 4: "Namespace"},
		element: map[abi.Type]string{
			abi.TypeU8: "uint8", abi.TypeU32: "ID", abi.TypeU64: "uint64", abi.TypeI32: "int32", abi.TypeI64: "int64",
			abi.TypePair: "Pair", abi.TypeTaint: "Taint", abi.TypePort: "Port", abi.TypeImage: "Image", abi.TypeBytes: "byte",
		},
		enum: "{Enum}", key: [4]string{"r", "typ", "f", "key"}, or: ", or resources the resource", absent: "Absent",
		comment: func(name, doc string) string {
			return "\n// " + strings.Join(wrap(name+" "+doc, 110), "\n// ") + "\n"
		},
		reader: texts{
			cell:      "func ({self} {Owner}) {Name}() {type} { return {self}.c.{camel}[{row}] }\n",
			flag:      "func ({self} {Owner}) {Name}() bool { return {self}.c.{camel}[{row}]&abi.{bit} != 0 }\n",
			text:      "func ({self} {Owner}) {Name}() string { return str(" + of + ") }\n",
			list:      "func ({self} {Owner}) {Name}() []{type} { return " + of + " }\n",
			slots:     "func ({self} {Owner}) {Name}() Pods { return Pods{c: {self}.c, slots: " + of + "} }\n",
			keyed:     "func ({self} {Owner}) {Name}({key} {Key}) {type} { return {self}.c.{camel}[{key}][{row}] }\n",
			keyedList: "func ({self} {Owner}) {Name}({key} {Key}) []{type} { return of({self}.c.{camel}[{key}], {self}.c.{camel}Arena[{key}], {row}) }\n",
			amounts: `func ({self} {Owner}) {Name}() (cpu, memory int64) {
	return {self}.c.{camel}[0][{row}], {self}.c.{camel}[1][{row}]
}
`,
		},
		byKey: "func ({self} {Owner}) LabelByKey(key ID) ID { return find({self}.Labels(), key) }\n",
	}
}

// goStorage returns the columns as slices, and what sets them.
func goStorage(l *sdk, tables []abi.TableID) string {
	const one, spans = "\t{camel} []{type}\n", "\t{camel} []span\n\t{camel}Arena []{type}\n"
	var b strings.Builder
	b.WriteString(`
// columnsByRow has the columns without keys. Spans and their arena are adjacent.
type columnsByRow struct {
` + l.of(texts{
		cell: one, flag: one, text: spans, list: spans, slots: "\t{camel} []span\n\t{camel}Arena []uint32\n", amounts: "\t{camel} [2][]{type}\n",
	}, tables) + `}

// columnsByKey has the columns of declared keys.
type columnsByKey struct {
` + l.of(texts{keyed: "\t{camel} [][]{type}\n", keyedList: "\t{camel} [][]span\n\t{camel}Arena [][]{type}\n"}, tables) + `}

// size makes room for the columns.
func (c *columnsByKey) size(r *reads) {
` + l.of(texts{
		keyed:     "\tc.{camel} = make([][]{type}, len(r.lists[list{List}]))\n",
		keyedList: "\tc.{camel} = make([][]span, len(r.lists[list{List}]))\n\tc.{camel}Arena = make([][]{type}, len(r.lists[list{List}]))\n",
	}, tables) + `}

// forget drops all slices.
func (c *columnsByKey) forget() {
` + l.of(texts{keyed: "\tclear(c.{camel})\n", keyedList: "\tclear(c.{camel})\n\tclear(c.{camel}Arena)\n"}, tables) + "}\n")
	b.WriteString(`
// undeclared says what of the manifest a reader of a column needs and the host did not get; empty for nothing.
func (c *columns) undeclared(reader string) string {
	switch {
`)
	for _, table := range tables {
		for _, e := range columnsOf(table) {
			b.WriteString(undeclared(l, &e))
		}
	}
	b.WriteString("\t}\n\treturn \"\"\n}\n")
	for i, table := range tables {
		next := "Strings"
		if i+1 < len(tables) {
			next = l.owner[tables[i+1]]
		}
		const one = "\tcase abi.{Go}:\n\t\tcolumn(m, e, abi.Type{Type}, &c.{camel})\n"
		const spans = "\tcase abi.{Go}:\n\t\tcolumn(m, e, abi.TypeSpan, &c.{camel})\n" +
			"\tcase abi.{Go} + abi.ArenaOf:\n\t\tcolumn(m, e, abi.Type{Type}, &c.{camel}Arena)\n"
		b.WriteString("\n// set" + l.owner[table] + " makes the slice of one column. It skips unknown columns and types.\n" +
			"func (c *columns) set" + l.owner[table] + "(m *memory, e *columnEntry) {\n\tswitch e.id {\n" + l.of(texts{
			cell: one, flag: one, text: spans, list: spans, slots: spans, keyed: "\tcase abi.{Go}:\n\t\tkeyed(m, e, abi.Type{Type}, c.{camel})\n",
			amounts: "\tcase abi.{Go}:\n\t\tkeyed(m, e, abi.Type{Type}, c.{camel}[:])\n",
			keyedList: "\tcase abi.{Go}:\n\t\tkeyed(m, e, abi.TypeSpan, c.{camel})\n" +
				"\tcase abi.{Go} + abi.ArenaOf:\n\t\tkeyed(m, e, abi.Type{Type}, c.{camel}Arena)\n",
		}, []abi.TableID{table}) + "\tdefault:\n\t\tc.set" + next + "(m, e)\n\t}\n}\n")
	}
	return b.String()
}

// undeclared returns the case of a column in the method of this name.
func undeclared(l *sdk, e *fields.Entry) string {
	lacks, what := "c.{camel} == nil", "{entry}"
	switch formOf(e) {
	case keyed:
		lacks, what = "!all(c.{camel})", "{what}"
	case amounts:
		lacks = "!all(c.{camel}[:])"
	case keyedList:
		lacks, what = "!all(c.{camel})", "{what}" // of another type are never there
	}
	var readers []string
	for bit := range max(len(e.Bits), 1) {
		if formOf(e) != flag {
			bit = -1
		}
		readers = append(readers, l.values(e, bit).Replace(`"{Owner}.{Name}"`))
	}
	if formOf(e) == list && e.Type == abi.TypePair {
		readers = append(readers, l.values(e, -1).Replace(`"{Owner}.LabelByKey"`))
	}
	is := "reader == " + strings.Join(readers, " || reader == ")
	if len(readers) > 1 {
		is = "(" + is + ")"
	}
	return "\tcase " + is + l.values(e, -1).Replace(" && "+lacks+":\n\t\treturn \"{list} does not list "+what+"\"\n")
}
