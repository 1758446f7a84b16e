package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestLists: each mistake can still be made, once, and docs/oracle.md has those that the oracle must find.
func TestLists(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	page, err := os.ReadFile(filepath.Join(top, "docs", "oracle.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"mutants.yaml", "plugins.yaml"} {
		text, err := lists.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		var mutants []mutant
		if err := yaml.UnmarshalStrict(text, &mutants); err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		for _, m := range mutants {
			source, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(m.File)))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(source, []byte(m.Old)); n != 1 || m.Old == m.New {
				t.Errorf("%s: %s: %s has %q %d times, want it once, and a change of it", list, m.Mistake, m.File, m.Old, n)
			}
			if list == "mutants.yaml" && m.Subject != tested && !strings.Contains(string(page), "| "+m.Subject+" | "+m.Mistake+" |") {
				t.Errorf("docs/oracle.md does not have %s: %s", m.Subject, m.Mistake)
			}
		}
	}
}
