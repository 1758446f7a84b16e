package app

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/bounded"
)

// stale says that a module is older than a source of its project, and how to build it; empty if it is not, or if its project is not
// found: the module's folder, the one above, a folder below either that has the plugin's name, or another one. A project has a
// manifest.json with the plugin's name.
func stale(module, plugin string, others ...string) string {
	built, err := os.Stat(module)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(module)
	for _, folder := range append([]string{dir, filepath.Join(dir, plugin), filepath.Join(dir, ".."), filepath.Join(dir, "..", plugin)}, others...) {
		if !isProject(folder, plugin) {
			continue
		}
		for _, source := range sources(folder) {
			if info, err := os.Stat(source); err == nil && info.ModTime().After(built.ModTime()) {
				return fmt.Sprintf("%s is older than %s: berth plugin build %s -o %s", module, source, folder, module)
			}
		}
	}
	return ""
}

// isProject reports whether a folder has the manifest of a plugin.
func isProject(dir, plugin string) bool {
	text, err := bounded.Regular(filepath.Join(dir, "manifest.json"), abi.MaxManifestSize)
	var m struct{ Name string }
	return err == nil && json.Unmarshal(text, &m) == nil && m.Name == plugin
}

// sources returns the files of a project from which its module is built, without the SDK.
func sources(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what cannot be read is no source
		name := filepath.Base(path)
		switch {
		case err != nil:
		case d.IsDir():
			if path != dir && (name[0] == '.' || slices.Contains([]string{"berth", "target", "node_modules", "testdata", "tests"}, name)) {
				return fs.SkipDir
			}
		case slices.Contains([]string{"manifest.json", "Cargo.toml", "go.mod", "package.json"}, name),
			slices.Contains([]string{".go", ".rs", ".c", ".h", ".ts"}, filepath.Ext(name)):
			if ok, _ := filepath.Match("*_test.go", name); !ok {
				files = append(files, path)
			}
		}
		return nil
	})
	return files
}
