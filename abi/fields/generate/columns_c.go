package main

import (
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

func cColumns() *sdk {
	const of, inRow = "berth__columns.{column}", `, {row}, "{list}", "{entry}")`
	const key = `BERTH__CELL({raw}, ` + of + `[{key}.number], {row}, "{list}", "{what}")`
	head := func(kind, result, arguments string) string {
		return "BERTH__" + kind + " " + result + " berth_{owner}_{snake}(Berth{Owner} {self}" + arguments + ") {\n  return "
	}
	const end = ";\n}\n"
	return &sdk{
		owner:  [5]string{1: "Node", 2: "PlacedPod", 4: "Namespace"},
		row:    [5]string{1: "node.row", 2: "pod.slot", 4: "namespace.row"},
		prefix: [5]string{1: "Node", 2: "Placed", 4: "Namespace"},
		element: map[abi.Type]string{
			abi.TypeU8: "uint8_t", abi.TypeU32: "BerthId", abi.TypeU64: "uint64_t", abi.TypeI32: "int32_t", abi.TypeI64: "int64_t",
			abi.TypePair: "BerthPairs", abi.TypeTaint: "BerthTaints", abi.TypePort: "BerthPorts", abi.TypeImage: "BerthImages",
		},
		numbers: "BerthNumbers", enum: "Berth{Enum}", raw: "uint8_t", key: [4]string{"r", "type", "feed", "key"}, or: ", or resources the resource",
		absent: "BERTH_ABSENT",
		comment: func(_, doc string) string {
			return "\n/// " + strings.Join(wrap(withoutVerb(doc), 130), "\n/// ") + "\n"
		},
		reader: texts{
			cell: head("HOT", "{type}", "") + "BERTH__CELL({type}, " + of + inRow + end,
			flag: head("HOT", "bool", "") + "(BERTH__CELL(uint8_t, " + of + inRow + " & {mask}) != 0" + end,
			text: head("FN", "BerthText", "") + "BERTH__LIST(BerthText, " + of + inRow + end,
			list: head("HOT", "{type}", "") + "BERTH__LIST({type}, " + of + inRow + end,
			slots: strings.Replace(head("HOT", "BerthPods", ""), "  return ",
				"  struct list { const uint32_t *at; uint32_t n; };\n  struct list slots = BERTH__LIST(struct list, "+of+inRow+";\n  return ", 1) +
				"(BerthPods){slots.at, slots.n}" + end,
			keyed: head("HOT", "{type}", ", Berth{Key} {key}") + "{cast}" + key + end,
			keyedList: head("HOT", "{several}", ", Berth{Key} {key}") + "BERTH__LIST({several}, ((struct berth__lists){" + of + "[{key}.number],\n" +
				"      " + of + `_arena[{key}.number]}), {row}, "{list}", "{what}")` + end,
			amounts: strings.Replace(head("FN", "BerthNonZero", ""), "  return ", "  const struct berth__column *c = "+of+";\n  return ", 1) +
				"(BerthNonZero){BERTH__CELL(int64_t, c[0]" + inRow + ",\n                        BERTH__CELL(int64_t, c[1]" + inRow + "}" + end,
		},
		byKey: "BERTH__HOT BerthId berth_{owner}_label_by_key(Berth{Owner} {self}, BerthId key) {\n" +
			"  return berth_pairs_find(berth_{owner}_labels({self}), key);\n}\n",
	}
}

// cStorage returns the members of the columns: those of spans with their arenas, single ones, and those of a list's keys.
func cStorage(l *sdk, tables []abi.TableID) string {
	var lists, one, key []string
	lists = strings.Fields(l.of(texts{text: "{column} ", list: "{column} ", slots: "{column} "}, tables))
	one = strings.Fields(l.of(texts{cell: "{column} ", flag: "{column} ", amounts: "{column}[2] "}, tables))
	key = strings.Fields(l.of(texts{keyed: "*{column} ", keyedList: "*{column} *{column}_arena "}, tables))
	members := func(typ string, names []string) string {
		return "  " + strings.Join(wrap(typ+" "+strings.Join(names, ", ")+";", 120), "\n      ") + "\n"
	}
	return members("struct berth__lists", lists) + members("struct berth__column", one) +
		"  // By the number of a handle; that of number 0 is never there.\n" + members("struct berth__column", key)
}

// cPlaces returns where columns go.
func cPlaces(l *sdk, tables []abi.TableID) string {
	const one, spans = "      BERTH__ONE(BERTH__{COLUMN}, BERTH__{TYPE}, {column}),\n", "      BERTH__SPANS(BERTH__{COLUMN}, BERTH__{TYPE}, {column}),\n"
	return l.of(texts{
		cell: one, flag: one, text: spans, list: spans, slots: spans, amounts: one,
		keyed: "      BERTH__KEYED(BERTH__{COLUMN}, BERTH__{TYPE}, {column}, BERTH__{KEYS}),\n",
		keyedList: "      BERTH__KEYED(BERTH__{COLUMN}, BERTH__SPAN, {column}, BERTH__{KEYS}),\n" +
			"      BERTH__KEYED(BERTH__{COLUMN} + BERTH__ARENA, BERTH__{TYPE}, {column}_arena, BERTH__{KEYS}),\n",
	}, tables)
}
