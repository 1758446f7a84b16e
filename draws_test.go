package berth_test

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDrawsHaveSeeds: no test draws what the next run of it does not.
func TestDrawsHaveSeeds(t *testing.T) {
	for _, problem := range unseeded(repository(t)) {
		t.Error(problem)
	}
}

// unseeded returns a sentence for each call of rapid's own checks in a test.
func unseeded(files []goFile) []string {
	var problems []string
	for _, f := range files {
		rapid := importedAs(f, "pgregory.net/rapid")
		if !f.isTest() || rapid == "" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "Check" && s.Sel.Name != "MakeCheck" {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == rapid {
				problems = append(problems, fmt.Sprintf("%s:%d: %s.%s draws with another seed each time, so that a failure comes by chance. "+
					"Remedy: seeded.Check of internal/seeded", f.path, f.fset.Position(n.Pos()).Line, rapid, s.Sel.Name))
			}
			return true
		})
	}
	return problems
}

// importedAs returns the name under which a file imports a package, or nothing.
func importedAs(f goFile, pkg string) string {
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == pkg {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return p[strings.LastIndex(p, "/")+1:]
		}
	}
	return ""
}

func TestUnseededChecker(t *testing.T) {
	const rapid = `"pgregory.net/rapid"`
	for _, test := range []struct{ name, file, src, want string }{
		{"rapid's check", "a/a_test.go", "package a\nimport " + rapid + "\nvar x = rapid.Check\n", "a/a_test.go:3: rapid.Check"},
		{"rapid's other check", "a/a_test.go", "package a\nimport " + rapid + "\nvar x = rapid.MakeCheck(nil)\n", "Remedy: seeded.Check"},
		{"another name", "a/a_test.go", "package a\nimport r " + rapid + "\nfunc f() { r.Check(nil, nil) }\n", "r.Check"},
		{"only its types", "a/a_test.go", "package a\nimport " + rapid + "\nvar x *rapid.T\n", ""},
		{"ours", "a/a_test.go", "package a\nimport \"" + module + "/internal/seeded\"\nvar x = seeded.Check\n", ""},
		{"outside of tests", "a/a.go", "package a\nimport " + rapid + "\nvar x = rapid.Check\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			files, err := goFiles(fstest.MapFS{test.file: {Data: []byte(test.src)}})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(unseeded(files), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}
