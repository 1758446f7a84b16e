// Package smalldisk gives tests a file system that is full as a disk is full: a write fails, or only its beginning is written.
package smalldisk

import (
	"os"
	"path/filepath"
	"testing"
)

// Fill takes all the room in a folder that New made. What it returns gives the room back.
func Fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	file := filepath.Join(dir, "filler")
	for size := 64 << 10; size > 0; size /= 16 { // the last bytes too
		if err := add(file, make([]byte, size)); err == nil {
			t.Fatal("the disk is never full")
		}
	}
	return func() {
		t.Helper()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// add writes data until it fails, at most as often as fills a disk of New.
func add(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // the file is never read
	for written := 0; written <= 2*Size; written += len(data) {
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// Size is how many bytes the disk has.
const Size = 1 << 20
