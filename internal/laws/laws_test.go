package laws_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// rules is a set of import laws. Lists of packages are written in one string, separated by spaces, so that the
// table reads like the design.
type rules struct {
	layers   []layer
	only     []importers
	testLibs string // libraries that any test file may import, those of stdlib-only packages included
	badNames string // package names that say nothing
}

// layer is a package with its subfolders (unless those have a row of their own).
type layer struct {
	pkg   string
	on    string // the layers that its code stands on directly
	tests string // the layers that its test files stand on besides
	libs  libs
	why   string
	fix   string
}

type libs int

const (
	anyLib libs = iota
	stdlibOnly
)

// importers names the only packages (with their subfolders) that may import path directly.
type importers struct {
	path, by, why string
}

// goFile is a parsed Go file; path is relative to the module and uses slashes.
type goFile struct {
	path string
	fset *token.FileSet
	ast  *ast.File
	src  []byte
}

func (f goFile) dir() string  { return path.Dir(f.path) }
func (f goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f goFile) generated() bool { return ast.IsGenerated(f.ast) }

// goFiles parses the Go files of a module, leaving out what the go command leaves out: testdata, vendor, folders that
// begin with a dot or an underscore, and folders that are modules of their own.
func goFiles(fsys fs.FS) ([]goFile, error) {
	var files []goFile
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && skipDir(fsys, name) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, goFile{path: name, fset: fset, ast: file, src: src})
		return nil
	})
	return files, err
}

func skipDir(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

// check returns one sentence or two for each violation, in the order of the files.
func (r rules) check(files []goFile) []string {
	var problems []string
	for _, f := range files {
		report := func(node ast.Node, format string, args ...any) {
			at := f.fset.Position(node.Pos())
			problems = append(problems, fmt.Sprintf("%s:%d: ", f.path, at.Line)+fmt.Sprintf(format, args...))
		}
		r.checkPlace(f, report)
		for _, spec := range f.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				report(spec, "import path %s: %v", spec.Path.Value, err)
				continue
			}
			r.checkOnly(f, spec, imported, report)
			r.checkLayer(f, spec, imported, report)
		}
	}
	return problems
}

type reporter func(node ast.Node, format string, args ...any)

// checkPlace looks at where a file is, what its package is called, and whether it has an init function.
func (r rules) checkPlace(f goFile, report reporter) {
	name := strings.TrimSuffix(f.ast.Name.Name, "_test")
	if slices.Contains(strings.Fields(r.badNames), name) {
		report(f.ast.Name, "package %s: the name does not say what the package provides. "+
			"Remedy: name it after the thing, or move the code to where it is used", name)
	}
	if f.dir() == "runtime" {
		report(f.ast.Name, "runtime/ is a folder, not a package. Remedy: put the file into one of its packages, see runtime/README.md")
	}
	if f.dir() == "." && !f.isTest() {
		report(f.ast.Name, "the top folder holds tests only. Remedy: put the file into a package below abi, runtime, hostplugins or cmd")
	}
	if _, ok := r.layerOf(f.dir()); !ok && f.dir() != "runtime" {
		report(f.ast.Name, "%s is in no layer. Remedy: give it a row in layers_test.go that says what it stands on", f.dir())
	}
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			report(fn, "init function: it runs for everybody who imports the package, in no order they choose. "+
				"Remedy: build the value in a constructor, New(Config, Deps)")
		}
	}
}

// checkOnly holds imports against the list of packages that few may import.
func (r rules) checkOnly(f goFile, spec ast.Node, imported string, report reporter) {
	for _, rule := range r.only {
		if !within(imported, rule.path) || module+"/"+f.dir() == rule.path || within(module+"/"+f.dir(), rule.path) {
			continue
		}
		if f.dir() == "." && within(rule.path, module) { // tests at the top may look at everything of ours
			continue
		}
		allowed := slices.ContainsFunc(strings.Fields(rule.by), func(by string) bool { return within(f.dir(), by) })
		switch {
		case allowed:
		case rule.by == "":
			report(spec, "imports %s, which nothing here may: %s", imported, rule.why)
		default:
			report(spec, "imports %s, which only %s may: %s. Remedy: go through %s, or take an interface",
				imported, strings.Join(strings.Fields(rule.by), " and "), rule.why, strings.Fields(rule.by)[0])
		}
	}
}

// checkLayer holds an import against the order of layers.
func (r rules) checkLayer(f goFile, spec ast.Node, imported string, report reporter) {
	from, ok := r.layerOf(f.dir())
	if !ok {
		return // reported by checkPlace
	}
	if f.isTest() && withinAny(imported, r.testLibs) {
		return
	}
	if !within(imported, module) {
		if from.libs == stdlibOnly && !isStdlib(imported) {
			report(spec, "%s imports %s, but may import the standard library only: %s. Remedy: %s", from.pkg, imported, from.why, from.fix)
		}
		return
	}
	target := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	to, ok := r.layerOf(target)
	if !ok {
		report(spec, "imports %s, which is in no layer. Remedy: give it a row in layers_test.go", target)
		return
	}
	switch {
	case r.mayImport(f.dir(), from.pkg, to.pkg), f.isTest() && r.testsMayImport(from, to.pkg):
	case f.isTest():
		report(spec, "a test of %s imports %s, which is neither below it nor among what its tests stand on: %s. "+
			"Remedy: test it in the package above, or add it to the tests of the row in layers_test.go", from.pkg, target, from.why)
	default:
		report(spec, "%s imports %s, which is not below it: %s. Remedy: %s", from.pkg, target, from.why, from.fix)
	}
}

// mayImport tells whether code in dir, which belongs to the layer from, may import the layer to.
func (r rules) mayImport(dir, from, to string) bool {
	if from == to || to == "runtime/internal" && within(dir, "runtime") {
		return true
	}
	return slices.Contains(r.below(from), to)
}

// testsMayImport tells whether test files of the layer from may import the layer to, besides what its code may.
func (r rules) testsMayImport(from layer, to string) bool {
	return slices.ContainsFunc(strings.Fields(from.tests), func(on string) bool { return on == to || slices.Contains(r.below(on), to) })
}

// loose returns a sentence for each entry of a row that no import asks for.
func (r rules) loose(files []goFile) []string {
	type edge struct {
		from, to string
		test     bool
	}
	edges := map[edge]bool{}
	for _, f := range files {
		from, _ := r.layerOf(f.dir())
		for _, spec := range f.ast.Imports {
			if imported, err := strconv.Unquote(spec.Path.Value); err == nil && within(imported, module) {
				to, _ := r.layerOf(strings.TrimPrefix(strings.TrimPrefix(imported, module), "/"))
				edges[edge{from.pkg, to.pkg, f.isTest()}] = true
			}
		}
	}
	var problems []string
	for _, l := range r.layers {
		for on := range strings.FieldsSeq(l.on) {
			if !edges[edge{l.pkg, on, false}] {
				problems = append(problems, fmt.Sprintf("%s: its code imports nothing of %s. Remedy: let the row in layers_test.go name what it does import", l.pkg, on))
			}
		}
		for on := range strings.FieldsSeq(l.tests) {
			if !edges[edge{l.pkg, on, true}] {
				problems = append(problems, fmt.Sprintf("%s: its tests import nothing of %s. Remedy: let the row in layers_test.go name what they do import", l.pkg, on))
			}
		}
	}
	return problems
}

// below returns every layer that the code of the layer pkg stands on, directly or not.
func (r rules) below(pkg string) []string {
	var all []string
	for _, l := range r.layers {
		if l.pkg != pkg {
			continue
		}
		for _, on := range strings.Fields(l.on) {
			all = append(all, on)
			all = append(all, r.below(on)...)
		}
	}
	return all
}

// layerOf returns the layer that dir belongs to: the row with the longest path that holds it.
func (r rules) layerOf(dir string) (layer, bool) {
	var best layer
	found := false
	for _, l := range r.layers {
		if within(dir, l.pkg) && (!found || len(l.pkg) > len(best.pkg)) {
			best, found = l, true
		}
	}
	return best, found
}

// within tells whether the path p is root or below it. The root "." holds only itself.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func withinAny(p, roots string) bool {
	return slices.ContainsFunc(strings.Fields(roots), func(root string) bool { return within(p, root) })
}

// isStdlib uses the rule of the go command: the first element of every other path has a dot.
func isStdlib(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
