package input

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readFiles reads each path: a file as it is, whatever its ending, and of a
// directory the *.yaml, *.yml and *.json files below it in lexical order.
func readFiles(paths []string, g *gatherer) (out []source) {
	for _, path := range paths {
		names := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			names, err = listDir(path)
			if err != nil {
				g.add(&Error{File: path, Detail: err.Error(), Fix: "make the directory readable"})
				continue
			}
			if len(names) == 0 {
				g.add(&Error{File: path, Detail: "the directory has no .yaml, .yml or .json file", Fix: "name another directory, or the file itself"})
			}
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				g.add(&Error{File: name, Detail: reason(err), Fix: "name a file or directory that can be read"})
				continue
			}
			out = append(out, source{name, data})
		}
	}
	return out
}

// listDir does not follow links to directories, so that it always ends; links
// to files are read.
func listDir(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path))) {
			return nil
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil
		}
		names = append(names, path)
		return nil
	})
	return names, err
}

// reason is the error without the path, which the message already has.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
