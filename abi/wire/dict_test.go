package wire_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/seeded"
)

// TestDict: a string always has the same id, ids are dense, and no string has id 0.
func TestDict(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		d, model := wire.NewDict(), map[string]uint32{}
		for _, s := range rapid.SliceOf(rapid.StringN(0, 3, -1)).Draw(t, "strings") {
			if got := d.Lookup(s); got != model[s] {
				t.Fatalf("Lookup(%q) = %d, want %d", s, got, model[s])
			}
			id := d.Intern(s)
			if old, known := model[s]; known && old != id {
				t.Fatalf("Intern(%q) = %d, and %d before", s, id, old)
			}
			model[s] = id
		}
		if d.Len() != len(model)+1 {
			t.Fatalf("%d ids for %d strings", d.Len(), len(model))
		}
		for s, id := range model {
			if id == 0 || int(id) >= d.Len() || d.String(id) != s {
				t.Fatalf("id %d of %q is the id of %q", id, s, d.String(id))
			}
		}
		if d.String(0) != "" {
			t.Fatalf("id 0 is %q", d.String(0))
		}
	})
}

func TestDictEmptyString(t *testing.T) {
	d := wire.NewDict()
	if d.Lookup("") != 0 {
		t.Error("the empty string has an id before it was interned")
	}
	if id := d.Intern(""); id == 0 || d.Lookup("") != id {
		t.Errorf("the empty string has id %d; 0 stands for absent", id)
	}
}
