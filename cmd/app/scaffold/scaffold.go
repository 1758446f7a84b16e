// Package scaffold writes new plugin projects. A project has the plugin of the SDKs'
// tutorials under the author's name, or one with the points that the author chose, its test, and
// the SDK, so it builds without a network.
package scaffold

//go:generate go run ./generate

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/berth-scheduler/berth/abi/sdk"
)

// The archives of projects, which the command generate makes of the tutorials in the
// SDKs' READMEs. They are text, and without the SDKs, so that a diff shows what
// becomes of projects.
//
//go:embed *.txtar
var archives embed.FS

// Languages returns the languages of projects.
func Languages() []string { return []string{"go", "rust", "c", "assemblyscript"} }

// Publisher is the publisher in the manifests of projects, until the author writes another.
const Publisher = "you"

// schemaFile is the JSON Schema of manifests, in package sdk and in projects.
const schemaFile = "manifest.schema.json"

// Placeholders for names in the archives, in files and in their paths.
const (
	nameWord  = "@NAME@"
	identWord = "@IDENT@"
)

// files returns the files of a language's projects, by path.
func files(language string) ([]txtar.File, error) {
	text, err := archives.ReadFile(language + ".txtar")
	if err != nil {
		return nil, fmt.Errorf("scaffold: unknown language %q", language)
	}
	all := txtar.Parse(text).Files
	schema, err := sdk.Sources.ReadFile(schemaFile)
	if err != nil {
		return nil, err
	}
	all = append(all, txtar.File{Name: schemaFile, Data: schema})
	for _, f := range all {
		if f.Name == "LICENSE" && language != "c" { // whose SDK says it in berth.h
			all = append(all, txtar.File{Name: "berth/LICENSE", Data: f.Data})
		}
	}
	err = fs.WalkDir(sdk.Sources, language, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := fs.ReadFile(sdk.Sources, path)
		if d.Name() == "Cargo.toml" {
			data = withoutTests(data)
		}
		if d.Name() == "README.md" {
			data = withWholeLinks(data, path)
		}
		all = append(all, txtar.File{Name: besideProject(path), Data: data})
		return err
	})
	return withSums(all), err
}

// besideProject is where a file of an SDK is in a project: in the folder berth, or
// for the only one of C beside the source.
func besideProject(path string) string {
	language, file, _ := strings.Cut(path, "/")
	switch language {
	case "go": // whose packages keep their import paths
		return "berth/abi/sdk/" + path
	case "c":
		if file != "README.md" { // the project has its own
			return file
		}
	}
	return "berth/" + file
}

// withWholeLinks makes links of an SDK's README out of its folder, which a project does not have, links to Berth's repository.
func withWholeLinks(text []byte, file string) []byte {
	return regexp.MustCompile(`\]\(\.\./[^)]*\)`).ReplaceAllFunc(text, func(link []byte) []byte {
		at := strings.TrimSuffix(strings.TrimPrefix(string(link), "]("), ")")
		return []byte("](https://github.com/berth-scheduler/berth/blob/main/" + path.Join("abi/sdk", path.Dir(file), at) + ")")
	})
}

// withoutTests leaves the sections about tests and examples, which a project does not
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

// Write creates a folder with a new project. The last element of the path is the plugin's
// name. With points the plugin has these; without, it is the tutorial's. Write returns the paths of
// the files, relative to the folder.
//
// # Errors
//
// Write fails for a name that a manifest or a toolchain rejects, for an unknown language, for
// points that do not exist or need others, and for a folder that exists. Then it writes nothing.
func Write(dir, language string, points []string) ([]string, error) {
	name := filepath.Base(filepath.Clean(dir))
	if err := checkName(name, language); err != nil {
		return nil, err
	}
	all, err := files(language)
	if err == nil && len(points) > 0 {
		var chosen choice
		if chosen, err = choose(points); err == nil {
			all, err = chosen.replace(all, language)
		} else {
			err = fmt.Errorf("points: %w", err)
		}
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s exists: choose another name, or remove it", dir)
	}
	if parent, err := os.Stat(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, fmt.Errorf("%w: create the folder first", err)
	} else if !parent.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", filepath.Dir(dir))
	}
	words := strings.NewReplacer(nameWord, name, identWord, ident(name))
	var paths []string
	for _, f := range all {
		path, data := f.Name, f.Data
		if !vendored(path) {
			path, data = words.Replace(path), []byte(words.Replace(string(data)))
		}
		if data, err = formatted(path, data); err != nil {
			return nil, fmt.Errorf("scaffold: %s: %w", path, err)
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

// ident returns the name of the Go package, and of the Rust crate in code.
func ident(name string) string { return strings.ReplaceAll(name, "-", "_") }

// checkName rejects names with which the project would not build.
func checkName(name, language string) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`).MatchString(name) || len(name) > 63 {
		return fmt.Errorf("%q is not a valid plugin name: use at most 63 lower-case letters, digits and single dashes, with a letter first", name)
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
		return fmt.Errorf("%q is a reserved word in this language: choose another name", name)
	}
	return nil
}

// rustWords returns names that cargo refuses for a crate, and names that hide a crate that
// plugins need.
func rustWords() []string {
	return strings.Fields("abstract alloc as async await become box break const continue core crate deps do dyn else enum examples extern " +
		"false final fn for build if impl in incremental let loop macro match mod move mut override priv proc-macro pub ref return self static " +
		"std struct super test trait true try type typeof unsafe unsized use virtual where while yield")
}
