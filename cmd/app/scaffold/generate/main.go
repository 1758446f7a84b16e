// Command generate makes the archives of package scaffold, from the tutorials in the
// READMEs of the SDKs, and what a project in Go needs beside its SDK. It runs in the package's folder.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// top is the repository.
const top = "../../.."

func main() {
	for _, p := range projects() {
		if err := p.generate(); err != nil {
			fmt.Fprintf(os.Stderr, "generate %s: %v\n", p.language, err)
			os.Exit(1)
		}
	}
}

// project is what an archive is made of.
type project struct {
	language string
	dir      string // of the SDK below abi/sdk
	// blocks are files that are blocks of the tutorial.
	blocks []block
	// texts are other files.
	texts map[string]string
	// beside are patterns of files that the SDK needs and that are not in its folder,
	// from the top. They go to folder, as does the license.
	beside []string
	folder string

	// Of the README.
	name, files, test, toolchain string

	setup string // steps of the workflow that install the toolchain
}

// workflow is a project's workflow on GitHub, whose machines have Go, rustup and Node.js.
const workflow = `# Builds and tests the plugin.
name: test
on: [push, pull_request]
permissions: {contents: read}
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
@SETUP@      - run: go install github.com/berth-scheduler/berth/cmd/berth@latest # or a version
      - run: echo "$(go env GOPATH)/bin" >> "$GITHUB_PATH"
      - run: berth plugin build .
      - run: berth plugin test .
`

func (p *project) generate() error {
	a := &txtar.Archive{}
	add := func(name, text string) {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	readme, err := p.readme()
	if err != nil {
		return err
	}
	add("README.md", readme)
	for _, b := range p.blocks {
		text, err := b.text(p.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", b.path, err)
		}
		add(b.path, text)
	}
	for name, text := range p.texts {
		add(name, text)
	}
	add(".github/workflows/test.yml", strings.Replace(workflow, "@SETUP@", p.setup, 1))
	if err := p.addBeside(add); err != nil {
		return err
	}
	scenarios, err := scenarioLanguage()
	if err != nil {
		return err
	}
	add("berth/SCENARIOS.md", scenarios)
	slices.SortFunc(a.Files, func(x, y txtar.File) int { return strings.Compare(x.Name, y.Name) })
	text := txtar.Format(a)
	if again := txtar.Parse(text); len(again.Files) != len(a.Files) || !bytes.Equal(txtar.Format(again), text) {
		return fmt.Errorf("a file has a line that would begin another one in a txtar archive")
	}
	return os.WriteFile(p.language+".txtar", text, 0o644)
}

// scenarioLanguage returns the comment of berthtest.Scenarios as Markdown.
func scenarioLanguage() (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, "abi/sdk/go/berthtest/scenario.go"), nil, parser.ParseComments)
	if err != nil {
		return "", err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Scenarios" {
			var reader comment.Parser
			var printer comment.Printer
			text := string(printer.Markdown(reader.Parse(f.Doc.Text())))
			return "# Scenarios\n\n" + strings.NewReplacer("\\`", "`", `\_`, "_").Replace(text), nil
		}
	}
	return "", errors.New("scenario.go has no function Scenarios")
}

func (p *project) readme() (string, error) {
	text, err := os.ReadFile("templates/README.md")
	sdk := p.folder + "/"
	if p.folder == "" {
		sdk = "berth.h"
	}
	sdkReadme := "berth/README.md"
	if p.language == "go" { // whose packages keep their import paths
		sdkReadme = "berth/abi/sdk/go/README.md"
	}
	words := strings.NewReplacer("@LANGUAGE@", p.name, "@FILES@", p.files, "@SDK@", sdk, "@TEST@", p.test, "@TOOLCHAIN@", p.toolchain, "@SDKREADME@", sdkReadme)
	return words.Replace(string(text)), err
}

// addBeside adds what the SDK needs, and the license.
func (p *project) addBeside(add func(name, text string)) error {
	for _, pattern := range p.beside {
		files, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("no file is %s", pattern)
		}
		for _, file := range files {
			name, err := filepath.Rel(top, file)
			if err != nil {
				return err
			}
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			add(path.Join(p.folder, filepath.ToSlash(name)), string(text))
		}
	}
	license, err := os.ReadFile(filepath.Join(top, "LICENSE"))
	add("LICENSE", string(license)) // of the project; the SDK has the same
	return err
}
