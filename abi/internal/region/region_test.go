package region

import (
	"bytes"
	"testing"
)

// TestNamesOfNamespaces: names are there whether or not they are declared (ABI-4.14).
func TestNamesOfNamespaces(t *testing.T) {
	ids := map[string]uint32{"": 0}
	e := &Encoder{Reads: Reads{NamespaceLabels: []string{"team"}}, ID: func(s string) uint32 {
		if _, ok := ids[s]; !ok {
			ids[s] = uint32(len(ids))
		}
		return ids[s]
	}}
	table := e.Namespaces([]*Namespace{nil, {Name: "a", Labels: map[string]string{"team": "x"}}})
	if len(table.Columns) != 2 || table.Columns[0].ID != 224 || table.Columns[1].ID != 226 {
		t.Fatalf("%+v", table)
	}
	if !bytes.Equal(table.Columns[0].Data, []byte{0, 0, 0, 0, 1, 0, 0, 0}) || !bytes.Equal(table.Columns[1].Data, []byte{0, 0, 0, 0, 2, 0, 0, 0}) {
		t.Errorf("%+v", table)
	}
}

// TestStale: what no row uses is there, and a span of nothing may begin anywhere
// (ABI-4.8).
func TestStale(t *testing.T) {
	for _, stale := range []bool{false, true} {
		e := &Encoder{Reads: Reads{Pods: []string{"name"}}, Stale: stale}
		table := e.Pods([]*Pod{nil, {Name: "ab"}})
		spans, arena := table.Columns[0].Data, table.Columns[1].Data
		want, names := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0}, "ab"
		if stale {
			want, names = []byte{255, 255, 255, 255, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0}, "\xee\xeeab"
		}
		if !bytes.Equal(spans, want) || string(arena) != names {
			t.Errorf("stale %v: %v %q", stale, spans, arena)
		}
	}
}
