package berthtest

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestWithout: each name that a manifest can list hides its columns and fields, and each of these has a name that hides it.
func TestWithout(t *testing.T) {
	m := &Manifest{Manifest: &wire.Manifest{}}
	for _, l := range fields.Lists() {
		names := fields.Names(l.Name)
		if len(names) == 0 {
			names = []string{"first", "second"}
		}
		if text := `{"reads": {"` + l.Name + `": ["` + strings.Join(names, `","`) + `"]}}`; l.Name != "requiredFeeds" && l.Name != "resolution" {
			some, err := wire.DecodeManifest([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got := Reads(some); len(got) != len(names) || got[0] != (Read{l.Name, names[0]}) {
				t.Errorf("%s: got %v", text, got)
			}
			if m.Reads == nil {
				m.Reads = map[string][]string{}
			}
			m.Reads[l.Name] = names
		}
	}
	hidden := map[abi.ColumnID]bool{}
	for list, names := range m.Reads {
		for i, name := range names {
			m.without = Read{list, name}
			hides := 0
			for _, e := range fields.All() {
				for arg := range uint32(2) {
					if m.hides(e.ID, arg) {
						hides++
						hidden[e.ID] = true
						if e.ArgList() == list && arg != uint32(i) {
							t.Errorf("%v hides %s of place %d", m.without, e.Go, arg)
						}
					}
				}
			}
			if hides == 0 && list != "published" {
				t.Errorf("%v hides nothing", m.without)
			}
		}
	}
	for _, e := range fields.All() {
		if e.List != "" && !e.Refers && !hidden[e.ID] {
			t.Errorf("nothing hides %s", e.Go)
		}
	}
	m.without = Read{"node", "name"}
	if !m.hides(abi.NodeName+abi.ArenaOf, 0) {
		t.Error("the arena of a hidden column is there")
	}
}
