package child_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// numbered returns the good module with other bytes.
func numbered(t *testing.T, n int) []byte {
	t.Helper()
	out, err := wire.AppendCustomSection(wat.Compile(t, good, ""), "n", fmt.Append(nil, n))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// onDisk counts what a folder takes, in blocks of 4 KiB.
func onDisk(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			n += max(0, info.Size()-1) / 4096 * 4096
		}
		n += 4096
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		names = append(names, f.Name())
	}
	return names
}

// TestCacheSize: compiled modules never take more than they may on the disk, however many there
// are; one that runs stays, though others were used later.
func TestCacheSize(t *testing.T) {
	dir := t.TempDir()
	const size = 128 << 10
	asked := 0
	r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: dir, CacheSize: size, Compiler: func(ctx context.Context, job *sandbox.CompileJob) error {
		asked++
		return job.Compile(ctx)
	}})
	if err != nil {
		t.Fatal(err)
	}
	load := func(n int) *sandbox.Module {
		t.Helper()
		m, err := r.Load(t.Context(), numbered(t, n))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	end := func(m *sandbox.Module) {
		t.Helper()
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	running := load(0)
	const modules = 60
	for n := 1; n <= modules; n++ {
		end(load(n))
		if got := onDisk(t, dir); got > size {
			t.Fatalf("%d bytes after %d modules, at most %d may be", got, n, size)
		}
	}
	if asked != 1+modules {
		t.Fatalf("%d modules were compiled", asked)
	}
	end(load(0))
	if asked != 1+modules {
		t.Error("the module of a running plugin was removed before others")
	}
	end(load(1))
	if asked != 2+modules {
		t.Error("the cache holds more than it can")
	}
	end(running)
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCacheVanishes: a plugin runs on, and others can be started, when another process empties the
// folder.
func TestCacheVanishes(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: dir, Compiler: newChild(t).Compile, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	for range 3 {
		m, err := r.Load(t.Context(), numbered(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		if len(entries(t, dir)) != 1 {
			t.Errorf("entries are %q", entries(t, dir))
		}
		if err := os.RemoveAll(filepath.Join(dir, entries(t, dir)[0])); err != nil {
			t.Fatal(err)
		}
		if !m.Exports(abi.Filter) || m.Close(t.Context()) != nil {
			t.Error("the module is gone, too")
		}
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", log.String())
	}
}

// TestDamaged: a damaged entry is compiled again by the compiler, and replaced.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	asked := 0
	load := func() {
		t.Helper()
		r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: dir, Log: slog.New(slog.NewTextHandler(&log, nil)), Compiler: func(ctx context.Context, job *sandbox.CompileJob) error {
			asked++
			return newChild(t).Compile(ctx, job)
		}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Load(t.Context(), numbered(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(m.Close(t.Context()), r.Close(t.Context())); err != nil {
			t.Error(err)
		}
	}
	load()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if err := os.Truncate(files[0], 100); err != nil {
		t.Fatal(err)
	}
	load()
	load()
	if asked != 2 {
		t.Errorf("the module was compiled %d times, want 2", asked)
	}
	if n := strings.Count(log.String(), "is damaged: the module is compiled again"); n != 1 || strings.Count(log.String(), "level=") != 1 {
		t.Errorf("log: %s", log.String())
	}
}

// TestRefusedLeavesNothing: what is not a plugin, or not a valid module, or takes too long, is not
// stored, and a child that was killed leaves nothing.
func TestRefusedLeavesNothing(t *testing.T) {
	slow := newChild(t)
	slow.Time = 1
	for name, c := range map[string]struct {
		compiler sandbox.Compiler
		module   []byte
	}{
		"no allocator": {newChild(t).Compile, wat.Compile(t, strings.Replace(good, "berth_alloc", "other", 1), "")},
		"not valid":    {newChild(t).Compile, wat.Compile(t, strings.Replace(good, "(i32.const 0x10000)", "(i64.const 1)", 1), "")},
		"killed":       {slow.Compile, numbered(t, 1)},
	} {
		dir := t.TempDir()
		r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: dir, Compiler: c.compiler})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Load(t.Context(), c.module); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
		if got := entries(t, dir); len(got) > 0 {
			t.Errorf("%s: %q is left", name, got)
		}
	}
}

// TestFullDisk: modules that cannot be stored run from memory, once the child has shown that they
// can be compiled within its limits. The log says so once.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	asked := 0
	r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: dir, Log: slog.New(slog.NewTextHandler(&log, nil)), Compiler: func(ctx context.Context, job *sandbox.CompileJob) error {
		if asked++; asked > 1 { // nothing can be written below a file, whoever runs the test
			if err := errors.Join(os.RemoveAll(job.CacheDir), os.WriteFile(job.CacheDir, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		return newChild(t).Compile(ctx, job)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	for n := range 4 {
		m, err := r.Load(t.Context(), numbered(t, n))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := entries(t, dir); asked != 4 || len(got) != 1 {
		t.Errorf("%d modules were compiled, and %q is stored", asked, got)
	}
	if n := strings.Count(log.String(), "cannot be written"); n != 1 || strings.Count(log.String(), "level=") != 1 {
		t.Errorf("log: %s", log.String())
	}
	// A module that is too much for the child does not run, disk or not.
	small := newChild(t)
	small.Time = 1
	limited, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: t.TempDir(), Compiler: func(ctx context.Context, job *sandbox.CompileJob) error {
		if err := errors.Join(os.RemoveAll(job.CacheDir), os.WriteFile(job.CacheDir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		return small.Compile(ctx, job)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := limited.Load(t.Context(), numbered(t, 1)); err == nil {
		t.Error("it runs without the child's consent")
	}
}
