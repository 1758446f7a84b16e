package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLists: each mistake can still be made, once; there are enough of each subject, and half as many as
// there must be are drawn by operators; and at most one in twenty changes nothing.
func TestLists(t *testing.T) {
	all, err := read()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if _, err := all[i].Apply(filepath.Join("..", "..", "..")); err != nil {
			t.Error(err)
		}
	}
	of, err := tallies()
	if err != nil {
		t.Fatal(err)
	}
	sum := tally{}
	for _, subject := range subjects() {
		n, least := of[subject], 20
		if subject == plugins {
			least = 40
		}
		if n.all < least || 2*n.drawn < least {
			t.Errorf("%s has %d mistakes, %d of them drawn; want %d at least, and %d drawn", subject, n.all, n.drawn, least, least/2)
		}
		sum.all, sum.equivalent = sum.all+n.all, sum.equivalent+n.equivalent
	}
	if percent(sum) > 5 {
		t.Errorf("%.1f %% of the mistakes change nothing, want 5 %% at most", percent(sum))
	}
}

// TestReadme: the kit's README has the table that -count prints.
func TestReadme(t *testing.T) {
	var table bytes.Buffer
	if err := count(&table); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "abi", "conformance", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("abi/conformance/README.md does not have what `go run ./cmd/kitmutants -count` prints:\n%s", table.String())
	}
}

// TestEquivalent: of a mistake that is not made, because it changes nothing, it is said why, and of no other.
func TestEquivalent(t *testing.T) {
	for _, list := range []string{"written.yaml", "drawn.yaml", "equivalent.yaml"} {
		all, err := readList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if (c.Why != "") != (list == "equivalent.yaml") {
				t.Errorf("%s: %s: why: %q", list, c.Mistake, c.Why)
			}
		}
	}
}
