package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSuite runs the JSON Schema Test Suite for 2020-12, of which google/jsonschema-go has a
// copy. Where a schema has only keywords of ABI-9.8 the verdicts are those of the suite; where others are ignored, no value is
// refused that fits.
func TestSuite(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Module.Dir}}", "github.com/google/jsonschema-go/jsonschema").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "jsonschema/testdata/draft2020-12/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	cases, loose := 0, 0
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
		if name == "refRemote" || name == "dynamicRef" || name == "vocabulary" {
			continue // schemas of other documents
		}
		for _, g := range groups {
			schema := g.Schema
			if schema[0] != '{' { // a manifest has an object there
				schema = json.RawMessage(`{"allOf":[` + string(schema) + `]}`)
			}
			s, remarks, err := New(schema)
			if err != nil {
				t.Errorf("%s: %s: %v", name, g.Description, err)
				continue
			}
			ignored := strings.Contains(strings.Join(remarks, "\n"), "ignored")
			for _, c := range g.Tests {
				cases++
				value, err := Parse(c.Data)
				if err != nil {
					t.Fatal(err)
				}
				problems := s.validate(value)
				fits := len(problems) == 0
				if fits && !c.Valid && ignored {
					loose++
				} else if fits != c.Valid {
					t.Errorf("%s: %s: %s: valid should be %v, got %v", name, g.Description, c.Description, c.Valid, problems)
				}
			}
		}
	}
	if cases < 900 {
		t.Errorf("only %d cases ran", cases)
	}
	t.Logf("%d cases, of which %d are accepted because a keyword is ignored", cases, loose)
}
