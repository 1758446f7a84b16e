package berth_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestPackageComments(t *testing.T) {
	for _, problem := range checkPackageComments(repository(t)) {
		t.Error(problem)
	}
}

// checkPackageComments wants exactly one package comment in each package that has more than tests. Two comments
// are shown one after the other by go doc, in the order of file names.
func checkPackageComments(files []goFile) []string {
	var dirs []string // in the order of the files
	commented := map[string][]string{}
	for _, f := range files {
		if f.isTest() {
			continue
		}
		if _, ok := commented[f.dir()]; !ok {
			dirs = append(dirs, f.dir())
			commented[f.dir()] = nil
		}
		if f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != "" {
			commented[f.dir()] = append(commented[f.dir()], f.path)
		}
	}
	var problems []string
	for _, dir := range dirs {
		switch in := commented[dir]; len(in) {
		case 0:
			problems = append(problems, dir+" has no package comment. Remedy: say in one file, above the package clause, "+
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
		"tests/a_test.go": {Data: []byte("package tests\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	problems := checkPackageComments(files)
	if len(problems) != 2 ||
		!strings.HasPrefix(problems[0], "none has no package comment") ||
		!strings.HasPrefix(problems[1], "two has several package comments, in two/a.go and two/b.go") {
		t.Errorf("got %q", problems)
	}
}
