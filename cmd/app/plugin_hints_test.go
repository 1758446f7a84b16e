package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHintsFile: a project's hints are the lines of a file beside its scenarios.
func TestHintsFile(t *testing.T) {
	dir := t.TempDir()
	guest := filepath.Join(dir, "guest")
	writeFiles(t, dir, map[string]string{"testdata/hints": "# what pods have\ngold\n\nexample.com/tier=a b\r\n", "guest/main.go": "package main\n"})
	for _, project := range []string{dir, guest} {
		got, err := (&target{dir: project}).hints([]string{"own"})
		if want := []string{"own", "gold", "example.com/tier=a b"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if got, err := (&target{}).hints([]string{"own"}); err != nil || len(got) != 1 {
		t.Errorf("of a module: %q, %v", got, err)
	}
	file := filepath.Join(dir, "testdata", "hints")
	for text, want := range map[string]string{"ok\n\xff\n": "hints:2: \"\\xff\" is not UTF-8: write one hint a line", strings.Repeat("x", 65<<10): "64 KiB"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readHints(filepath.Dir(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
