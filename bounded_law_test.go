package berth_test

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
	"testing/fstest"
)

// TestReadsAreBounded: what comes from outside is read up to a bound.
func TestReadsAreBounded(t *testing.T) {
	for _, problem := range unbounded(allModules(t), mayReadAll) {
		t.Error(problem)
	}
}

// mayReadAll has the files and folders that read files or streams to their end, with the reason.
var mayReadAll = map[string]string{
	"abi/sdk":                       "compilers wrote the files",
	"cmd/app/plugin_build.go":       "it reads an author's own plugin",
	"cmd/app/scaffold/generate":     "it generates files of this repository",
	"internal":                      "bounded itself, and tools and tests of this repository",
	"runtime/internal/hostile":      "it reads attacks of this repository",
	"runtime/internal/wat":          "tests use it",
	"runtime/market/oci/archive.go": "it reads a folder of its own",
	"runtime/report/reporttest":     "tests use it",
	"runtime/sim/input/files.go":    "a dump of a cluster has any size",
	"runtime/wasm/child/child.go":   "it reads what its parent sends",
	"test":                          "tests use it",
	"wasm-examples/examples.go":     "tests use it",
}

// unbounded returns a sentence for each use of os.ReadFile, and of io.ReadAll but with an io.LimitReader, outside of tests and of
// those that may read all.
func unbounded(files []goFile, mayReadAll map[string]string) []string {
	var problems []string
	used := make(map[string]bool)
	for _, f := range files {
		if f.isTest() {
			continue
		}
		files, readers := importedAs(f, "os"), importedAs(f, "io")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			called := func(e ast.Expr, pkg, name string) bool {
				s, ok := e.(*ast.SelectorExpr)
				if !ok || s.Sel.Name != name {
					return false
				}
				x, ok := s.X.(*ast.Ident)
				return ok && x.Name == pkg
			}
			limited := false
			if len(call.Args) == 1 {
				inner, is := call.Args[0].(*ast.CallExpr)
				limited = is && called(inner.Fun, readers, "LimitReader")
			}
			if !called(call.Fun, files, "ReadFile") && (!called(call.Fun, readers, "ReadAll") || limited) {
				return true
			}
			for path := range mayReadAll {
				if f.path == path || strings.HasPrefix(f.path, path+"/") {
					used[path] = true
					return true
				}
			}
			problems = append(problems, fmt.Sprintf("%s:%d: what has no end takes all memory. Remedy: bounded.File or bounded.All of "+
				"internal/bounded, and bounded.JSON for what is decoded then", f.path, f.fset.Position(n.Pos()).Line))
			return true
		})
	}
	for path := range mayReadAll {
		if !used[path] {
			problems = append(problems, path+": reads nothing to its end any more. Remedy: take it off the list mayReadAll")
		}
	}
	return problems
}

func TestUnboundedChecker(t *testing.T) {
	const src = "package a\nimport (\"io\"; \"os\")\nvar x, _ = os.ReadFile(\"a\")\nvar y, _ = io.ReadAll(os.Stdin)\n"
	for _, test := range []struct{ name, file, src, want string }{
		{"a file", "a/a.go", src, "a/a.go:3: what has no end"},
		{"a stream", "a/a.go", strings.Replace(src, "os.ReadFile", "os.Open", 1), "a/a.go:4: what has no end"},
		{"one with a bound", "a/a.go", "package a\nimport \"io\"\nvar y, _ = io.ReadAll(io.LimitReader(nil, 5))\n", ""},
		{"a test", "a/a_test.go", src, ""},
		{"one that may", "may/a.go", src, ""},
	} {
		files, err := goFiles(fstest.MapFS{test.file: &fstest.MapFile{Data: []byte(test.src)}})
		if err != nil {
			t.Fatal(err)
		}
		problems := unbounded(files, map[string]string{"may": "it may"})
		got := strings.Join(problems, "\n")
		if test.want == "" && strings.Contains(got, "what has no end") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
