//go:build unix

package app

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPrivate: a recording and a configuration with keys are for their owner only, also in a file that everybody could read.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	write(t, there, "old")
	if err := os.Chmod(there, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{there, filepath.Join(dir, "new")} {
		for _, args := range [][]string{
			{"simulate", "--cluster", "../berth/demo/cluster", "--record", file},
			{"run", "--write-config-to", file},
		} {
			if status := run(t.Context(), args, io.Discard, io.Discard); status != exitOK {
				t.Fatal(args, status)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() < 10 {
				t.Errorf("%v: %v, %v", args, info, err)
			}
			if file == there {
				if err := os.Chmod(file, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	if err := writePrivate(pipe, []byte("x")); err != nil {
		t.Error(err)
	}
}

// TestWarnOpen: a folder where all users can write is warned of.
func TestWarnOpen(t *testing.T) {
	var told []string
	tell := func(text string) { told = append(told, text) }
	for _, mode := range []os.FileMode{0o700, 0o775, 0o757, os.ModeSticky | 0o777} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		for _, added := range []bool{true, false} {
			told = nil
			warnOpen(tell, "plugin-dir", dir, "add plugins", added)
			want := "--plugin-dir: every user of this machine can write to " + dir
			open := mode&0o002 != 0 && (added || mode&os.ModeSticky == 0)
			if open != (len(told) == 1) || open && !strings.Contains(told[0], want) {
				t.Errorf("%v, added %v: %q", mode, added, told)
			}
		}
	}
	told = nil
	warnOpen(tell, "record", "", "replace recordings", false)
	warnOpen(tell, "record", filepath.Join(t.TempDir(), "none"), "replace recordings", false)
	if len(told) > 0 {
		t.Error(told)
	}
}
