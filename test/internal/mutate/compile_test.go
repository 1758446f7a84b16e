package mutate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompile: a change that leaves an import or a variable without a use is told from one that compiles.
func TestCompile(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module example.org/sum\n\ngo 1.26.0\n",
		"a/sum.go": "package a\n\nimport \"strconv\"\n\nfunc sum(a, b int) string {\n\tc := a + b\n\treturn strconv.Itoa(c)\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ replacement, want string }{
		{"strconv.Itoa(c - 1)", ""},
		{"strconv.Itoa(a)", "declared and not used: c"},
		{"string(rune(c))", `"strconv" imported and not used`},
		{"strconv.Itoa(c +)", "expected operand"},
		{"strconv.Itoa(d)", "undefined: d"},
	} {
		err := Compile(root, []Change{{Subject: "test", Mistake: "a sum", File: "a/sum.go", Old: "strconv.Itoa(c)", New: c.replacement}})
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.replacement, err, c.want)
		}
	}
}
