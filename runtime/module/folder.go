package module

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// Entry is a module in a plugin folder.
type Entry struct {
	// Path of the module's file.
	Path string
	// Reference says how the module is used; valid if Err is nil.
	Reference Reference
	Err       error
}

// Size returns the size of the module's file, in bytes; 0 if it is not known.
func (e *Entry) Size() int64 {
	info, err := os.Stat(e.Path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// ReadFolder returns the modules of a folder, sorted by file name. Each file NAME.wasm is a
// module; NAME.yaml beside it, if present, says how it is used:
//
//	name: my-pool             # in profiles; default: the manifest's name
//	weight: 2                 # of the score
//	config: {pools: {…}}
//	namespaces: [team-a]
//	failurePolicy: Fail
//	grants: {annotations: [example.com/]}
//	limits: {fuelPerRow: 5000}
//	mode: Shadow
//	replaces: pool
//
// Hidden files and folders are skipped, so that a module can be written under a temporary name
// and then renamed.
//
// # Errors
//
// The folder cannot be read. Mistakes in an entry are in its Err.
func ReadFolder(dir string) ([]Entry, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, &Error{File: dir, Detail: reason(err), Fix: "name a folder that can be read", Err: err}
	}
	var out []Entry
	for _, f := range files { // sorted by name
		if base, ok := strings.CutSuffix(f.Name(), ".wasm"); ok && base != "" && !strings.HasPrefix(f.Name(), ".") && !f.IsDir() {
			out = append(out, readEntry(dir, base))
		}
	}
	return out, nil
}

func readEntry(dir, base string) Entry {
	e := Entry{Path: filepath.Join(dir, base+".wasm")}
	e.Reference = Reference{Path: e.Path, Folder: true}
	file := filepath.Join(dir, base+".yaml")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return e
	}
	data, err := readFile(file, "", maxEntry)
	if err != nil {
		e.Err = err
		return e
	}
	raw, err := toJSON(data)
	if err != nil {
		e.Err = wrap(file, "", err)
		return e
	}
	e.Err = e.decode(file, data, raw)
	return e
}

// maxEntry is the maximum size of NAME.yaml, in bytes.
const maxEntry = 2 << 20

// decode reads the NAME.yaml of a module. raw is its JSON.
func (e *Entry) decode(file string, text, raw []byte) error {
	if string(raw) == "{}" { // an empty file
		return nil
	}
	if json.Valid(text) { // YAML has not all escapes of JSON
		value, err := schema.Parse(text)
		if err == nil {
			text, err = schema.Canonical(value)
		}
		if err != nil {
			return wrap(file, "", err)
		}
	}
	var p v1alpha1.FolderPlugin
	if err := strictyaml.Check(text, maxExpanded, &p); err != nil {
		return wrap(file, "", err)
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return wrap(file, "", err)
	}
	var errs []error
	for _, mistake := range p.Validate(nil) {
		errs = append(errs, &Error{File: file, Path: mistake.Field, Detail: mistake.ErrorBody()})
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	r, err := NewReference(p.Name, &v1alpha1.FileModule{Path: e.Path}, &p.PluginSpec)
	r.Weight, r.Folder = ptr.Deref(p.Weight, 0), true
	e.Reference = r
	if err != nil {
		return wrap(file, sectionConfig, err)
	}
	return nil
}
