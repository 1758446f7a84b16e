package mutate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

const source = `package x

func f(list []int) int {
	// if n < 3 {
	n := 0
	for i := range list.all {
		if i < 3 && name != "a < b" {
			n += 2
		}
	}
	g(n)
	/* C: */ n = n < most ? most : n
	if n > 7 { panic("more than 7") }
	return make([]int, 0, 9)
}
`

// TestDraw: every operator makes its mistakes, not in comments, texts and lines that are exempt; the
// order depends on the seed only, and each change can be applied.
func TestDraw(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "x.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := mutate.Draw(root, "go", []string{"x.go"}, 7)
	if err != nil {
		t.Fatal(err)
	}
	again, err := mutate.Draw(root, "go", []string{"x.go"}, 7)
	if err != nil || !slices.Equal(first, again) {
		t.Errorf("another order with the same seed: %v", err)
	}
	var got []string
	for _, c := range first {
		got = append(got, c.Mistake)
		text, err := c.Apply(root)
		if err != nil || string(text) == source {
			t.Errorf("%s: %v\n%s", c.Mistake, err, text)
		}
	}
	slices.Sort(got)
	want := []string{
		"bound: `for i := range list.all - 1 {`", "bound: `if i + 1 < 3 && name != \"a < b\" {`",
		"comparison: `if i < 3 && name == \"a < b\" {`", "comparison: `if i < 3 || name != \"a < b\" {`", "comparison: `if i <= 3 && name != \"a < b\" {`",
		"constant: `if i < 4 && name != \"a < b\" {`", "constant: `n += 3`", "constant: `n := 1`", "dropped call: without `g(n)`",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
