package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

// TestLists: each mistake can still be made, once, and compiles, and docs/oracle.md has those that the oracle must find.
func TestLists(t *testing.T) {
	top, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(top, "docs", "oracle.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"mutants.yaml", "plugins.yaml"} {
		text, err := lists.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		mutants, err := mutate.Read(text)
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		if err := mutate.Compile(top, mutants); err != nil {
			t.Errorf("%s: %v", list, err)
		}
		for _, m := range mutants {
			if _, err := m.Apply(top); err != nil {
				t.Errorf("%s: %v", list, err)
			}
			if list == "mutants.yaml" && m.Subject != tested && !strings.Contains(string(page), "| "+m.Subject+" | "+m.Mistake+" |") {
				t.Errorf("docs/oracle.md does not have %s: %s", m.Subject, m.Mistake)
			}
		}
	}
}
