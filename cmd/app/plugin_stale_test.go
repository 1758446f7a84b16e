package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStale: a module is told if a source of its project is newer, wherever the two are; tests, the SDK and other projects do not count.
func TestStale(t *testing.T) {
	at := func(name string, minutes int) {
		when := time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.FromSlash(name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	const manifest = `{"name": "quiet"}`
	for _, c := range []struct {
		module, newer, want string
		others              []string
	}{
		{"quiet/quiet.wasm", "quiet/quiet.go", "quiet/quiet.wasm is older than quiet/quiet.go: berth plugin build quiet -o quiet/quiet.wasm", nil},
		{"quiet.wasm", "quiet/quiet.go", "quiet.wasm is older than quiet/quiet.go: berth plugin build quiet -o quiet.wasm", nil},
		{"berth/quiet.wasm", "quiet/guest/main.go", "berth/quiet.wasm is older than quiet/guest/main.go: berth plugin build quiet -o berth/quiet.wasm", nil},
		{"far/away/quiet.wasm", "quiet/manifest.json", "far/away/quiet.wasm is older than quiet/manifest.json: berth plugin build quiet -o far/away/quiet.wasm", []string{"quiet"}},
		{"far/away/quiet.wasm", "quiet/quiet.go", "", nil},
		{"quiet.wasm", "quiet/quiet_test.go", "", nil},
		{"quiet.wasm", "quiet/berth/sdk.go", "", nil},
		{"quiet.wasm", "quiet/testdata/nodes.txt", "", nil},
		{"quiet.wasm", "loud/loud.go", "", []string{"loud"}},
		{"quiet.wasm", "", "", nil},
		{"none.wasm", "quiet/quiet.go", "", nil},
	} {
		t.Chdir(t.TempDir())
		files := []string{
			"quiet/manifest.json", "quiet/quiet.go", "quiet/guest/main.go", "quiet/quiet_test.go", "quiet/berth/sdk.go", "quiet/testdata/nodes.txt",
			"loud/manifest.json", "loud/loud.go",
		}
		if c.module != "none.wasm" {
			files = append(files, c.module)
		}
		for _, name := range files {
			writeFiles(t, ".", map[string]string{name: map[bool]string{true: manifest}[name == "quiet/manifest.json"]})
			at(name, 1)
		}
		if c.newer != "" {
			at(c.newer, 2)
		}
		if got := stale(c.module, "quiet", c.others...); got != c.want {
			t.Errorf("%s, newer %s: %q, want %q", c.module, c.newer, got, c.want)
		}
	}
}
