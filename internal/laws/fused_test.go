package laws_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listedPackage is what `go list -json` prints of a package. Export is the file with the types that it exports.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// listed returns the packages that patterns match, and all that they import.
func listed(t *testing.T, patterns ...string) (all []listedPackage) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		switch err := in.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// products returns the products of floats in files of a package that a compiler may fuse with a sum, and the number of
// all products of floats. A conversion rounds, whatever becomes of its result. So a product must be converted, unless it
// is multiplied, divided or compared at once; a sum may be anywhere, even in a function that is inlined.
func products(path string, fset *token.FileSet, files []*ast.File, imports types.Importer) (fused []token.Pos, all int, err error) {
	info := types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
	config := types.Config{Importer: imports}
	if _, err := config.Check(path, fset, files, &info); err != nil {
		return nil, 0, err
	}
	float := func(e ast.Expr) bool {
		of := info.Types[e]
		if of.Value != nil { // a constant
			return false
		}
		b, ok := of.Type.Underlying().(*types.Basic)
		return ok && b.Info()&types.IsFloat != 0
	}
	// rounds reports whether a product of which a node is made cannot be fused.
	rounds := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return info.Types[n.Fun].IsType()
		case *ast.BinaryExpr:
			switch n.Op {
			case token.MUL, token.QUO, token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
				return true
			}
		}
		return false
	}
	for _, file := range files {
		var above []ast.Node // without parentheses
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case nil:
				above = above[:len(above)-1]
				return true
			case *ast.BinaryExpr:
				if x.Op == token.MUL && float(x) {
					all++
					if !rounds(above[len(above)-1]) {
						fused = append(fused, x.Pos())
					}
				}
			case *ast.AssignStmt:
				if x.Tok == token.MUL_ASSIGN && float(x.Lhs[0]) {
					all++
					fused = append(fused, x.Pos())
				}
			case *ast.ParenExpr:
				n = above[len(above)-1]
			}
			above = append(above, n)
			return true
		})
	}
	return fused, all, nil
}

// TestNotFused: a compiler may compute x*y + z with one rounding, in one statement or in several, and Go's does on
// arm64. Decisions must be the same everywhere. It checks the types of all packages.
func TestNotFused(t *testing.T) {
	packages, exports := listed(t, "./hostplugins/...", "./runtime/...", "./internal/...", "./abi/..."), make(map[string]string)
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset, found := token.NewFileSet(), 0
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range packages {
		if p.DepOnly {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		fused, all, err := products(p.ImportPath, fset, files, imports)
		if err != nil {
			t.Fatal(err)
		}
		found += all
		for _, at := range fused {
			t.Errorf("%s: a product of floats is not rounded. Remedy: write float64(x*y), so that no compiler fuses it with a sum", fset.Position(at))
		}
	}
	if found < 20 {
		t.Errorf("only %d products of floats were found", found)
	}
}

// TestFindsFused: products that may be fused are found, however they reach a sum.
func TestFindsFused(t *testing.T) {
	for body, want := range map[string]int{
		"return x*y + z":                           1,
		"return z - (x * y)":                       1,
		"return -(x * y) + z":                      1,
		"p := x * y; return p + z":                 1,
		"z += x * y; return z":                     1,
		"x *= y; return x + z":                     1,
		"return sum(x*y, z)":                       1,
		"return x * y":                             1, // the caller may add it
		"return float64(own(x) * own(y) + own(z))": 1,
		"return x * y * z":                         1, // not two
		"return float64(own(x) * own(y) * own(z))": 0,
		"return float64(own(x)*own(y)) + z":        0,
		"return float64((x * y)) + z":              0,
		"return (x*y)/z + 1":                       0,
		"if x*y < z { return x }; return z":        0,
		"return float64(int64(x*y) * 3)":           0,
		"const c = 1.5 * 2; return c + z":          0,
	} {
		fset := token.NewFileSet()
		text := fmt.Sprintf("package p\ntype own float64\nfunc sum(a, b float64) float64 { return a + b }\nfunc f(x, y, z float64) float64 { %s }", body)
		file, err := parser.ParseFile(fset, "p.go", strings.NewReader(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		fused, _, err := products("p", fset, []*ast.File{file}, nil)
		if err != nil || len(fused) != want {
			t.Errorf("%s: %d found, want %d, %v", body, len(fused), want, err)
		}
	}
}
