package laws_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestDocs(t *testing.T) {
	fsys := os.DirFS(".")
	problems, err := checkLinks(fsys)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := checkMakeTargets(fsys, "README.md", "CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range append(problems, targets...) {
		t.Error(problem)
	}
}

var (
	inlineLink    = regexp.MustCompile(`\]\(\s*<?([^)>\s]+)>?[^)]*\)`)
	referenceLink = regexp.MustCompile(`(?m)^\s{0,3}\[[^\]]+\]:\s*<?([^>\s]+)`)
	codeFence     = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```[^\n]*$")
	codeSpan      = regexp.MustCompile("`[^`\n]+`")
	shellComment  = regexp.MustCompile(`(?m)(?:^|\s)#.*$`)
	makeCommand   = regexp.MustCompile(`(?m)(?:^|[\x60;&$(]|\s)make((?:[ \t]+[A-Za-z][\w.=/-]*)+)`)
	heading       = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	headingLink   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInAnchor   = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	makeRule      = regexp.MustCompile(`(?m)^([A-Za-z][\w.-]*(?: [A-Za-z][\w.-]*)*):(?:[^=]|$)`)
)

// checkLinks wants the target of every relative link in a Markdown file to exist, and its heading. Links to other sites
// are not looked at.
func checkLinks(fsys fs.FS) ([]string, error) {
	var problems []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		text := codeSpan.ReplaceAllString(codeFence.ReplaceAllString(string(src), ""), "")
		for _, link := range append(inlineLink.FindAllStringSubmatch(text, -1), referenceLink.FindAllStringSubmatch(text, -1)...) {
			if !linkExists(fsys, name, link[1]) {
				problems = append(problems, name+" links to "+link[1]+", which does not exist. Remedy: links are relative to the page they are on")
			}
		}
		return nil
	})
	return problems, err
}

func linkExists(fsys fs.FS, page, link string) bool {
	target, err := url.Parse(link)
	if err != nil {
		return false
	}
	if target.Scheme != "" || target.Host != "" {
		return true
	}
	if strings.HasPrefix(target.Path, "/") {
		return false
	}
	if target.Path != "" {
		page = path.Join(path.Dir(page), target.Path)
	}
	if _, err := fs.Stat(fsys, page); err != nil || target.Fragment == "" || path.Ext(page) != ".md" {
		return err == nil
	}
	text, err := fs.ReadFile(fsys, page)
	return err == nil && slices.Contains(anchors(string(text)), target.Fragment)
}

// anchors are those of the headings of a page, as GitHub makes them.
func anchors(page string) (all []string) {
	seen := map[string]int{}
	for _, heading := range heading.FindAllStringSubmatch(codeFence.ReplaceAllString(page, ""), -1) {
		a := anchor(heading[1])
		if n := seen[a]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", a, n))
		} else {
			all = append(all, a)
		}
		seen[a]++
	}
	return all
}

func anchor(heading string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(headingLink.ReplaceAllString(heading, "$1")), ""), " ", "-")
}

// checkMakeTargets wants every make target that the pages name in code to be in the Makefile.
func checkMakeTargets(fsys fs.FS, pages ...string) ([]string, error) {
	makefile, err := fs.ReadFile(fsys, "Makefile")
	if err != nil {
		return nil, err
	}
	var known []string
	for _, rule := range makeRule.FindAllStringSubmatch(string(makefile), -1) {
		known = append(known, strings.Fields(rule[1])...)
	}
	var problems []string
	for _, page := range pages {
		src, err := fs.ReadFile(fsys, page)
		if err != nil {
			return nil, err
		}
		code := codeFence.FindAllString(string(src), -1)
		code = append(code, codeSpan.FindAllString(codeFence.ReplaceAllString(string(src), ""), -1)...)
		for _, command := range makeCommand.FindAllStringSubmatch(shellComment.ReplaceAllString(strings.Join(code, "\n"), ""), -1) {
			for target := range strings.FieldsSeq(command[1]) {
				if !strings.Contains(target, "=") && !slices.Contains(known, target) {
					problems = append(problems, page+" names `make "+target+"`, which the Makefile does not have")
				}
			}
		}
	}
	return problems, nil
}

func TestDocsCheckers(t *testing.T) {
	fsys := fstest.MapFS{
		"Makefile": {Data: []byte("X := 1\nbuild test: ## both\n\tgo build\nlint:\n")},
		"README.md": {Data: []byte("[ok](docs/a.md#a-part-of-b) [ok](#here) [bad](#there) [bad](docs/a.md#fenced) [ok](docs/a.md#here-1) [ok](https://example.com) [bad](docs/b.md)\n" +
			"[ref]: docs/c.md\n`[code](docs/d.md)`\n```\n[fence](docs/e.md)\nmake build COUNT=3 && make lint # make it so\n```\n" +
			"We make sure that `make test` and `make deploy` work.\n# Here\n")},
		"docs/a.md":    {Data: []byte("# A part: of `b`\n```\n# Fenced\n```\n## [Here](c.md)\n## Here\n[up](../README.md) ![image](a%20b.png) [bad](README.md)\n")},
		"docs/a b.png": {},
	}
	problems, err := checkLinks(fsys)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := checkMakeTargets(fsys, "README.md")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(append(problems, targets...), "\n")
	want := []string{"links to docs/b.md", "links to docs/c.md", "docs/a.md links to README.md", "links to #there", "docs/a.md#fenced", "docs/a.md links to c.md", "`make deploy`"}
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no complaint with %q", w)
		}
	}
	if n := len(problems) + len(targets); n != len(want) {
		t.Errorf("got %d complaints, want %d:\n%s", n, len(want), got)
	}
	if _, err := checkMakeTargets(fsys, "MISSING.md"); err == nil {
		t.Error("a missing page was accepted")
	}
}

// TestArchitectureChains: each arrow between packages in ARCHITECTURE.md is an entry of a row in layers_test.go.
func TestArchitectureChains(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	arrows := 0
	for line := range strings.Lines(string(text)) {
		chain := strings.Split(strings.TrimSpace(line), " ← ")
		for i := range len(chain) - 1 {
			arrows++
			if row, _ := design().layerOf(chain[i+1]); row.pkg != chain[i+1] || !slices.Contains(strings.Fields(row.on), chain[i]) {
				t.Errorf("ARCHITECTURE.md says that %s stands on %s, which its row in layers_test.go does not", chain[i+1], chain[i])
			}
		}
	}
	if arrows < 20 {
		t.Errorf("only %d arrows between packages were found", arrows)
	}
}

// TestMap: runtime/README.md lists the packages of runtime/ so that none stands on one below it, and leaves none out.
func TestMap(t *testing.T) {
	text, err := os.ReadFile("runtime/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\|").FindAllSubmatch(text, -1) {
		listed = append(listed, "runtime/"+string(m[1]))
	}
	for i, upper := range listed {
		for _, lower := range listed[i+1:] {
			if slices.Contains(design().below(upper), lower) {
				t.Errorf("runtime/README.md lists %s above %s, on which it stands", upper, lower)
			}
		}
	}
	for _, row := range design().layers {
		if within(row.pkg, "runtime") && !slices.ContainsFunc(listed, func(l string) bool { return within(row.pkg, l) || within(l, row.pkg) }) {
			t.Errorf("runtime/README.md leaves out %s", row.pkg)
		}
	}
}

// TestArchitectureFiles: the Go files that ARCHITECTURE.md names are there, relative to runtime/ or to the repository.
func TestArchitectureFiles(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllSubmatch(text, -1)
	for _, m := range named {
		found := slices.ContainsFunc([]string{".", "runtime"}, func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, string(m[1])))
			return err == nil
		})
		if !found {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist. Remedy: name it relative to runtime/, or from the top folder on", m[1])
		}
	}
	if len(named) < 20 {
		t.Errorf("only %d files are named", len(named))
	}
}

// TestSandboxNamesTests: every test that docs/sandbox.md names for a promise or an attack is there.
func TestSandboxNamesTests(t *testing.T) {
	text, err := os.ReadFile("docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, top := range []string{"abi", "cmd", "hostplugins", "runtime", "test"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(source, -1) {
				there[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)").FindAllSubmatch(text, -1)
	if len(named) < 20 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, m := range named {
		if !there[string(m[1])] {
			t.Errorf("docs/sandbox.md names %s, which does not exist: name the test that shows it now, or drop the promise", m[1])
		}
	}
}

// TestNamesInDocs: what ARCHITECTURE.md and the map of runtime/ name in code as `folder/package` or `package.Name` exists.
func TestNamesInDocs(t *testing.T) {
	files := repository(t)
	spans := regexp.MustCompile("`([a-z][a-z0-9/]*)(?:\\.([A-Za-z]\\w*))?`")
	checked := 0
	for _, page := range []string{"ARCHITECTURE.md", "runtime/README.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spans.FindAllStringSubmatch(string(text), -1) {
			folder, name := m[1], m[2]
			if name == "go" || name == "" && !strings.Contains(folder, "/") {
				continue
			}
			checked++
			declared := regexp.MustCompile(`(?m)^(?:\t|func (?:\([^)]*\) )?|type |var |const )` + name + `\b`)
			exists := slices.ContainsFunc(files, func(f goFile) bool {
				return (within(f.dir(), folder) || strings.HasSuffix(f.dir(), "/"+folder)) && declared.Match(f.src)
			})
			if name == "" {
				exists = slices.ContainsFunc([]string{".", "runtime"}, func(top string) bool {
					_, err := os.Stat(filepath.Join(top, filepath.FromSlash(folder)))
					return err == nil
				})
			}
			if !exists {
				t.Errorf("%s names %s, which does not exist. Remedy: write the name of today", page, m[0])
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d names were checked", checked)
	}
}
