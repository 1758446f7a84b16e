package berth_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
)

// noImports has no packages: the types of what is declared in a package are enough.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// packages returns the folders below some that have Go files. Those of test data are left out.
func packages(t *testing.T, roots ...string) (dirs []string) {
	t.Helper()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if filepath.Ext(path) == ".go" && !slices.Contains(dirs, filepath.Dir(path)) {
				dirs = append(dirs, filepath.Dir(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// TestNotFused: a compiler may compute x*y + z with one rounding, and Go's does on arm64. Decisions must be
// the same everywhere, so a product of floats that is added is converted, which the language says rounds.
func TestNotFused(t *testing.T) {
	products := 0
	for _, dir := range packages(t, "hostplugins", "runtime", "internal", "abi") {
		files := token.NewFileSet()
		packages, err := parser.ParseDir(files, dir, nil, 0) //nolint:staticcheck // build tags do not matter here
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packages {
			var list []*ast.File
			for _, f := range p.Files {
				list = append(list, f)
			}
			info := types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
			config := types.Config{Importer: noImports{}, Error: func(error) {}}
			_, _ = config.Check(dir, files, list, &info) // what is imported is unknown, and an error
			float := func(e ast.Expr) bool {
				b, ok := info.Types[e].Type.(*types.Basic)
				return ok && b.Info()&types.IsFloat != 0
			}
			check := func(e ast.Expr) {
				for {
					in, ok := e.(*ast.ParenExpr)
					if !ok {
						break
					}
					e = in.X
				}
				if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.MUL && (float(b.X) || float(b.Y)) {
					t.Errorf("%s: a product of floats is added. Remedy: write float64(x*y), so that no compiler fuses them", files.Position(b.Pos()))
				}
			}
			for _, f := range list {
				ast.Inspect(f, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.BinaryExpr:
						if n.Op == token.MUL && (float(n.X) || float(n.Y)) {
							products++
						}
						if n.Op == token.ADD || n.Op == token.SUB {
							check(n.X)
							check(n.Y)
						}
					case *ast.AssignStmt:
						if n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN {
							check(n.Rhs[0])
						}
					}
					return true
				})
			}
		}
	}
	if products < 3 {
		t.Errorf("only %d products of floats were found", products)
	}
}
