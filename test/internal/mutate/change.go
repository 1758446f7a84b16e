// Package mutate makes mistakes in source files, one at a time, without touching the
// files themselves: those that a list has, and those that operators draw.
package mutate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Change is one mistake: a change of one source file.
type Change struct {
	// Subject is the part that has the mistake, such as a plugin or an SDK.
	Subject string `json:"subject"`
	Mistake string `json:"mistake"`
	File    string `json:"file"` // relative to the root of the repository
	// Old occurs in the file once.
	Old string `json:"old"`
	New string `json:"new"`
}

// Read reads a list of changes in YAML.
func Read(list []byte) ([]Change, error) {
	var out []Change
	return out, yaml.UnmarshalStrict(list, &out)
}

// Apply returns the changed text of the file.
func (c *Change) Apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(c.File)))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(c.Old)); n != 1 || c.Old == c.New {
		return nil, fmt.Errorf("%s: %s has %q %d times, want it once, and a change of it: bring the list up to date", c.Mistake, c.File, c.Old, n)
	}
	return bytes.Replace(text, []byte(c.Old), []byte(c.New), 1), nil
}

// Overlay writes the changed file into a folder, and the list that has the go command
// read it instead of the repository's. It returns the path of the list.
func (c *Change) Overlay(root, folder string) (string, error) {
	text, err := c.Apply(root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(folder, "changed.go")
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, filepath.FromSlash(c.File)): changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}
