package main

import (
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

func rustColumns() *sdk {
	// rustfmt leaves these lines as they are, however long a name is.
	const plain, row = "        let column = &self.columns.plain.{column};\n", `{row}, "{list}", "{entry}"`
	return &sdk{
		owner:  [5]string{1: "Node", 2: "PlacedPod", 4: "Namespace"},
		row:    [5]string{1: "self.row", 2: "self.slot", 4: "self.row"},
		prefix: [5]string{1: "Node", 2: "Pod", 4: "Namespace"},
		element: map[abi.Type]string{
			abi.TypeU8: "u8", abi.TypeU32: "Id", abi.TypeU64: "u64", abi.TypeI32: "i32", abi.TypeI64: "i64",
			abi.TypePair: "Pair", abi.TypeTaint: "Taint", abi.TypePort: "Port", abi.TypeImage: "Image", abi.TypeBytes: "u8",
		},
		enum: "{Enum}", key: [4]string{"resource", "kind", "feed", "key"}, absent: "ABSENT",
		comment: func(_, doc string) string {
			return "\n    /// " + strings.Join(wrap(withoutVerb(doc), 92), "\n    /// ") + "\n"
		},
		reader: texts{
			cell: "    #[inline]\n    pub fn {snake}(self) -> {type} {\n" + plain + "        cell(column, " + row + ")\n    }\n",
			flag: "    #[inline]\n    pub fn {snake}(self) -> bool {\n" + plain + "        cell(column, " + row + ") & {mask} != 0\n    }\n",
			text: "    pub fn {snake}(self) -> &'c str {\n" + plain + "        utf8(column.row(" + row + "))\n    }\n",
			list: "    #[inline]\n    pub fn {snake}(self) -> &'c [{type}] {\n" + plain + "        column.row(" + row + ")\n    }\n",
			slots: "    #[inline]\n    pub fn {snake}(self) -> Pods<'c> {\n" + plain + "        Pods {\n            columns: self.columns,\n" +
				"            slots: column.row(" + row + "),\n        }\n    }\n",
			keyed: "    #[inline]\n    pub fn {snake}(self, {key}: {Key}) -> {type} {\n" +
				"        let columns = &self.columns.keyed.{column};\n        keyed(columns, {key}.0, {row}, \"{list}\", \"{what}\")\n    }\n",
			keyedList: "    #[inline]\n    pub fn {snake}(self, {key}: {Key}) -> &'c [{type}] {\n" +
				"        let k = &self.columns.keyed;\n        let spans = &k.{column};\n        let arenas = &k.{column}_arena;\n" +
				"        keyed_list(spans, arenas, {key}.0, {row}, \"{list}\")\n    }\n",
			amounts: "    #[inline]\n    pub fn {snake}(self) -> (i64, i64) {\n        let [cpu, memory] = &self.columns.plain.{column};\n" +
				"        let of = |column| cell(column, " + row + ");\n        (of(cpu), of(memory))\n    }\n",
		},
		byKey: "    #[inline]\n    pub fn label_by_key(self, key: Id) -> Id {\n        find(self.labels(), key)\n    }\n",
	}
}

// rustReadersOf returns the methods of the rows of tables.
func rustReadersOf(l *sdk, tables []abi.TableID) string {
	var blocks []string
	for _, table := range tables {
		blocks = append(blocks, "impl<'c> "+l.owner[table]+"<'c> {\n"+strings.TrimPrefix(l.readers(table), "\n")+"}\n")
	}
	return strings.Join(blocks, "\n")
}

// rustStorage returns the columns as slices, and what sets them.
func rustStorage(l *sdk, tables []abi.TableID) string {
	const one, none = "    pub {column}: View<{type}>,\n", "        {column}: View::empty(),\n"
	const lists, noLists = "    pub {column}: Lists<{type}>,\n", "        {column}: Lists::EMPTY,\n"
	const set, arena = "column::{COLUMN} => one(m, e, element::{TYPE}, &mut p.{column})\n", "column::{COLUMN} => p.{column}.set(m, e)\n"
	const inArena = "column::{COLUMN} => one(m, e, element::{TYPE}, &mut p.{column}.arena)\n"
	return `/// The columns without keys.
pub(crate) struct PlainColumns {
` + l.of(texts{
		cell: one, flag: one, text: lists, list: lists, slots: "    pub {column}: Lists<u32>,\n", amounts: "    pub {column}: [View<{type}>; 2],\n",
	}, tables) + `}

impl PlainColumns {
    pub const EMPTY: PlainColumns = PlainColumns {
` + l.of(texts{
		cell: none, flag: none, text: noLists, list: noLists, slots: noLists, amounts: "        {column}: [View::empty(); 2],\n",
	}, tables) + `    };
}

/// The columns by declared key, the key's index first.
pub(crate) struct KeyedColumns {
` + l.of(texts{
		keyed: "    pub {column}: Keyed<{type}>,\n", keyedList: "    pub {column}: Keyed<Span>,\n    pub {column}_arena: Keyed<{type}>,\n",
	}, tables) + `}

impl KeyedColumns {
    /// Allocates the columns.
    pub fn new(memory: &Memory, declared: &Declared) -> KeyedColumns {
        KeyedColumns {
` + l.of(texts{
		keyed: "            {column}: empty(memory, declared.length(\"{keys}\")),\n",
		keyedList: "            {column}: empty(memory, declared.length(\"{keys}\")),\n" +
			"            {column}_arena: empty(memory, declared.length(\"{keys}\")),\n",
	}, tables) + `        }
    }

    pub fn forget(&mut self) {
` + l.of(texts{
		keyed: "        clear(&mut self.{column});\n", keyedList: "        clear(&mut self.{column});\n        clear(&mut self.{column}_arena);\n",
	}, tables) + `    }
}

impl Columns {
    /// Sets a column. Unknown columns and types are skipped (ABI-4.5).
    pub(crate) fn set(&mut self, m: &Memory, e: &ColumnEntry) {
        let (p, k) = (&mut self.plain, &mut self.keyed);
        match e.id {
` + arms(l.of(texts{
		cell: set, flag: set, text: arena, list: arena, slots: arena,
		keyed:     "column::{COLUMN} => of_key(m, e, element::{TYPE}, &mut k.{column})\n",
		amounts:   "column::{COLUMN} => key(m, e, element::{TYPE}, &mut p.{column})\n",
		keyedList: "column::{COLUMN} => of_key(m, e, element::SPAN, &mut k.{column})\n",
	}, tables)) + `            column::STRING => self.strings.set(m, e),
            id if id > column::ARENA => self.arena(m, e),
            _ => {}
        }
    }

    /// Arenas have the id of their column plus 256 (ABI-4.8).
    fn arena(&mut self, m: &Memory, e: &ColumnEntry) {
        let (p, k) = (&mut self.plain, &mut self.keyed);
        match e.id - column::ARENA {
` + arms(l.of(texts{
		text: inArena, list: inArena, slots: inArena,
		keyedList: "column::{COLUMN} => of_key(m, e, element::{TYPE}, &mut k.{column}_arena)\n",
	}, tables)) +
		`            column::STRING => one(m, e, element::BYTES, &mut self.strings.arena),
            _ => {}
        }
    }
}
`
}

// arms writes the arms of a match as rustfmt does: a body that is too long for its line has a block.
func arms(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		pattern, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " => ")
		short := "            " + pattern + " => " + body + ",\n"
		if len(short) > 101 {
			short = "            " + pattern + " => {\n                " + body + "\n            }\n"
		}
		b.WriteString(short)
	}
	return b.String()
}
