package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestPluginBuildC: C files become a module with one manifest, which must be the one
// beside them.
func TestPluginBuildC(t *testing.T) {
	clangtest.Toolchain(t)
	dir := filepath.Join("..", "..", "wasm-examples", "tenantpool", "c")
	out := filepath.Join(t.TempDir(), "plugin.wasm")
	stdout, stderr, err := pluginCommand(t, "build", dir, "-o", out)
	if err != nil || stderr != "" || !strings.HasPrefix(stdout, out+": tenant-pool 1.0.0, ") {
		t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.ReadModule(data)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Custom(abi.ManifestSection)); n != 1 {
		t.Errorf("the module has %d manifests", n)
	}

	other := filepath.Join("..", "..", "wasm-examples", "noisyneighbour", "manifest.json")
	_, _, err = pluginCommand(t, "build", dir, "--manifest", other, "-o", out)
	if want := "the plugin carries another manifest than " + other + ": BERTH_PLUGIN must name this file"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}

	broken := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{"name": "x", "version": "1.0.0", "abi": "1.0", "points": {"filter": {}}}`,
		"plugin.c":      "#include \"berth.h\"\n",
	} {
		if err := os.WriteFile(filepath.Join(broken, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err = pluginCommand(t, "build", broken, "-o", out); err == nil || !strings.Contains(err.Error(), "copy abi/sdk/c/berth.h into the folder") {
		t.Errorf("a plugin without the SDK: %v", err)
	}
}

// TestPluginBuildWithoutClang: without the toolchain, what to install is told.
func TestPluginBuildWithoutClang(t *testing.T) {
	t.Setenv("CLANG", "/nowhere/clang")
	dir := filepath.Join("..", "..", "wasm-examples", "tenantpool", "c")
	_, _, err := pluginCommand(t, "build", dir, "-o", filepath.Join(t.TempDir(), "plugin.wasm"))
	if want := "no C toolchain for wasm32: there is no /nowhere/clang; install one: on Debian and Ubuntu apt-get install clang lld"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
