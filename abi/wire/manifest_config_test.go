package wire_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/golden"
)

// nameVector is a case of names.json.
type nameVector struct {
	Name     string            `json:"name"`
	Elements []json.RawMessage `json:"elements"`
	Config   string            `json:"config"`
	Names    []string          `json:"names,omitempty"`
	Refused  string            `json:"refused,omitempty"`
}

const nameVectors = "../vectors/names.json"

// TestNamesOfConfig: ABI-9.15. -rewrite writes the names.
func TestNamesOfConfig(t *testing.T) {
	text, err := os.ReadFile(nameVectors)
	if err != nil {
		t.Fatal(err)
	}
	var all []nameVector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		v := &all[i]
		elements, err := json.Marshal(v.Elements)
		if err != nil {
			t.Fatal(err)
		}
		m := configured(t, `"nodeLabels":`+string(elements))
		before := string(wire.EncodeManifest(m))
		v.Names, v.Refused = nil, ""
		resolved, err := m.Resolve([]byte(v.Config))
		if err != nil {
			v.Refused = err.Error()
		} else {
			v.Names = resolved.Reads.NodeLabels
		}
		if after := string(wire.EncodeManifest(m)); after != before {
			t.Errorf("%s: the manifest was %s and is %s", v.Name, before, after)
		}
		if err == nil {
			again, err := resolved.Resolve([]byte(`{"keys":["more"]}`))
			if err != nil || again != resolved || resolved.Validate() != nil {
				t.Errorf("%s: the result is no manifest with these names alone: %v", v.Name, err)
			}
		}
	}
	var out []byte
	if out, err = json.MarshalIndent(all, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, nameVectors, append(out, '\n'))
}

// TestBrought: names that the manifest has already are not of the configuration; the others have their places there.
func TestBrought(t *testing.T) {
	m := configured(t, `"nodeLabels":["zone",{"fromConfig":"/keys"}],"resources":[{"fromConfig":"/a~1b"}]`)
	got, err := m.Brought([]byte(`{"keys":["zone","rack","rack","room"],"a/b":"cpu"}`))
	want := []wire.BroughtName{
		{List: "nodeLabels", Pointer: "/keys/1", Name: "rack"}, {List: "nodeLabels", Pointer: "/keys/3", Name: "room"},
		{List: "resources", Pointer: "/a~1b", Name: "cpu"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := m.Brought([]byte(`{"keys":1}`)); err == nil || got != nil {
		t.Errorf("of a configuration that is refused: %v", got)
	}
}

// TestListsOfConfig: each list that may have names of the configuration has them in its form, and is shown by its place before.
func TestListsOfConfig(t *testing.T) {
	for _, l := range fields.Lists() {
		if !l.FromConfig {
			continue
		}
		name := "example.com/x"
		if l.Name == "feeds" {
			name = "node.load:milli"
		}
		m := configured(t, `"`+l.Name+`":[{"fromConfig":"/keys"}]`)
		if got := m.Readings(); len(got) != 1 || !slices.Equal(got[0].Names, []string{"config:/keys"}) {
			t.Errorf("%s is shown as %v", l.Name, got)
		}
		resolved, err := m.Resolve([]byte(`{"keys":"` + name + `"}`))
		if err != nil || !slices.Equal(resolved.Reads.List(l.Name), []string{name}) {
			t.Errorf("%s has %v: %v", l.Name, resolved, err)
		}
		if _, err := m.Resolve([]byte(`{"keys":"no name"}`)); err == nil {
			t.Errorf("%s has a name in another form", l.Name)
		}
	}
}

// TestEmptyOfConfig: a list without which another has no meaning must have names of the configuration, too.
func TestEmptyOfConfig(t *testing.T) {
	m := configured(t, `"node":["allocatable"],"resources":[{"fromConfig":"/resources"}]`)
	if _, err := m.Resolve([]byte(`{"resources":["cpu"]}`)); err != nil {
		t.Error(err)
	}
	const want = `manifest: reads.resources: it is missing, but node: allocatable is read for each resource; list the resources, such as ["cpu", "memory"] (ABI-9.4)`
	if _, err := m.Resolve(nil); message(err) != want {
		t.Errorf("got %v", err)
	}
}

// configured returns a valid manifest with a configuration.
func configured(t *testing.T, reads string) *wire.Manifest {
	t.Helper()
	const head = `{"name":"a","version":"1.0.0","abi":"1.1","points":{"filter":{}},"reads":{`
	m, err := wire.DecodeManifest([]byte(head + reads + `},"config":{}}`))
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}
