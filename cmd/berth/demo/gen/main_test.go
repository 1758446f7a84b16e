package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

const committed = "../cluster"

func TestCommittedFilesAreCurrent(t *testing.T) {
	files, err := render()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(committed, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the generator writes; run `make generate`", name)
		}
	}
	entries, err := os.ReadDir(committed)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, ok := files[entry.Name()]; !ok {
			t.Errorf("%s is not written by the generator; remove it or add it there", entry.Name())
		}
	}
}

func TestSizeStaysReadable(t *testing.T) {
	const limit = 400 << 10 // bytes
	files, err := render()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, data := range files {
		total += len(data)
	}
	if total > limit {
		t.Errorf("the demo cluster has %d bytes, the limit is %d", total, limit)
	}
}

func TestWriteIntoNewFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("got %d files, %v; want 4", len(entries), err)
	}
}
