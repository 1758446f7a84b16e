package strictyaml

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestBounds: what a small document costs is bounded, whatever is done with it.
func TestBounds(t *testing.T) {
	chain := func(first, next string) string {
		text := "a0: &a0 " + first + "\n"
		for i := range 40 {
			text += fmt.Sprintf("a%d: &a%d "+next+"\n", i+1, i+1, i, i)
		}
		return text
	}
	wide := "a: &a {"
	for i := range 3000 {
		wide += fmt.Sprintf("k%d: ,", i)
	}
	for _, c := range []struct{ name, text, want string }{
		{"lists in one another", strings.Repeat("[", 9900) + strings.Repeat("]", 9900), "nested deeper than 200 levels"},
		{"mappings in one another", strings.Repeat("{a: ", 9900) + strings.Repeat("}", 9900), "nested deeper than 200 levels"},
		{"dashes", strings.Repeat("- ", 9900) + "a", "nested deeper than 200 levels"},
		{"keys in one another", strings.Repeat("? ", 5000) + "a", "nested deeper than 200 levels"},
		{"more lists than the library reads", strings.Repeat("[", 200_000), "exceeded max depth"},
		{"aliases of aliases", chain("[x, x]", "[*a%d, *a%d]"), ""},
		{"merges of merges", chain("{x: 1}", "{<<: [*a%d, *a%d]}"), ""},
		{"a wide mapping, merged often", wide + "}\nb:\n  <<: [" + strings.Repeat("*a,", 3000) + "]\n", ""},
		{"a key that occurs often", strings.Repeat("a: b\n", 10_000), ""},
		{"a list that does not end", "[\n" + strings.Repeat(strings.Repeat("a,", 300)+"\n", 300), "did not find expected node content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := all([]byte(c.text))
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
				t.Errorf("%d bytes allocated for %d", used, len(c.text))
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// all does what callers do with a document.
func all(text []byte) error {
	root, err := Parse(text)
	if err != nil {
		return errors.New(Explain(text, err)[0].Detail)
	}
	Duplicates(root)
	if Fits(root, 16<<20) {
		if _, err := Values(text, true); err != nil {
			return err
		}
		_, err := Values(text, false)
		if err != nil {
			Explain(text, err)
		}
	}
	if _, err := JSON(root); err != nil && !errors.As(err, new(*NodeError)) {
		return err
	}
	return nil
}

// TestDepth: 200 levels are read.
func TestDepth(t *testing.T) {
	if _, err := Parse([]byte(strings.Repeat("[", 200) + "a" + strings.Repeat("]", 200))); err != nil {
		t.Error(err)
	}
	text := []byte("a:\n  b: " + strings.Repeat("[", 200) + "a" + strings.Repeat("]", 200))
	_, err := Parse(text)
	if m := Explain(text, err)[0]; m.Line != 2 || m.Detail != "nested deeper than 200 levels" || m.Fix == "" {
		t.Errorf("%+v", m)
	}
}

// TestManyTwice: the first keys that occur twice are returned, the others counted.
func TestManyTwice(t *testing.T) {
	root, err := Parse([]byte(strings.Repeat("a: b\n", 100)))
	if err != nil {
		t.Fatal(err)
	}
	if first, more := Duplicates(root); len(first) != 20 || more != 79 {
		t.Errorf("%d and %d more", len(first), more)
	}
}
