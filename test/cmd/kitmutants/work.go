package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/test/internal/mutate"
)

// patience is how much of a processor a command may use: with some mistakes it would not end.
const patience = 5 * time.Minute

// work makes mistakes in copies.
type work struct {
	*options
	// folder is for everything that is made; tree in it is a copy of what is not Go.
	folder, tree string
	right        map[string][]byte // modules without a mistake, by language and guest
	passed       map[string]bool   // the trials that they passed, also by number
}

func newWork(o *options) (*work, error) {
	folder, err := os.MkdirTemp("", "kitmutants")
	if err != nil {
		return nil, err
	}
	w := &work{options: o, folder: folder, tree: filepath.Join(folder, "tree"), right: map[string][]byte{}, passed: map[string]bool{}}
	for _, top := range []string{"abi", "wasm-examples"} {
		if err := w.copy(top); err != nil {
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
	}
	return w, w.configs()
}

// module is the file of the module that was built last.
func (w *work) module() string { return filepath.Join(w.folder, "plugin.wasm") }

func (w *work) close() { _ = os.RemoveAll(w.folder) }

// copy copies what plugins in Rust, C and AssemblyScript are built of.
func (w *work) copy(top string) error {
	return filepath.WalkDir(filepath.Join(w.top, top), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.top, path)
		if err != nil {
			return err
		}
		to := filepath.Join(w.tree, rel)
		switch {
		case d.Name() == "node_modules":
			if err := os.Symlink(path, to); err != nil || !d.IsDir() {
				return err
			}
			return filepath.SkipDir
		case d.Name() == "target":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o700)
		case slices.Contains([]string{".go", ".md", ".wat"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
}

// outcome is the result for one mistake.
type outcome struct {
	changed bool   // some program differs from the right one
	by      string // empty if nothing found it
	says    string
}

func (o outcome) String() string {
	if o.by == "" {
		return "**not found**"
	}
	return strings.TrimSuffix(o.by+": "+o.says, ": ")
}

// find makes the mistake and returns what finds it.
func (w *work) find(ctx context.Context, c *mutate.Change) (outcome, error) {
	if c.Subject == host {
		return w.byCases(ctx, c, all())
	}
	language := languageOf(c.Subject)
	if language == golang {
		if out, err := w.byCases(ctx, c, natively()); err != nil || out.by != "" {
			return out, err
		}
	}
	env, undo, err := w.make(language, c)
	if err != nil {
		return outcome{}, err
	}
	defer undo()
	var out outcome
	for _, slow := range []bool{false, true} { // what is quick of all guests first
		for _, g := range guests(language) {
			differs, err := w.differs(ctx, language, &g, env)
			if err != nil {
				return outcome{}, err
			}
			if !differs {
				continue
			}
			out.changed = true
			for i, t := range w.trials(&g) {
				if t.slow != slow {
					continue
				}
				says, err := t.run(ctx, w.module())
				if err != nil {
					return outcome{}, err
				}
				if says != "" {
					out.by, out.says = t.by, says
					return out, w.rightPasses(ctx, language, &g, i)
				}
			}
		}
	}
	return out, nil
}

// differs reports whether a guest's module is another one with the mistake. A sample has no time to build the right ones, but
// in C, where building is quicker than checking.
func (w *work) differs(ctx context.Context, language string, g *guest, env []string) (bool, error) {
	if w.budget > 0 && language != inC {
		return true, w.build(ctx, language, g, w.root(language), env)
	}
	right, err := w.rightOne(ctx, language, g)
	if err != nil {
		return false, err
	}
	if err := w.build(ctx, language, g, w.root(language), env); err != nil {
		return false, err
	}
	code, err := os.ReadFile(w.module())
	return !bytes.Equal(code, right), err
}

// make makes the mistake where the language's toolchain reads it.
func (w *work) make(language string, c *mutate.Change) (env []string, undo func(), err error) {
	if language == golang {
		overlay, err := c.Overlay(w.top, w.folder)
		return []string{"GOFLAGS=-trimpath -overlay=" + overlay}, func() {}, err
	}
	changed, err := c.Apply(w.top)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(w.tree, filepath.FromSlash(c.File))
	right, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return nil, func() { _ = os.WriteFile(path, right, 0o600) }, os.WriteFile(path, changed, 0o600)
}

// root is where a language's plugins are built.
func (w *work) root(language string) string {
	if language == golang {
		return w.top
	}
	return w.tree
}

// run runs a command, and returns what it printed; failed if its exit status is not 0.
func (w *work) run(ctx context.Context, dir string, env []string, name string, args ...string) (out string, failed bool, err error) {
	limit := fmt.Sprintf(`ulimit -t %.0f && exec "$0" "$@"`, patience.Seconds())
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limit, name}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case err != nil && cmd.ProcessState != nil && cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime() >= patience-time.Second:
		return fmt.Sprintf("no end in %s of the processor", patience), true, nil
	case err != nil && !errors.As(err, &exit):
		return "", false, err
	}
	return string(text), err != nil, nil
}
