package schema

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSuite runs the JSON Schema Test Suite for 2020-12, of which google/jsonschema-go has a
// copy. It skips schemas that this host refuses for identifiers, anchors or references to other
// documents, and checks how many they are.
func TestSuite(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Module.Dir}}", "github.com/google/jsonschema-go/jsonschema").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "jsonschema/testdata/draft2020-12/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	cases, refused := 0, map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, g := range groups {
			schema := g.Schema
			if schema[0] != '{' { // a manifest has an object there
				schema = json.RawMessage(`{"allOf":[` + string(schema) + `]}`)
			}
			s, _, err := New(schema)
			if err != nil {
				refused[name]++
				continue
			}
			for _, c := range g.Tests {
				cases++
				value, err := Parse(c.Data)
				if err != nil {
					t.Fatal(err)
				}
				problems := s.validate(value)
				if (len(problems) == 0) != c.Valid {
					t.Errorf("%s: %s: %s: valid should be %v, got %v", name, g.Description, c.Description, c.Valid, problems)
				}
			}
		}
	}
	want := map[string]int{"anchor": 4, "defs": 1, "dynamicRef": 20, "ref": 15, "refRemote": 15, "unevaluatedItems": 1, "unevaluatedProperties": 1}
	if cases != 980 || !maps.Equal(refused, want) {
		t.Errorf("%d cases ran, want 980; refused %v, want %v", cases, refused, want)
	}
}
