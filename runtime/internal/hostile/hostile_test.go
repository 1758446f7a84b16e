package hostile

import (
	"bytes"
	"strings"
	"testing"
)

// TestAttacks: every attack can be made, has a name of its own in a group, says what it
// does, and is a module, except those that are meant not to be.
func TestAttacks(t *testing.T) {
	attacks, err := Attacks("../../..")
	if err != nil {
		t.Fatal(err)
	}
	seen, groups := map[string]bool{}, map[string]int{}
	for _, a := range attacks {
		group, name, ok := strings.Cut(a.Name, "/")
		if !ok || name == "" || seen[a.Name] || a.About == "" || len(a.Plugins) == 0 {
			t.Errorf("%q: %q, with %d plugins", a.Name, a.About, len(a.Plugins))
		}
		seen[a.Name] = true
		groups[group]++
		for _, p := range a.Plugins {
			if !bytes.HasPrefix(p.Module, []byte("\x00asm\x01\x00\x00\x00")) && a.Name != "structure/no-module" {
				t.Errorf("%s is not a module", a.Name)
			}
		}
	}
	for _, group := range []string{
		"tenants", "feeds", "workers", "names", "schemas", "objects", "starts", "totals", "messages", "points", "waiting", "time", "structure", "escapes",
		"bombs", "giants", "programs", "guests", "kit",
	} {
		if groups[group] == 0 {
			t.Errorf("group %s is empty", group)
		}
	}
}

// TestReadGuest: the head of a file says how it is used, and parts are put in their places.
func TestReadGuest(t *testing.T) {
	g, err := ReadGuest("../../wasm/testdata/filter_ignore.wat")
	if err != nil {
		t.Fatal(err)
	}
	if g.Name != "filter_ignore" || g.Policies["Filter"] != "Ignore" || !strings.Contains(g.Source, "berth_alloc") || strings.Contains(g.Source, ";;+") {
		t.Errorf("%+v", g)
	}
	if _, err := withParts(map[string]string{}, ";;+ nothing\n"); err == nil {
		t.Error("an unknown part is not an error")
	}
	if _, err := readParts(";;= a\n1\n;;= a\n2\n"); err == nil {
		t.Error("a part that appears twice is not an error")
	}
}
