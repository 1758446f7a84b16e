package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// least is how many mistakes of a subject there are, and how many of them were drawn.
func least() map[string][2]int {
	return map[string][2]int{
		"plugins":        {40, 19},
		"go":             {20, 9},
		"rust":           {20, 10},
		"c":              {21, 10},
		"assemblyscript": {20, 10},
		"host":           {19, 9},
	}
}

// TestLists: each mistake can still be made, once, and there are enough of each subject, some of
// them drawn by operators.
func TestLists(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	all, err := read()
	if err != nil {
		t.Fatal(err)
	}
	drawn, made := map[string]int{}, map[string]int{}
	for _, c := range all {
		if _, err := c.Apply(top); err != nil {
			t.Error(err)
		}
		made[c.Subject]++
		for _, operator := range []string{"comparison: ", "bound: ", "constant: ", "dropped call: "} {
			if strings.HasPrefix(c.Mistake, operator) {
				drawn[c.Subject]++
			}
		}
	}
	for subject, want := range least() {
		if made[subject] < want[0] || drawn[subject] < want[1] {
			t.Errorf("%s has %d mistakes, %d of them drawn; want %d and %d", subject, made[subject], drawn[subject], want[0], want[1])
		}
	}
}

// TestEquivalent: of a mistake that is not made, because it changes nothing or because nothing finds it
// yet, it is said why, and of no other.
func TestEquivalent(t *testing.T) {
	for _, list := range []string{"written.yaml", "drawn.yaml", "equivalent.yaml", missedList} {
		all, err := readList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if (c.Why != "") != (list == "equivalent.yaml" || list == missedList) {
				t.Errorf("%s: %s: why: %q", list, c.Mistake, c.Why)
			}
		}
	}
}
