package laws_test

import (
	"go/ast"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// exceptions are the files and folders that a law leaves out, with the reason.
type exceptions map[string]string

// exempt splits problems by file: it returns those of files that are no exception, and a sentence for each exception without any.
func (e exceptions) exempt(problems []problem, list string) []string {
	var out []string
	used := make(map[string]bool)
	for _, p := range problems {
		exempt := false
		for path := range e {
			if p.file.path == path || strings.HasPrefix(p.file.path, path+"/") {
				used[path], exempt = true, true
			}
		}
		if !exempt {
			out = append(out, p.String())
		}
	}
	for path := range e {
		if !used[path] {
			out = append(out, path+": nothing in it needs an exception any more. Remedy: take it off the list "+list)
		}
	}
	return out
}

// problem is a place in a file that a law refuses.
type problem struct {
	file goFile
	at   ast.Node
	says string
}

func (p problem) String() string {
	return p.file.path + ":" + strconv.Itoa(p.file.fset.Position(p.at.Pos()).Line) + ": " + p.says
}

// isSelector reports whether e is a name of a package that is imported as pkg.
func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// importedAs returns the name under which a file imports a package, or nothing.
func importedAs(f goFile, pkg string) string {
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == pkg {
			if spec.Name != nil {
				return spec.Name.Name
			}
			if p == "math/rand/v2" {
				return "rand"
			}
			return p[strings.LastIndex(p, "/")+1:]
		}
	}
	return ""
}

// lawCase is a file, and what a law says of it: a part of it, or nothing.
type lawCase struct{ name, file, src, want string }

func checkLaw(t *testing.T, law func([]goFile) []string, cases []lawCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			files, err := goFiles(fstest.MapFS{test.file: {Data: []byte(test.src)}})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(law(files), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}
