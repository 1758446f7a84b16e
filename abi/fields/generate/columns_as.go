package main

import (
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

func asColumns() *sdk {
	const inRow = `{row}, "{list}", "{entry}")`
	return &sdk{
		owner:  [5]string{1: "Node", 2: "PlacedPod", 4: "Namespace"},
		row:    [5]string{1: "this.row()", 2: "this._slot()", 4: "this._row()"},
		prefix: [5]string{1: "Node", 2: "Placed", 4: "Namespace"},
		element: map[abi.Type]string{
			abi.TypeU8: "u8", abi.TypeU32: "ID", abi.TypeU64: "u64", abi.TypeI32: "i32", abi.TypeI64: "i64",
			abi.TypePair: "Pair", abi.TypeTaint: "Taint", abi.TypePort: "Port", abi.TypeImage: "Image", abi.TypeBytes: "u8",
		},
		numbers: "Numbers", enum: "u8", key: [4]string{"resource", "type", "feed", "key"}, or: ", or resources the resource", absent: "ABSENT",
		comment: asComment,
		reader: texts{
			cell:  "  @inline {name}(): {type} {\n    return cell<{type}>(Slot.{Column}, " + inRow + ";\n  }\n",
			flag:  "  @inline {name}(): bool {\n    return (cell<u8>(Slot.{Column}, " + inRow + " & {mask}) != 0;\n  }\n",
			text:  "  {name}(): string {\n    return textOf(Slot.{Column}, " + inRow + ";\n  }\n",
			list:  "  @inline {name}(): {class} {\n    return changetype<{class}>(this);\n  }\n",
			slots: "  @inline {name}(): {class} {\n    return changetype<{class}>(this);\n  }\n",
			keyed: "  @inline {name}({key}: {Key}): {type} {\n" +
				"    return keyed<{type}>(Slot.{Column}, changetype<usize>({key}), {row}, \"{list}\", \"{what}\");\n  }\n",
			keyedList: "  {name}({key}: {Key}): {several} {\n" +
				"    return changetype<{several}>(keyedList(Slot.{Column}, changetype<usize>({key}), {row}, sizeof<{type}>(), \"{list}\", \"{what}\"));\n  }\n",
			amounts: "  {name}(): NonZero {\n    const both = changetype<NonZero>(scratch(offsetof<NonZero>()));\n" +
				"    both.cpu = cell<i64>(Slot.{Column}, " + inRow + ";\n" +
				"    both.memory = cell<i64>(Slot.{Column} + 1, " + inRow + ";\n    return both;\n  }\n",
		},
		byKey: "  @inline labelByKey(key: ID): ID {\n    const n = lengthOf(Slot.{Column}, " + inRow + ";\n" +
			"    return n == 0 ? ABSENT : findIn(elementsOf(Slot.{Column}, {row}, 8), n, key);\n  }\n",
	}
}

func asComment(_, doc string) string {
	doc = withoutVerb(doc)
	if len(doc) < 130 {
		return "\n  /** " + doc + " */\n"
	}
	return "\n  /**\n   * " + strings.Join(wrap(doc, 130), "\n   * ") + "\n   */\n"
}

// asParts returns the readers of a table's columns, and the classes of their lists, which end the file.
func asParts(l *sdk, table abi.TableID) []part {
	const generated = "// Generated from abi/fields.\n"
	class := func(element string) string {
		return `
/** {lists} */
@final @unmanaged
export class {class} {
  /** Their number. */
  @inline get length(): i32 {
    return <i32>lengthOf(Slot.{Column}, changetype<u32>(this) - 1, "{list}", "{entry}");
  }

  /** The i-th of them. */
  @inline at(i: i32): ` + element + "  }\n}\n"
	}
	const at = "element(Slot.{Column}, changetype<u32>(this) - 1, i, this.length, "
	lists := l.of(texts{
		list:  class("{type} {\n    return changetype<{type}>(" + at + "offsetof<{type}>()));\n"),
		slots: class("PlacedPod {\n    return changetype<PlacedPod>(load<u32>(" + at + "4)) + 1);\n"),
	}, []abi.TableID{table})
	return []part{
		{"  " + generated, "}\n\n// Lists.", l.readers(table)}, {"// Lists. " + strings.TrimPrefix(generated, "// "), "", lists},
	}
}

// asStorage returns the places of columns.
func asStorage(l *sdk, tables []abi.TableID) []part {
	const generated = "// Generated from abi/fields.\n"
	var slot strings.Builder
	next := 2 // after that of strings
	number := func(names string, width int) {
		for _, name := range strings.Fields(names) {
			fmt.Fprintf(&slot, "  %s = %d,\n", name, next)
			next += width
		}
	}
	number(l.of(texts{text: "{Column} ", list: "{Column} ", slots: "{Column} ", amounts: "{Column} "}, tables), 2)
	number(l.of(texts{cell: "{Column} ", flag: "{Column} "}, tables), 1)
	fmt.Fprintf(&slot, "\n  // Of declared keys, from Keyed on: the address of a place for each, by the number of the handle, of which that of\n"+
		"  // number 0 is never there.\n  Keyed = %d,\n", next)
	number(l.of(texts{keyed: "{Column} ", keyedList: "{Column} {Column}Arena "}, tables), 1)
	fmt.Fprintf(&slot, "\n  Count = %d,\n", next)

	const one = "    case Column.{Column}: return where(Slot.{Column}, Type.{Type}, 1);\n"
	const spans = "    case Column.{Column}: return where(Slot.{Column}, Type.Span, 1);\n" +
		"    case Column.{Column} + ARENA: return where(Slot.{Column} + 1, Type.{Type}, 1);\n"
	const key = "    case Column.{Column}: return where(Slot.{Column}, Type.{Type}, declared.{LIST}.length);\n"
	return []part{
		{"  Strings = 0,\n  " + generated, "}\n", slot.String()},
		{"  switch (id) {\n    " + generated, "    case Column.String:", l.of(texts{
			cell: one, flag: one, text: spans, list: spans, slots: spans, keyed: key,
			keyedList: "    case Column.{Column}: return where(Slot.{Column}, Type.Span, declared.{LIST}.length);\n" +
				"    case Column.{Column} + ARENA: return where(Slot.{Column}Arena, Type.{Type}, declared.{LIST}.length);\n",
			amounts: "    case Column.{Column}: return where(Slot.{Column}, Type.{Type}, 2);\n",
		}, tables)},
		{"= [\n    " + generated, "  ];\n", l.of(texts{
			keyed: "    declared.{LIST}.length,\n", keyedList: "    declared.{LIST}.length,\n    declared.{LIST}.length,\n",
		}, tables)},
	}
}
