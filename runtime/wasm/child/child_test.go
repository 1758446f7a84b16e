package child_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/child"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// serve as the first argument makes the test binary a child.
const serve = "serve"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serve {
		os.Exit(child.Serve(context.Background(), os.Args[2:], os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

func newChild(t *testing.T) *child.Child {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &child.Child{
		Path: path, Args: []string{"child", serve}, Time: time.Minute, Memory: 1 << 30,
		TimeSetting: "--time", MemorySetting: "--memory",
	}
}

const good = `(module
	(memory (export "memory") 1)
	(func (export "berth_abi") (result i32) (i32.const 0x10000))
	(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 0))
	(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))`

// TestChild: a runtime finds what the child compiled, which is asked once for a module,
// by whoever has the cache; without a cache of its own, too.
func TestChild(t *testing.T) {
	module := wat.Compile(t, good, "")
	asked := 0
	count := func(ctx context.Context, job *sandbox.CompileJob) error {
		asked++
		return newChild(t).Compile(ctx, job)
	}
	dir := t.TempDir()
	for _, want := range []struct {
		dir   string
		asked int
	}{{dir, 1}, {dir, 1}, {"", 2}, {"", 3}} {
		r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: want.dir, Compiler: count})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			m, err := r.Load(t.Context(), module)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if asked != want.asked {
			t.Errorf("in %q: the child was asked %d times, want %d", want.dir, asked, want.asked)
		}
	}
}

// TestOtherCompiler: what another version of the compiler, or that for another processor, has compiled, the child compiles again.
func TestOtherCompiler(t *testing.T) {
	module := wat.Compile(t, good, "")
	dir := t.TempDir()
	asked := 0
	load := func() {
		r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{CacheDir: dir, Compiler: func(ctx context.Context, job *sandbox.CompileJob) error {
			asked++
			return newChild(t).Compile(ctx, job)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Load(t.Context(), module); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	load()
	compiled, err := filepath.Glob(filepath.Join(dir, "*", "wazero-*"))
	if err != nil || len(compiled) != 1 {
		t.Fatalf("%v: %v", compiled, err)
	}
	// The entry has the name of the compiler in its own.
	entry := filepath.Dir(compiled[0])
	if err := os.Rename(entry, filepath.Join(dir, strings.Repeat("0", len(filepath.Base(entry))))); err != nil {
		t.Fatal(err)
	}
	if load(); asked != 2 {
		t.Errorf("the child was asked %d times, want 2", asked)
	}
}

// TestStopped: what is wrong with a module or with the child is told, with what to do,
// and the module is not used.
func TestStopped(t *testing.T) {
	module := wat.Compile(t, good, "")
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupt signal received"))
	for name, c := range map[string]struct {
		change func(c *child.Child)
		module []byte
		ctx    context.Context
		want   string
	}{
		"time":        {func(c *child.Child) { c.Time = time.Nanosecond }, module, t.Context(), "took longer than 1ns and was stopped: do not use it unless you trust where it comes from, build it with fewer and smaller functions, or allow more with --time"},
		"not valid":   {func(*child.Child) {}, wat.Compile(t, strings.Replace(good, "(i32.const 0x10000)", "(i64.const 1)", 1), ""), t.Context(), "cannot use i64 as result[0] type i32"},
		"no program":  {func(c *child.Child) { c.Path += "-none" }, module, t.Context(), "set --time to 0 to compile in this process"},
		"interrupted": {func(*child.Child) {}, module, interrupted, "interrupt signal received"},
		"wrong args":  {func(c *child.Child) { c.Args = append(c.Args, "more") }, module, t.Context(), "the compiler's process failed: exit status 2: berth starts this command itself"},
	} {
		t.Run(name, func(t *testing.T) {
			one := newChild(t)
			c.change(one)
			stopped(c.ctx, t, one, c.module, c.want)
		})
	}
}

// TestBusy: a child that the host gives hardly any processor time says nothing about the module.
func TestBusy(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	// It waits, whatever the module is, as a child without a processor does.
	one := &child.Child{Path: "/bin/sh", Args: []string{"sh", "-c", "exec " + sleep + " 60"}, Time: time.Second, Memory: 1 << 30, TimeSetting: "--time"}
	r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{Compiler: one.Compile})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	_, err = r.Load(t.Context(), wat.Compile(t, good, ""))
	var busy *sandbox.BusyError
	if !errors.As(err, &busy) || strings.Contains(err.Error(), "do not use it") || !strings.Contains(err.Error(), "allow more with --time") {
		t.Errorf("got %v", err)
	}
}

// stopped holds what a child says of a module that it must not compile.
func stopped(ctx context.Context, t *testing.T, one *child.Child, module []byte, want string) {
	t.Helper()
	r, err := sandbox.NewRuntime(sandbox.RuntimeConfig{Compiler: one.Compile})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	m, err := r.Load(ctx, module)
	if m != nil || err == nil || !strings.HasPrefix(err.Error(), "compile module "+sandbox.Digest(module)[:19]+": ") || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestOriginal: a module that is not valid as it came is refused, though what the rewriter
// made of it is.
func TestOriginal(t *testing.T) {
	valid := wat.Compile(t, good, "")
	invalid := wat.Compile(t, strings.Replace(good, "(i32.const 0x10000)", "(i64.const 1)", 1), "")
	for _, compile := range []sandbox.Compiler{newChild(t).Compile, func(ctx context.Context, job *sandbox.CompileJob) error { return job.Compile(ctx) }} {
		job := &sandbox.CompileJob{Original: invalid, Code: valid, CacheDir: t.TempDir()}
		if err := compile(t.Context(), job); err == nil || !strings.Contains(err.Error(), "it is not valid WebAssembly: ") {
			t.Errorf("got %v", err)
		}
		job.Original = valid
		if err := compile(t.Context(), job); err != nil {
			t.Error(err)
		}
	}
}

// TestServe: arguments that are not those of Compile are refused before anything is
// limited or read.
func TestServe(t *testing.T) {
	for _, args := range []string{"", "a b c d", "dir pages 1 1s 0", "dir 1 memory 1s 0", "dir 1 1 soon 0", "dir 1 1 1s length"} {
		var stderr bytes.Buffer
		if status := child.Serve(t.Context(), strings.Fields(args), strings.NewReader(""), &stderr); status != 2 || stderr.Len() == 0 {
			t.Errorf("%q: status %d, %q", args, status, stderr.String())
		}
	}
}
