package laws_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestDrawsHaveSeeds: no test draws what the next run of it does not.
func TestDrawsHaveSeeds(t *testing.T) {
	for _, problem := range unseeded(allModules(t)) {
		t.Error(problem)
	}
}

// randTypes are the types of math/rand, which draw nothing themselves.
var randTypes = []string{"Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}

// unseeded returns a sentence for each call, in a test, of rapid's own checks and of the functions of math/rand that have
// no seed.
func unseeded(files []goFile) []string {
	var problems []string
	for _, f := range files {
		if !f.isTest() {
			continue
		}
		draws := make(map[string]func(name string) bool)
		draws[importedAs(f, "pgregory.net/rapid")] = func(name string) bool { return name == "Check" || name == "MakeCheck" }
		for _, pkg := range []string{"math/rand", "math/rand/v2"} {
			draws[importedAs(f, pkg)] = func(name string) bool { return !strings.HasPrefix(name, "New") && !slices.Contains(randTypes, name) }
		}
		delete(draws, "")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && draws[x.Name] != nil && draws[x.Name](s.Sel.Name) {
				problems = append(problems, problem{f, n, x.Name + "." + s.Sel.Name + " draws with another seed each time, so that a failure " +
					"comes by chance. Remedy: seeded.Check or seeded.Rand of internal/seeded"}.String())
			}
			return true
		})
	}
	return problems
}

func TestUnseededChecker(t *testing.T) {
	const rapid = `"pgregory.net/rapid"`
	checkLaw(t, unseeded, []lawCase{
		{"rapid's check", "a/a_test.go", "package a\nimport " + rapid + "\nvar x = rapid.Check\n", "a/a_test.go:3: rapid.Check"},
		{"rapid's other check", "a/a_test.go", "package a\nimport " + rapid + "\nvar x = rapid.MakeCheck(nil)\n", "Remedy: seeded.Check"},
		{"numbers without a seed", "a/a_test.go", "package a\nimport \"math/rand/v2\"\nvar x = rand.IntN(3)\n", "seeded.Rand"},
		{"numbers of the older package", "a/a_test.go", "package a\nimport \"math/rand\"\nvar x = rand.Perm(3)\n", "rand.Perm"},
		{"numbers with a seed", "a/a_test.go", "package a\nimport \"math/rand/v2\"\nvar x *rand.Rand = rand.New(rand.NewPCG(1, 1))\n", ""},
		{"another name", "a/a_test.go", "package a\nimport r " + rapid + "\nfunc f() { r.Check(nil, nil) }\n", "r.Check"},
		{"only its types", "a/a_test.go", "package a\nimport " + rapid + "\nvar x *rapid.T\n", ""},
		{"ours", "a/a_test.go", "package a\nimport \"" + module + "/internal/seeded\"\nvar x = seeded.Check\n", ""},
		{"outside of tests", "a/a.go", "package a\nimport " + rapid + "\nvar x = rapid.Check\n", ""},
	})
}
