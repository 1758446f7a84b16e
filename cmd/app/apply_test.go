package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestApplyModules: files of any size that a module may have are replaced and removed, and are back if a later step fails.
func TestApplyModules(t *testing.T) {
	dir := t.TempDir()
	module, gone := filepath.Join(dir, "a.wasm"), filepath.Join(dir, "b.wasm")
	old, next := bytes.Repeat([]byte("o"), 5<<20), bytes.Repeat([]byte("n"), 6<<20)
	for _, file := range []string{module, gone} {
		if err := os.WriteFile(file, old, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	is := func(file string, want []byte) {
		t.Helper()
		if got, err := os.ReadFile(file); (want == nil) != os.IsNotExist(err) || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v, want %d", file, len(got), err, len(want))
		}
	}
	steps := []step{{path: module, data: next}, {path: gone}}
	if err := apply(append(steps, step{path: filepath.Join(dir, "no", "folder"), data: old})); err == nil {
		t.Error("a file is made in a folder that does not exist")
	}
	is(module, old)
	is(gone, old)
	if err := apply(steps); err != nil {
		t.Fatal(err)
	}
	is(module, next)
	is(gone, nil)
}
