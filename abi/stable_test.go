package abi_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNumbersAreStable checks every exported constant against testdata/numbers.txt. A published
// module was compiled with these numbers, so a line of that file is never changed; a new
// constant is a new line. Counts may grow, and so does the minor version.
func TestNumbersAreStable(t *testing.T) {
	const path = "testdata/numbers.txt"
	now := constants(t)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frozen := map[string]bool{}
	for line := range strings.Lines(string(file)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		frozen[name] = true
		if now[name] != value {
			t.Errorf("%s is %s, was published as %s. Remedy: give the new meaning a new number", name, orNothing(now[name]), value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if !frozen[name] && !strings.Contains(name, " Num") && name != "untyped Minor" {
			t.Errorf("%s is not in %s. Remedy: append the line `%s = %s`", name, path, name, now[name])
		}
	}
}

func orNothing(s string) string {
	if s == "" {
		return "gone"
	}
	return s
}

// TestIDsAreUnique: two tables or columns never share an id.
func TestIDsAreUnique(t *testing.T) {
	seen := map[string]string{}
	for name, value := range constants(t) {
		kind, _, _ := strings.Cut(name, " ")
		if kind != "ColumnID" && kind != "TableID" {
			continue
		}
		if other, taken := seen[kind+value]; taken {
			t.Errorf("%s and %s are both %s", name, other, value)
		}
		seen[kind+value] = name
	}
	if len(seen) == 0 {
		t.Error("no ids found; the test checks nothing")
	}
}

// constants returns the exported constants of the package: "type name" → value.
func constants(t *testing.T) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	var problems []error
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		export, err := exec.Command("go", "list", "-export", "-f", "{{.Export}}", path).Output()
		if err != nil {
			return nil, err
		}
		return os.Open(strings.TrimSpace(string(export)))
	})
	config := types.Config{Importer: imports, Error: func(err error) { problems = append(problems, err) }}
	pkg, _ := config.Check("abi", fset, files, nil)
	if len(problems) > 0 {
		t.Fatal(problems[0])
	}
	out := map[string]string{}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || !c.Exported() {
			continue
		}
		kind := "untyped"
		if named, ok := c.Type().(*types.Named); ok {
			kind = named.Obj().Name()
		} else if basic, ok := c.Type().(*types.Basic); ok && basic.Info()&types.IsUntyped == 0 {
			kind = basic.Name()
		}
		value := c.Val()
		if value.Kind() == constant.Int {
			out[fmt.Sprint(kind, " ", name)] = value.ExactString()
		}
	}
	return out
}
