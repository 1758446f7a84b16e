package clang_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/c/clang"
	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
)

// compiler writes a script that acts as a clang with these targets and this linker, and returns
// its path.
func compiler(t *testing.T, targets, linker string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clang")
	script := "#!/bin/sh\ncase $1 in --print-targets) " + targets + ";; *) echo " + linker + ";; esac\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFindIn: it returns the first compiler that has the target and the linker; otherwise the
// error says what was tried and how to install one.
func TestFindIn(t *testing.T) {
	const has = "echo '    wasm32 - WebAssembly 32-bit'"
	good := compiler(t, has, "/bin/sh")
	noTarget, noLinker, broken := compiler(t, "echo x86-64", "/bin/sh"), compiler(t, has, "wasm-ld-that-is-not-there"), compiler(t, "exit 1", "")
	got, err := clang.FindIn(context.Background(), noTarget, "/nowhere/clang", good)
	if err != nil || got.Clang != good {
		t.Errorf("got %v, %v; want %s", got, err, good)
	}
	_, err = clang.FindIn(context.Background(), "/nowhere/clang", noTarget, noLinker, broken)
	if !errors.Is(err, clang.ErrNoToolchain) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"there is no /nowhere/clang", noTarget + " does not have the target", noLinker + " does not find wasm-ld", broken + " does not run", clang.Install,
	} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("%v, want %q in it, once", err, want)
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := clang.FindIn(stopped, good); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// folder writes the files of a plugin, and berth.h.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	header, err := os.ReadFile("../berth.h")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if text == "" {
			text = string(header)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const plugin = `#include "berth.h"
static void setup(void) {}
static BerthStatus filter(BerthPod pod, BerthNode node) { return (void)pod, (void)node, BERTH_SUCCESS; }
BERTH_PLUGIN("manifest.json", setup);
BERTH_FILTER(filter);
`

// wide returns a function that the linker keeps.
func wide(body string) string {
	return "__attribute__((export_name(\"wide\"))) int64_t wide(int64_t a, int64_t b) { " + body + " }\n"
}

// TestRestBuild: the same sources give the same module, and mistakes are reported with a remedy.
func TestRestBuild(t *testing.T) {
	toolchain := clangtest.Toolchain(t)
	files := map[string]string{"plugin.c": plugin, "plugin_test.c": "not C", "berth.h": "", "manifest.json": `{"name":"x"}`}
	var modules [2]string
	for i := range modules {
		module, err := toolchain.Build(context.Background(), folder(t, files))
		if err != nil {
			t.Fatal(err)
		}
		modules[i] = string(module)
	}
	if modules[0] != modules[1] {
		t.Error("two builds differ")
	}
	if m := modules[0]; !strings.HasPrefix(m, "\x00asm") || !strings.Contains(m, "\x0eberth.manifest"+`{"name":"x"}`) || strings.Contains(m, os.TempDir()) {
		t.Error("the result is not a module with the manifest, or it contains the build folder")
	}
	var warnings bytes.Buffer
	toolchain.Warnings = &warnings
	files["plugin.c"] = plugin + "static int f(void) { return 0; }\n"
	if _, err := toolchain.Build(context.Background(), folder(t, files)); err != nil || !strings.Contains(warnings.String(), "plugin.c:") || !strings.Contains(warnings.String(), "-Wunused-function") {
		t.Errorf("a function that nothing calls: %v, %s", err, &warnings)
	}
	files["plugin.c"] = plugin + wide("return __builtin_mul_overflow(a, b, &a) || (int64_t)((__int128)a * b >> 64);")
	if _, err := toolchain.Build(context.Background(), folder(t, files)); err != nil {
		t.Errorf("a product of 128 bits: %v", err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no library of clang": {map[string]string{
			"plugin.c": plugin + wide("return (int64_t)(((__int128)a << 64) / b);"), "berth.h": "", "manifest.json": "{}",
		}, "divisions of 128 bits"},
		"no header":   {map[string]string{"plugin.c": plugin, "manifest.json": "{}"}, "copy abi/sdk/c/berth.h"},
		"no manifest": {map[string]string{"plugin.c": plugin, "berth.h": ""}, "relative to the folder of the plugin"},
		"no plugin": {map[string]string{"plugin.c": "#include \"berth.h\"\n__attribute__((export_name(\"f\"))) void *f(void) { return berth_keep(1); }\n", "berth.h": ""},
			"one of the files needs BERTH_PLUGIN"},
		"a library":      {map[string]string{"plugin.c": plugin + "int puts(const char *);\nBERTH_SCORE(score)", "berth.h": "", "manifest.json": "{}"}, "score"},
		"does not build": {map[string]string{"plugin.c": "int f(void) { return x; }"}, "use of undeclared identifier 'x'"},
		"no return":      {map[string]string{"plugin.c": "int f(void) {}"}, "-Werror,-Wreturn-type"},
		"a clock":        {map[string]string{"plugin.c": "#include <time.h>"}, "reads.pod of the manifest, and take the time from berth_pod_now"},
		"a header":       {map[string]string{"plugin.c": "#include <sys/stat.h>"}, "without a C library"},
		"no C":           {nil, "there are no C files"},
	} {
		if _, err := toolchain.Build(context.Background(), folder(t, c.files)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestFiles: tests are not part of a plugin.
func TestFiles(t *testing.T) {
	dir := filepath.Join(folder(t, nil), "a[b]*")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.c", "a.c", "a_test.c", "c.h"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := clang.Files(dir); err != nil || !slices.Equal(got, []string{"a.c", "b.c"}) {
		t.Errorf("got %v, %v", got, err)
	}
}
