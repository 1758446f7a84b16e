package app

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/internal/bounded"
)

// What a plugin asks of its machine in vain, and what it should read.
const (
	vainClock = "a plugin's clock tells nothing (ABI-1.4): list now in reads.pod of the manifest, and take the time from the pod"
	vainDraw  = "each instance draws its own random numbers, so answers differ (ABI-2.8): take the snapshot's seed, at points of scope cluster, " +
		"or a number that follows from texts"
	vainWait = "a call must not wait: permit lets a pod wait, and retryAfter has it tried again later"
	// vainFiles is told with the place, so that the module's imports need not tell it.
	vainFiles = "a plugin has no files, no network and no environment, so this always fails: the configuration brings what it needs"
	vainPrint = "a plugin has no output, so this is lost: log writes to the scheduler's log"
)

// vain returns a line for each place where a plugin's own sources ask for the time or for random numbers, or wait. A module does not
// show it: Go's runtime always imports a clock.
func vain(ctx context.Context, dir string) []string {
	switch languageOf(dir) {
	case "go":
		return vainInGo(ctx, guestFolder(dir))
	case "rust":
		return vainIn(dir, "src", ".rs", map[string]*regexp.Regexp{
			vainClock: regexp.MustCompile(`\b(?:SystemTime|Instant)::now\b`),
			vainDraw:  regexp.MustCompile(`\bthread_rng\b|\brand::(?:random|rng)\b`),
			vainWait:  regexp.MustCompile(`\bthread::sleep\b`),
			vainFiles: regexp.MustCompile(`\b(?:std::)?fs::(?:read|write|read_to_string|read_dir|File)\b|\bFile::(?:open|create)\b|\bstd::env::\w+\b|\bstd::net::\w+\b`),
			vainPrint: regexp.MustCompile(`\be?print(?:ln)?!|\bdbg!`),
		})
	case "assemblyscript":
		return vainIn(dir, "assembly", ".ts", map[string]*regexp.Regexp{
			vainClock: regexp.MustCompile(`\bDate\.now\b|\bperformance\.now\b`), vainDraw: regexp.MustCompile(`\bMathf?\.random\b`),
		})
	}
	return nil
}

// vainIn looks for patterns in the files of a folder, without comments that begin in their line.
func vainIn(dir, sources, ext string, patterns map[string]*regexp.Regexp) (out []string) {
	_ = filepath.WalkDir(filepath.Join(dir, sources), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ext {
			return nil //nolint:nilerr // advice only
		}
		text, err := bounded.Regular(path, 1<<20)
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		for i, line := range strings.Split(string(text), "\n") {
			line, _, _ = strings.Cut(line, "//")
			for _, why := range []string{vainClock, vainDraw, vainWait, vainFiles, vainPrint} {
				if p := patterns[why]; p != nil {
					if found := p.FindString(line); found != "" {
						out = append(out, fmt.Sprintf("%s:%d: %s: %s", path, i+1, found, why))
					}
				}
			}
		}
		return nil
	})
	return out
}

// vainInGo looks through the packages of the plugin's module that the guest has.
func vainInGo(ctx context.Context, dir string) (out []string) {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return nil
	}
	const files = `{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`
	list, err := goCommand(ctx, compiler, dir, "list", "-deps", "-f", files, ".").Output()
	if err != nil {
		return nil
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	for path := range bytes.Lines(bytes.TrimSpace(list)) {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, strings.TrimSpace(string(path)), nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		imported := imports(f)
		ast.Inspect(f, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok {
				if why := vainOf(imported[pkg.Name], selector.Sel.Name); why != "" {
					at := set.Position(selector.Pos())
					name := at.Filename
					if near, err := filepath.Rel(whole, name); err == nil {
						name = filepath.Join(dir, near)
					}
					out = append(out, fmt.Sprintf("%s:%d: %s.%s: %s", name, at.Line, pkg.Name, selector.Sel.Name, why))
				}
			}
			return true
		})
	}
	return out
}

// imports returns the paths of a file's imports by their names in it.
func imports(f *ast.File) map[string]string {
	paths := map[string]string{}
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := filepath.Base(strings.TrimSuffix(path, "/v2"))
		if i.Name != nil {
			name = i.Name.Name
		}
		paths[name] = path
	}
	return paths
}

// vainOf returns what is wrong with a function of Go's library; empty for nothing.
func vainOf(path, function string) string {
	switch path {
	case "time":
		switch function {
		case "Now", "Since", "Until":
			return vainClock
		case "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker":
			return vainWait
		}
	case "math/rand", "math/rand/v2":
		switch function {
		case "Int", "IntN", "Intn", "Int31", "Int31n", "Int32", "Int32N", "Int63", "Int63n", "Int64", "Int64N",
			"Uint", "UintN", "Uint32", "Uint32N", "Uint64", "Uint64N",
			"N", "Float32", "Float64", "NormFloat64", "ExpFloat64", "Perm", "Shuffle", "Read":
			return vainDraw
		}
	case "crypto/rand":
		return vainDraw
	case "os":
		switch function {
		case "Open", "OpenFile", "Create", "ReadFile", "WriteFile", "ReadDir", "Stat", "Getenv", "LookupEnv", "Environ":
			return vainFiles
		}
	case "net":
		if strings.HasPrefix(function, "Dial") || strings.HasPrefix(function, "Listen") || strings.HasPrefix(function, "Lookup") {
			return vainFiles
		}
	case "net/http":
		switch function {
		case "Get", "Post", "Head", "PostForm", "NewRequest", "NewRequestWithContext", "DefaultClient", "Client":
			return vainFiles
		}
	}
	return ""
}
