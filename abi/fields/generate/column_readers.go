package main

import (
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// columnReaders returns what reads the columns of nodes, of pods on nodes and of namespaces.
func columnReaders() []file {
	const generated = "// Generated from abi/fields.\n"
	tables := []abi.TableID{abi.TableNodes, abi.TablePods, abi.TableNamespaces}
	goSDK, rust, c, as := goColumns(), rustColumns(), cColumns(), asColumns()
	return []file{
		{path: "sdk/go/column_fields.go", parts: []part{{generated, "", goStorage(goSDK, tables)}}},
		{path: "sdk/go/node_fields.go", parts: []part{{generated, "", all(goSDK, tables)}}},
		{path: "sdk/rust/src/column_fields.rs", parts: []part{{generated, "", rustStorage(rust, tables)}}},
		{path: "sdk/rust/src/node_fields.rs", parts: []part{{generated, "", rustReadersOf(rust, tables)}}},
		{path: "sdk/c/src/columns.h", parts: []part{
			{"  struct berth__lists strings;\n  " + generated, "  uint32_t lengths[", cStorage(c, tables)},
			{"strings),\n      " + generated, "  };\n", cPlaces(c, tables)},
		}},
		{path: "sdk/c/src/node_fields.h", parts: []part{{generated, "", all(c, tables)}}},
		{path: "sdk/assemblyscript/assembly/columns.ts", parts: asStorage(as, tables)},
		{path: "sdk/assemblyscript/assembly/node.ts", parts: asParts(as, abi.TableNodes)},
		{path: "sdk/assemblyscript/assembly/placed.ts", parts: asParts(as, abi.TablePods)},
		{path: "sdk/assemblyscript/assembly/snapshot.ts", parts: asParts(as, abi.TableNamespaces)},
	}
}

func all(l *sdk, tables []abi.TableID) string {
	var b strings.Builder
	for _, table := range tables {
		b.WriteString(l.readers(table))
	}
	return b.String()
}
