package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-scheduler/berth/runtime/module"
)

// target is a plugin that a command is about: a module that was named, or one that was
// built of a folder.
type target struct {
	ref module.Reference
	dir string // empty for a module that was named
}

// findTarget returns the module that was named, or builds the folder that was.
func findTarget(ctx context.Context, plugin string, stderr io.Writer) (*target, error) {
	if info, err := os.Stat(plugin); err != nil || !info.IsDir() {
		ref, err := module.ParseReference(plugin)
		return &target{ref: ref}, err
	}
	temp, err := os.MkdirTemp("", "berth-plugin-")
	if err != nil {
		return nil, &failure{err}
	}
	t := &target{ref: module.Reference{Path: filepath.Join(temp, "plugin.wasm")}, dir: plugin}
	build := buildOptions{dir: plugin, out: t.ref.Path}
	if err := build.run(ctx, io.Discard, stderr); err != nil {
		t.remove()
		return nil, t.named(err)
	}
	return t, nil
}

// remove removes what was built.
func (t *target) remove() {
	if t.dir != "" {
		_ = os.RemoveAll(filepath.Dir(t.ref.Path)) // a folder for temporary files
	}
}

// named has an error tell the folder instead of the file that was built of it.
func (t *target) named(err error) error {
	if err == nil || t.dir == "" || !strings.Contains(err.Error(), t.ref.Path) {
		return err
	}
	text := errors.New(strings.ReplaceAll(err.Error(), t.ref.Path, "the module of "+t.dir))
	if failed := new(failure); errors.As(err, &failed) {
		return &failure{text}
	}
	return text
}
