package wire_test

import (
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestReadsOfFields: a manifest can declare each entry of package fields that is for modules, by its list and name alone, and what it
// declares has as many args as the list that numbers them.
func TestReadsOfFields(t *testing.T) {
	for _, l := range fields.Lists() {
		m, err := wire.DecodeManifest([]byte(`{"reads": {"` + l.Name + `": ["x"]}}`))
		if err != nil || !slices.Equal(m.Reads.List(l.Name), []string{"x"}) {
			t.Errorf("reads.%s is not read: %v", l.Name, err)
		}
	}
	for _, e := range fields.All() {
		if e.List == "" {
			continue
		}
		m := wire.Manifest{Reads: wire.ManifestReads{Resources: []string{"cpu", "memory"}, PodAnnotations: []string{"a", "b", "c"}}}
		name, want := e.Name, map[fields.Arg]int{fields.ArgNone: 1, fields.ArgResource: 2, fields.ArgAmount: 2, fields.ArgKey: 1, fields.ArgType: 1}[e.Arg]
		if e.Arg == fields.ArgKey && e.Table == fields.Record {
			want = 3
		}
		if name == "" {
			name = "key"
		}
		objects := ""
		if e.List == "objectColumns" {
			join := map[abi.TableID]string{abi.TableNodes: "node", abi.TableNamespaces: "namespace"}[e.Table]
			name, objects = map[bool]string{true: "o.key:string", false: "o.key:integer"}[e.Type == abi.TypeU32], `"objects": [{"name": "o", "join": "`+join+`"}], `
		}
		text := `{` + objects + `"reads": {"` + e.List + `": ["` + name + `"]}}`
		declaring, err := wire.DecodeManifest([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !declaring.Reads.Declares(&e) || e.ID != abi.PodAnnotations && m.Reads.Declares(&e) {
			t.Errorf("%s does not declare %s, or it is declared without", text, e.Go)
		}
		declaring.Reads.Resources = m.Reads.Resources
		if e.List != "podAnnotations" {
			declaring.Reads.PodAnnotations = m.Reads.PodAnnotations
		}
		at := slices.IndexFunc(declaring.Reads.Columns(), func(d wire.DeclaredColumn) bool { return d.ID == e.ID })
		if at < 0 || len(declaring.Reads.Columns()[at].Args) != want {
			t.Errorf("%s: %s is not there with %d args", text, e.Go, want)
		}
	}
}
