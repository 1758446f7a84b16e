package laws_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNamedTestsExist: go test passes where -run matches nothing, so each test that the Makefile, .ci or a test of ours
// names to go test is there.
func TestNamedTestsExist(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"Makefile", ".ci/*", "test/market/*_test.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		paths = append(paths, found...)
	}
	tests := testFunctions(allModules(t))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range unknownTests(path, string(text), tests) {
			t.Error(problem)
		}
	}
}

// testFunctions returns the names of all tests and fuzz targets in files.
func testFunctions(files []goFile) []string {
	var names []string
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.isTest() && fn.Recv == nil {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// named finds the beginning of a test's name, perhaps with alternatives: TestRest(Points|ReferenceWorkload).
var named = regexp.MustCompile(`\b(Test[A-Z]\w*)(?:\(([\w|]+)\))?`)

// unknownTests returns a sentence for each name in the text that no test of tests begins with.
func unknownTests(path, text string, tests []string) []string {
	var problems []string
	for i, line := range strings.Split(text, "\n") {
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			for alternative := range strings.SplitSeq(m[2], "|") {
				name := m[1] + alternative
				if !slices.ContainsFunc(tests, func(test string) bool { return strings.HasPrefix(test, name) }) {
					problems = append(problems, fmt.Sprintf("%s:%d: no test begins with %s. Remedy: name one that is there", path, i+1, name))
				}
			}
		}
	}
	return problems
}

func TestUnknownTestsChecker(t *testing.T) {
	tests := []string{"TestRestPoints", "TestRestCsv", "TestSwap"}
	for text, want := range map[string]int{
		"-run '^TestSwap$$'":                          0,
		"-run '^TestRest(Points|Csv)$$/^rust'":        0,
		"-run '^TestRestC|^TestRest(Points|Cells)$$'": 1,
		"make test\ngo test -run ^TestStory$":         1,
	} {
		if got := unknownTests("Makefile", text, tests); len(got) != want {
			t.Errorf("%s: %q, want %d", text, got, want)
		}
	}
}
