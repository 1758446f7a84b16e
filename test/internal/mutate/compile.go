package mutate

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
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Compile checks that the packages of root's module compile with each change of a Go file, one at a time, and returns an error
// for each that does not: whether a test finds such a change is not known. Files of guests, _wasip1.go, compile for wasip1.
func Compile(root string, changes []Change) error {
	var natively, asGuest []*Change
	for i := range changes {
		switch c := &changes[i]; {
		case strings.HasSuffix(c.File, "_wasip1.go"):
			asGuest = append(asGuest, c)
		case path.Ext(c.File) == ".go":
			natively = append(natively, c)
		}
	}
	return errors.Join(compile(root, natively), compile(root, asGuest, "GOOS=wasip1", "GOARCH=wasm"))
}

func compile(root string, changes []*Change, env ...string) error {
	dirs := map[string]bool{}
	for _, c := range changes {
		dirs["./"+path.Dir(c.File)] = true
	}
	if len(dirs) == 0 {
		return nil
	}
	all, err := list(root, env, slices.Sorted(maps.Keys(dirs)))
	if err != nil {
		return err
	}
	var problems []error
	for _, c := range changes {
		if err := c.compile(root, all); err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", c.Subject, c.Mistake, err))
		}
	}
	return errors.Join(problems...)
}

// built is a package as the go command lists it.
type built struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// list returns packages and what they import, by import path, with their export data.
func list(root string, env, patterns []string) (map[string]*built, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, patterns...)...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), env...), &said
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	all := map[string]*built{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		p := &built{}
		switch err := d.Decode(p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all[p.ImportPath] = p
	}
}

// compile checks the types of the change's package.
func (c *Change) compile(root string, all map[string]*built) error {
	changed, err := c.Apply(root)
	if err != nil {
		return err
	}
	at := filepath.Join(root, filepath.FromSlash(c.File))
	for _, p := range all {
		if p.Dir != filepath.Dir(at) || !slices.Contains(p.GoFiles, filepath.Base(at)) {
			continue
		}
		set := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			var text any // the file's own if nil
			if name == filepath.Base(at) {
				text = changed
			}
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		exported := importer.ForCompiler(set, "gc", func(name string) (io.ReadCloser, error) {
			if all[name] == nil {
				return nil, fmt.Errorf("%s is not among what the packages import", name)
			}
			return os.Open(all[name].Export)
		})
		_, err := (&types.Config{Importer: exported}).Check(p.ImportPath, set, files, nil)
		return err
	}
	return fmt.Errorf("%s is not in a package that is built", c.File)
}
