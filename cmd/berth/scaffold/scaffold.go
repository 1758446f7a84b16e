// Package scaffold writes new plugin projects: the plugin of the SDKs' tutorials under a
// name of the author's, its test, and the SDK beside it, so that it builds without a
// network.
package scaffold

//go:generate go run ./generate

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// The archives of projects, which the command generate makes of the SDKs and their
// READMEs.
//
//go:embed *.txtar.gz
var archives embed.FS

// Languages returns the languages of projects.
func Languages() []string { return []string{"go", "rust", "c", "assemblyscript"} }

// Words that stand for names in the archives, in files and in their paths.
const (
	nameWord  = "@NAME@"
	identWord = "@IDENT@"
)

// Archive returns the files of a language's projects.
func Archive(language string) (*txtar.Archive, error) {
	packed, err := archives.ReadFile(language + ".txtar.gz")
	if err != nil {
		return nil, fmt.Errorf("scaffold: there is no language %q", language)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("scaffold: %s: %w", language, err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("scaffold: %s: %w", language, err)
	}
	return txtar.Parse(text), nil
}

// Write makes a folder with a new project. Its last element is the plugin's name. It
// returns the files' paths, relative to the folder.
//
// # Errors
//
// A name that a manifest or a toolchain does not take, a language that there is not,
// and a folder that is there already; then nothing is written.
func Write(dir, language string) ([]string, error) {
	name := filepath.Base(filepath.Clean(dir))
	if err := checkName(name, language); err != nil {
		return nil, err
	}
	archive, err := Archive(language)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s is there already: choose another name, or remove it", dir)
	}
	if parent, err := os.Stat(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, fmt.Errorf("%w: make the folder first", err)
	} else if !parent.IsDir() {
		return nil, fmt.Errorf("%s is no folder", filepath.Dir(dir))
	}
	words := strings.NewReplacer(nameWord, name, identWord, ident(name))
	var paths []string
	for _, f := range archive.Files {
		path, data := f.Name, f.Data
		if !strings.HasPrefix(path, "berth") { // the SDK's are as they are
			path, data = words.Replace(path), []byte(words.Replace(string(data)))
		}
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(path)), data); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o666)
}

// ident is the name of the Go package, and of the crate in Rust's code.
func ident(name string) string { return strings.ReplaceAll(name, "-", "_") }

// checkName refuses names that would make a project that does not build.
func checkName(name, language string) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`).MatchString(name) || len(name) > 63 {
		return fmt.Errorf("%q is no name of a plugin: lower-case letters, digits and single dashes, a letter first, at most 63", name)
	}
	reserved := []string{"berth"} // the SDK's
	switch language {
	case "go":
		reserved = append(reserved, "main", "guest", "config")
		if token.IsKeyword(ident(name)) {
			reserved = append(reserved, name)
		}
	case "rust":
		reserved = append(reserved, rustWords()...)
	}
	if slices.Contains(reserved, name) {
		return fmt.Errorf("%q cannot be the name of a plugin in this language, where it is taken: choose another one", name)
	}
	return nil
}

// rustWords are what cargo refuses as the name of a crate, or what hides a crate that
// plugins need.
func rustWords() []string {
	return strings.Fields("abstract alloc as async await become box break const continue core crate deps do dyn else enum examples extern " +
		"false final fn for build if impl in incremental let loop macro match mod move mut override priv proc-macro pub ref return self static " +
		"std struct super test trait true try type typeof unsafe unsized use virtual where while yield")
}
