package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/abi/wire"
)

// TestPluginBuildRust: a crate becomes a module with one manifest, which must be
// the one beside it.
func TestPluginBuildRust(t *testing.T) {
	cargotest.Toolchain(t)
	crate := filepath.Join("..", "..", "wasm-examples", "tenantpool", "rust")
	out := filepath.Join(t.TempDir(), "plugin.wasm")
	stdout, stderr, err := pluginCommand(t, "build", crate, "-o", out)
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
	_, _, err = pluginCommand(t, "build", crate, "--manifest", other, "-o", out)
	if want := "the crate carries another manifest than " + other + ": its MANIFEST must be include_str! of this file"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}

	broken := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{"name": "x", "version": "1.0.0", "abi": "1.0", "points": {"filter": {}}}`,
		"Cargo.toml":    "[package]\nname = \"x\"\nversion = \"0.1.0\"\n",
	} {
		if err := os.WriteFile(filepath.Join(broken, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err = pluginCommand(t, "build", broken, "-o", out); err == nil || !strings.Contains(err.Error(), "cargo metadata in "+broken) {
		t.Errorf("a crate without sources: %v", err)
	}
}
