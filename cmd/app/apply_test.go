package app

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-scheduler/berth/internal/smalldisk"
)

// TestApplyOnFullDisk: no file is lost or cut on a disk that becomes full, and all is as before.
func TestApplyOnFullDisk(t *testing.T) {
	dir := smalldisk.New(t)
	lock, module := filepath.Join(dir, "berth.lock"), filepath.Join(dir, "a.wasm")
	write(t, lock, "old")
	write(t, module, strings.Repeat("o", 300<<10))
	steps := []step{{lock, []byte("new")}, {module, bytes.Repeat([]byte("n"), 800<<10)}}
	err := apply(steps)
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasSuffix(err.Error(), ": nothing was changed") {
		t.Errorf("got %v", err)
	}
	free := smalldisk.Fill(t, dir)
	if err := apply(steps[:1]); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	free()
	files, err := os.ReadDir(dir)
	old, failed := os.ReadFile(lock)
	if err != nil || failed != nil || len(files) != 2 || string(old) != "old" {
		t.Errorf("%d files are left, the lock file has %q: %v, %v", len(files), old, err, failed)
	}
	if info, err := os.Stat(module); err != nil || info.Size() != 300<<10 {
		t.Errorf("the module has %d bytes, %v", info.Size(), err)
	}
	steps[1].data = steps[1].data[:400<<10]
	if err := apply(steps); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

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
