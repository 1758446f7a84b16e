package assembly

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestFilesAsMemory: of modules that are larger than the memory of their plugins, or of all plugins, nothing is read.
func TestFilesAsMemory(t *testing.T) {
	const files, size = 20, 29 << 20
	for _, c := range []struct {
		limits string
		memory int64
		read   int // files that are not refused by their size
		want   string
	}{
		{"limits: {memory: 4Mi, memoryTotal: 10Mi}\n", 0, 0, "30408704 bytes, at most 10485760 are allowed"},
		{"", 100 << 20, 3, "the modules of the folder have more bytes than all plugins may have memory"},
	} {
		dir := t.TempDir()
		for i := range files {
			file := filepath.Join(dir, fmt.Sprintf("m%02d.wasm", i))
			for name, text := range map[string]string{file: "", strings.TrimSuffix(file, "wasm") + "yaml": c.limits} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Truncate(file, size); err != nil {
				t.Fatal(err)
			}
		}
		modules := NewModules(ModulesConfig{Memory: c.memory})
		r := start(t, Config{Modules: modules})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := r.scheduler.ReadFolder(t.Context(), FolderConfig{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		refused := 0
		for _, s := range f.Status() {
			if text := errText(s.Err); strings.Contains(text, c.want) {
				refused++
			} else if !strings.Contains(text, "not a WebAssembly module") {
				t.Errorf("%s: %v", s.Path, s.Err)
			}
		}
		// A file that is read grows a buffer.
		if read, most := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+c.read*6*size); refused != files-c.read || read > most {
			t.Errorf("%d modules were refused by their size, want %d; %d bytes were allocated, at most %d may be", refused, files-c.read, read, most)
		}
	}
}

// swelling returns a module whose machine code is many times as large as its own: each call passes or returns 250 values.
func swelling(t *testing.T, calls int) string {
	t.Helper()
	values := strings.Repeat(" i64", 250)
	data := wat.Compile(t, fmt.Sprintf(`(module
		(memory (export "memory") 40)
		(func $give (result%s) %s)
		(func $take (param%s))
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) %s (i32.const 0)))`,
		values, strings.Repeat("(i64.const 0)", 250), values, strings.Repeat("(call $take (call $give))", calls)),
		`{"name": "swelling", "version": "1.0.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}, "reads": {"node": ["generation"]}}`)
	file := filepath.Join(t.TempDir(), "swelling.wasm")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestMachineCodeAsMemory: what counts is the machine code that the compiler made, however small the module is.
func TestMachineCodeAsMemory(t *testing.T) {
	file := swelling(t, 400)
	try := func(memory int64, limits module.Limits) (taken int64, err error) {
		t.Helper()
		modules := NewModules(ModulesConfig{CacheDir: t.TempDir(), Memory: memory})
		s := enabled(t, modules, Default(), module.Reference{Path: file, Limits: limits})
		a, err := New(Config{Scheduler: s, Modules: modules}, Deps{Binder: noBinder{}, Clock: clock.Real{}, Outlet: &recorder{}})
		if err != nil {
			return 0, err
		}
		for _, code := range modules.mu.compiled {
			taken = code.module.Memory()
		}
		a.Close()
		return taken, nil
	}
	size := int64(0)
	if info, err := os.Stat(file); err == nil {
		size = info.Size()
	}
	taken, err := try(0, module.Limits{Memory: 4 << 20})
	if err != nil || taken < 100*size {
		t.Fatalf("a module of %d bytes takes %d: %v", size, taken, err)
	}
	t.Logf("a module of %d bytes takes %d", size, taken)
	if _, err := try(0, module.Limits{Memory: 1 << 20, MemoryTotal: taken - 1}); err == nil ||
		!strings.Contains(err.Error(), "when compiled, and limits.memoryTotal is") {
		t.Errorf("a plugin has less memory than its machine code: %v", err)
	}
	// Beside its machine code the plugin needs 5 MiB.
	if _, err := try(taken+4<<20, module.Limits{Memory: 4 << 20, MemoryTotal: 2 * taken}); err == nil ||
		!strings.Contains(err.Error(), "the module and its machine code take") {
		t.Errorf("all plugins have less memory than the machine code of one: %v", err)
	}
	if _, err := try(taken+64<<20, module.Limits{Memory: 4 << 20, MemoryTotal: 2 * taken}); err != nil {
		t.Error(err)
	}
}
