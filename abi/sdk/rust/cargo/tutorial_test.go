package cargo_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/testcache"
)

// TestRestTutorial follows the README's tutorial, with its texts.
func TestRestTutorial(t *testing.T) {
	toolchain := cargotest.Toolchain(t)
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```(toml|json|rust|text)\n(.*?)^```").FindAllSubmatch(readme, -1)
	// The same folder for the same texts, so that cargo need not build anew what has not changed.
	key, err := testcache.Key(nil, nil, string(readme), sdk)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := testcache.Dir(filepath.Join("..", "..", "..", ".."), filepath.Join("cargo-tutorial", key))
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range []string{"Cargo.toml", "manifest.json", "src/lib.rs", "testdata/nodes.txt"} {
		if i == len(blocks) {
			t.Fatalf("README.md has %d blocks of toml, json, rust or text, there must be one for %s", i, file)
		}
		text := strings.ReplaceAll(string(blocks[i][2]), "../berth/abi/sdk/rust", filepath.ToSlash(sdk))
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if there, err := os.ReadFile(path); err == nil && string(there) == text {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(dir, "target")
	module, err := toolchain.Build(context.Background(), dir, target)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.ReadModule(module)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := wire.ReadManifest(m, abi.ManifestSection)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Check(m, manifest, "the tutorial's module"); err != nil {
		t.Error(err)
	}
	for _, warning := range wire.Warnings(m, manifest) {
		t.Errorf("the tutorial's module: %s", warning)
	}
}
