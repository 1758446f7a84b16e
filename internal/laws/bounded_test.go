package laws_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestReadsAreBounded: what comes from outside is read up to a bound.
func TestReadsAreBounded(t *testing.T) {
	for _, problem := range unbounded(allModules(t), mayReadAll) {
		t.Error(problem)
	}
}

// mayReadAll has the files and folders that read files or streams to their end, with the reason.
var mayReadAll = exceptions{
	"abi/fields/generate":           "it generates files of this repository",
	"abi/sdk":                       "compilers wrote the files",
	"cmd/app/plugin_build.go":       "it reads an author's own plugin",
	"cmd/app/scaffold/generate":     "it generates files of this repository",
	"internal":                      "bounded itself, and tools and tests of this repository",
	"runtime/internal/hostile":      "it reads attacks of this repository",
	"runtime/internal/wat":          "tests use it",
	"runtime/market/oci/archive.go": "it reads a folder of its own",
	"runtime/report/reporttest":     "tests use it",
	"runtime/wasm/child/child.go":   "it reads what its parent sends",
	"test":                          "tests use it",
	"wasm-examples/examples.go":     "tests use it",
}

// unbounded returns a sentence for each use of os.ReadFile, and of io.ReadAll but with an io.LimitReader, outside of tests and of
// those that may read all.
func unbounded(files []goFile, mayReadAll exceptions) []string {
	var problems []problem
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
			limited := false
			if len(call.Args) == 1 {
				inner, is := call.Args[0].(*ast.CallExpr)
				limited = is && isSelector(inner.Fun, readers, "LimitReader")
			}
			if isSelector(call.Fun, files, "ReadFile") || isSelector(call.Fun, readers, "ReadAll") && !limited {
				problems = append(problems, problem{f, n, "what has no end takes all memory. Remedy: bounded.File or bounded.All of " +
					"internal/bounded, and bounded.JSON for what is decoded then"})
			}
			return true
		})
	}
	return mayReadAll.exempt(problems, "mayReadAll")
}

func TestUnboundedChecker(t *testing.T) {
	const src = "package a\nimport (\"io\"; \"os\")\nvar x, _ = os.ReadFile(\"a\")\nvar y, _ = io.ReadAll(os.Stdin)\n"
	checkLaw(t, func(files []goFile) []string { return unbounded(files, nil) }, []lawCase{
		{"a file", "a/a.go", src, "a/a.go:3: what has no end"},
		{"a stream", "a/a.go", strings.Replace(src, "os.ReadFile", "os.Open", 1), "a/a.go:4: what has no end"},
		{"one with a bound", "a/a.go", "package a\nimport \"io\"\nvar y, _ = io.ReadAll(io.LimitReader(nil, 5))\n", ""},
		{"a test", "a/a_test.go", src, ""},
	})
	checkLaw(t, func(files []goFile) []string { return unbounded(files, exceptions{"may": "why"}) }, []lawCase{
		{"one that may", "may/a.go", src, ""},
		{"one of a name that begins alike", "maybe/a.go", src, "maybe/a.go:3: what has no end"},
	})
}
