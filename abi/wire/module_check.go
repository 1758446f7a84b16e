package wire

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// CheckError is one way in which a module violates the ABI or its manifest.
type CheckError struct {
	// Module is the name passed to Check, usually a path.
	Module string
	// What is "export", "import", "memory" or "section"; Name is its name.
	What, Name string
	// Detail says what is wrong, with the expected signature. Fix says what to do; it may be
	// empty.
	Detail, Fix string
	// Rule is the sentence of SPEC.md, such as ABI-5.1.
	Rule string
}

// Error returns `module: export "berth_filter": detail; fix (rule)`.
func (e *CheckError) Error() string {
	out := e.Module
	if out != "" {
		out += ": "
	}
	out += e.What
	if e.Name != "" {
		out += " " + quoted(e.Name)
	}
	out += ": " + e.Detail
	if e.Fix != "" {
		out += "; " + e.Fix
	}
	return out + " (" + e.Rule + ")"
}

// ReadManifest reads and validates the manifest in the module's custom section (ABI-1.5). name
// is for errors, as in Check.
func ReadManifest(m *Module, name string) (*Manifest, error) {
	found := m.Custom(abi.ManifestSection)
	if len(found) != 1 {
		e := &CheckError{Module: name, What: "section", Name: abi.ManifestSection, Rule: "ABI-1.5"}
		e.Detail, e.Fix = "the module has no manifest", "add manifest.json with berth plugin build"
		if _, command := m.Export("_start"); command {
			e.Detail += ", and it is a command, which nobody calls"
			e.Fix += ", or build a reactor (Go: -buildmode=c-shared, clang: -mexec-model=reactor) and add it"
		}
		if len(found) > 1 {
			e.Detail, e.Fix = strconv.Itoa(len(found))+" manifests, expected one", "remove all but one"
		}
		return nil, e
	}
	man, err := DecodeManifest(found[0])
	if err != nil {
		return nil, err
	}
	return man, man.Validate()
}

// Check checks a module against the ABI and its manifest (ABI-1, ABI-5, ABI-9.3, ABI-9.6). name
// is for errors.
//
// # Errors
//
// The first 32 mistakes, joined and sorted, and how many more there are. Each is a *CheckError.
func Check(m *Module, man *Manifest, name string) error {
	c := &checker{m: m, man: man, name: name}
	c.memory()
	c.tables()
	c.exports()
	c.imports()
	return c.join(func(a, b *CheckError) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Detail, b.Detail))
	})
}

type checker struct {
	m    *Module
	man  *Manifest
	name string
	mistakes[*CheckError]
}

func (c *checker) add(what, name, detail, fix, rule string) {
	c.keep(&CheckError{Module: c.name, What: what, Name: name, Detail: detail, Fix: fix, Rule: rule})
}

// memory requires one memory that the module defines and exports (ABI-1.2).
func (c *checker) memory() {
	const rule = "ABI-1.2"
	switch n := len(c.m.Memories); {
	case n == 0:
		c.add("memory", "", "none is defined, expected 1", "define a memory and export it as "+abi.ExportMemory, rule)
	case n > 1:
		c.add("memory", "", strconv.Itoa(n)+" memories are defined, expected 1", "compile without multiple memories", rule)
	}
	e, ok := c.m.Export(abi.ExportMemory)
	switch {
	case !ok:
		c.add("export", abi.ExportMemory, "the memory is not exported", "export it under this name (wasm-ld does by default)", rule)
	case e.Kind != KindMemory:
		c.add("export", abi.ExportMemory, "expected a memory, found a "+e.Kind.String(), "export the memory under this name", rule)
	}
}

// tables bounds how much of the host's memory tables use before a guest runs (ABI-10).
func (c *checker) tables() {
	const rule = "ABI-10"
	if n := len(c.m.Tables); n > abi.MaxTables {
		c.add("table", "", strconv.Itoa(n)+" tables are defined, at most "+strconv.Itoa(abi.MaxTables)+" are allowed", "", rule)
	}
	for i := range c.m.Tables {
		if n := c.m.Tables[i].Min; n > abi.MaxTableElements {
			c.add("table", strconv.Itoa(i), strconv.FormatUint(uint64(n), 10)+" elements at start, at most "+strconv.Itoa(abi.MaxTableElements)+" are allowed",
				"make the table smaller", rule)
		}
	}
}

func (c *checker) exports() {
	required, optional := otherExports()
	points := pointExports()
	for _, f := range required {
		c.function(f, true, "ABI-1.3", "link the SDK into the module")
	}
	for _, f := range optional {
		needed := f.name == abi.ExportConfigure && len(c.man.Reads.FromConfig) > 0
		rule := cmp.Or(map[bool]string{true: "ABI-9.15"}[needed], "ABI-5.1")
		c.function(f, needed, rule, "export it: it gets the names that the configuration brings")
	}
	for _, f := range points {
		declared := c.man.Points.Get(f.point) != nil
		c.function(f, declared, "ABI-9.3", "export it, or remove points."+PointName(f.point)+" from the manifest")
		if _, there := c.m.Export(f.name); there && !declared {
			c.add("export", f.name, "the manifest does not declare the point "+PointName(f.point), "add points."+PointName(f.point)+", or remove the export", "ABI-9.3")
		}
	}
	known := slices.Concat(functionNames(required), functionNames(optional), functionNames(points))
	for _, e := range c.m.Exports {
		if strings.HasPrefix(e.Name, abi.ExportPrefix) && !slices.Contains(known, e.Name) {
			c.add("export", e.Name, "ABI "+strconv.Itoa(abi.Major)+"."+strconv.Itoa(abi.Minor)+" has no such function", c.suggest(e.Name, known), "ABI-1.3")
		}
	}
}

// function checks an exported function if it exists or is required.
func (c *checker) function(f namedFunc, must bool, rule, fix string) {
	e, ok := c.m.Export(f.name)
	switch {
	case !ok && must:
		c.add("export", f.name, "it is missing, expected function "+f.typ.String(), fix, rule)
	case !ok:
	case e.Kind != KindFunc:
		c.add("export", f.name, "it is a "+e.Kind.String()+", expected function "+f.typ.String(), "", "ABI-5.1")
	case uint64(e.Index) < uint64(c.m.Imported(KindFunc)):
		c.add("export", f.name, "it is re-exported from an import, which needs the memory of a calling module", "export a function that calls it", "ABI-5.1")
	default:
		if t, _ := c.m.FuncType(e.Index); !t.Equal(f.typ) {
			c.add("export", f.name, "the signature is "+t.String()+", expected "+f.typ.String(), "", "ABI-5.1")
		}
	}
}

func (c *checker) imports() {
	used := map[string]bool{}
	host, wasi := hostFunctions(), wasiFunctions()
	for i := range c.m.Imports {
		imp := &c.m.Imports[i]
		full := imp.Module + "." + imp.Name
		if imp.Kind != KindFunc {
			c.add("import", full, "a "+imp.Kind.String()+" is imported", "define it in the module, only functions can be imported", "ABI-1.2")
			continue
		}
		var known []namedFunc
		switch imp.Module {
		case abi.HostModule:
			known = host
			used[imp.Name] = true
			if !slices.Contains(c.man.Host, imp.Name) && slices.Contains(hostFunctionNames(), imp.Name) {
				c.add("import", full, "the manifest does not declare the host function", "add "+strconv.Quote(imp.Name)+" to host", "ABI-9.6")
			}
		case abi.WASIModule:
			known = wasi
		default:
			c.add("import", full, "the host has no module "+quoted(imp.Module), "import from "+abi.HostModule+" or "+abi.WASIModule+" only", "ABI-1.4")
			continue
		}
		c.imported(imp, full, known)
	}
	for _, name := range c.man.Host {
		if f, ok := HostFunction(name); ok && !used[name] {
			c.add("import", abi.HostModule+"."+name, "the manifest declares the host function, but the module does not import it",
				"remove it from host, or import "+f.String(), "ABI-9.6")
		}
	}
}

// imported checks a function against those of its module.
func (c *checker) imported(imp *Import, full string, known []namedFunc) {
	at := slices.IndexFunc(known, func(f namedFunc) bool { return f.name == imp.Name })
	if at < 0 {
		c.add("import", full, "module "+imp.Module+" has no such function", c.suggest(imp.Name, functionNames(known)), "ABI-1.4")
		return
	}
	if t, _ := c.m.typeOf(imp.Type); !t.Equal(known[at].typ) {
		c.add("import", full, "the signature is "+t.String()+", expected "+known[at].typ.String(), "", "ABI-1.4")
	}
}
