// Command generate makes the archives of package scaffold, from the SDKs and the
// tutorials in their READMEs. It runs in the package's folder.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
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
	// sdk are patterns of the SDK's files, from the top; those that are excluded follow a
	// `!`. They go to folder, without the prefix cut.
	sdk         []string
	cut, folder string

	// Of the README.
	name, files, test, toolchain string
}

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
	if err := p.addSDK(add); err != nil {
		return err
	}
	slices.SortFunc(a.Files, func(x, y txtar.File) int { return strings.Compare(x.Name, y.Name) })
	text := txtar.Format(a)
	if again := txtar.Parse(text); len(again.Files) != len(a.Files) || !bytes.Equal(txtar.Format(again), text) {
		return fmt.Errorf("a file has a line that would begin another one in a txtar archive")
	}
	return replace(p.language+".txtar.gz", text)
}

func (p *project) readme() (string, error) {
	text, err := os.ReadFile("templates/README.md")
	sdk := p.folder + "/"
	if p.folder == "" {
		sdk = "berth.h"
	}
	words := strings.NewReplacer("@LANGUAGE@", p.name, "@FILES@", p.files, "@SDK@", sdk, "@TEST@", p.test, "@TOOLCHAIN@", p.toolchain, "@DIR@", p.dir)
	return words.Replace(string(text)), err
}

// addSDK adds the SDK's files, and the license.
func (p *project) addSDK(add func(name, text string)) error {
	n := 0
	for _, pattern := range p.sdk {
		files, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			name, err := filepath.Rel(top, file)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if path.Base(name) == "Cargo.toml" {
				text = withoutTests(text)
			}
			add(path.Join(p.folder, strings.TrimPrefix(name, p.cut)), string(text))
			n++
		}
		if len(files) == 0 {
			return fmt.Errorf("no file is %s", pattern)
		}
	}
	license, err := os.ReadFile(filepath.Join(top, "LICENSE"))
	if p.folder != "" { // berth.h says it
		add(path.Join(p.folder, "LICENSE"), string(license))
	}
	return err
}

// withoutTests leaves the sections about tests and examples, which an archive does not
// have, out of a Cargo.toml.
func withoutTests(text []byte) []byte {
	var out bytes.Buffer
	skip := false
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("[")) {
			skip = bytes.HasPrefix(line, []byte("[[test]]")) || bytes.HasPrefix(line, []byte("[[example]]"))
		}
		if !skip {
			out.Write(line)
		}
	}
	return out.Bytes()
}

// replace writes an archive, unless the file has the text already: what gzip makes of
// it may differ from one Go to the next.
func replace(file string, text []byte) error {
	if packed, err := os.ReadFile(file); err == nil {
		if r, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
			if old, err := io.ReadAll(r); err == nil && bytes.Equal(old, text) {
				return nil
			}
		}
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, packed.Bytes(), 0o644)
}
