package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-scheduler/berth/runtime/module"
)

// target is the plugin that a command works on: a named module, or one built from a folder.
type target struct {
	ref module.Reference
	dir string // empty for a module that was named
	// named is the module with the names of its functions; nil for a module that was named.
	named []byte
}

// findTarget returns the named module, or builds the named folder.
func findTarget(ctx context.Context, plugin string, stderr io.Writer) (*target, error) {
	info, err := os.Stat(plugin)
	if path, _, _ := strings.Cut(plugin, "?"); err != nil && !strings.Contains(plugin, "://") && filepath.Ext(path) != ".wasm" {
		return nil, fmt.Errorf("%w; name the folder of a plugin, or a module: PATH.wasm, or PATH.wasm?config=FILE", err)
	}
	if err != nil || !info.IsDir() {
		ref, err := module.ParseReference(plugin)
		if err == nil && ref.Use != (module.Use{}) {
			err = fmt.Errorf("%s: mode and replaces are for berth run and berth simulate; leave them out", plugin)
		}
		return &target{ref: ref}, err
	}
	temp, err := os.MkdirTemp("", "berth-plugin-")
	if err != nil {
		return nil, &failure{err}
	}
	t := &target{ref: module.Reference{Path: filepath.Join(temp, "plugin.wasm")}, dir: plugin}
	build := buildOptions{dir: plugin, out: t.ref.Path, shown: "the module of " + plugin}
	built, err := build.run(ctx, io.Discard, stderr)
	if err != nil {
		t.remove()
		return nil, t.inWords(err)
	}
	t.named = built.named
	return t, nil
}

// load returns the module with its configuration; config is the file for a folder.
func (t *target) load(config string) (*module.Loaded, error) {
	if config != "" {
		if t.dir == "" {
			return nil, fmt.Errorf("--config is for a folder: name the module as MODULE?config=%s", config)
		}
		t.ref.ConfigFile = config
	}
	t.ref.GrantAll = true // directives are not carried out
	loaded, err := module.Load(t.ref)
	return loaded, t.inWords(err)
}

// remove deletes the module if findTarget built it.
func (t *target) remove() {
	if t.dir != "" {
		_ = os.RemoveAll(filepath.Dir(t.ref.Path)) // a folder for temporary files
	}
}

// inWords replaces the temporary file in an error by the folder that it was built from.
func (t *target) inWords(err error) error {
	if err == nil || t.dir == "" || !strings.Contains(err.Error(), t.ref.Path) {
		return err
	}
	text := errors.New(strings.ReplaceAll(err.Error(), t.ref.Path, "the module of "+t.dir))
	if failed := new(failure); errors.As(err, &failed) {
		return &failure{text}
	}
	return text
}
