package laws_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPackageComments(t *testing.T) {
	tests, err := goFiles(os.DirFS("test"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("%d Go files in the module test: %v", len(tests), err)
	}
	for _, problem := range append(checkPackageComments(repository(t)), checkPackageComments(tests)...) {
		t.Error(problem)
	}
}

// checkPackageComments wants exactly one package comment in each package but that of the top folder, also where a
// package has tests only: go doc does not read these. Two comments it shows one after the other, in the order of
// file names.
func checkPackageComments(files []goFile) []string {
	var dirs []string // in the order of the files
	commented := map[string][]string{}
	for _, f := range files {
		if f.dir() == "." {
			continue
		}
		if _, ok := commented[f.dir()]; !ok {
			dirs = append(dirs, f.dir())
			commented[f.dir()] = nil
		}
		if !f.isTest() && f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != "" {
			commented[f.dir()] = append(commented[f.dir()], f.path)
		}
	}
	var problems []string
	for _, dir := range dirs {
		switch in := commented[dir]; len(in) {
		case 0:
			problems = append(problems, dir+" has no package comment. Remedy: say in one file that is no test, above the package clause, "+
				"what the package is for and what guards what")
		case 1:
		default:
			problems = append(problems, dir+" has several package comments, in "+strings.Join(in, " and ")+
				". Remedy: keep one; leave an empty line between other remarks and the package clause")
		}
	}
	return problems
}

func TestPackageCommentsChecker(t *testing.T) {
	files, err := goFiles(fstest.MapFS{
		"good/a.go":       {Data: []byte("// Package good is documented.\npackage good\n")},
		"good/b.go":       {Data: []byte("// A remark.\n\npackage good\n")},
		"none/a.go":       {Data: []byte("package none\n")},
		"none/a_test.go":  {Data: []byte("// Package none tests.\npackage none\n")},
		"two/a.go":        {Data: []byte("// Package two is this.\npackage two\n")},
		"two/b.go":        {Data: []byte("// Package two is that.\npackage two\n")},
		"tests/a_test.go": {Data: []byte("// Package tests is not shown by go doc.\npackage tests\n")},
		"doc/doc.go":      {Data: []byte("// Package doc has tests only.\npackage doc\n")},
		"doc/a_test.go":   {Data: []byte("package doc\n")},
		"a_test.go":       {Data: []byte("package top_test\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	problems := checkPackageComments(files)
	if len(problems) != 3 ||
		!strings.HasPrefix(problems[0], "none has no package comment") ||
		!strings.HasPrefix(problems[1], "tests has no package comment") ||
		!strings.HasPrefix(problems[2], "two has several package comments, in two/a.go and two/b.go") {
		t.Errorf("got %q", problems)
	}
}
