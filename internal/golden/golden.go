// Package golden compares the output of a test with a file beside the test. `go test ./...
// -rewrite` rewrites the files; read the diff before committing it. Only tests import this
// package.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rewrite is the flag of all golden tests.
var rewrite = flag.Bool("rewrite", false, "write golden files instead of comparing with them")

// Rewriting reports whether the test run writes golden files.
func Rewriting() bool { return *rewrite }

// Check fails t unless the file at path contains exactly got. With -rewrite it writes the file,
// and its folder, instead.
func Check(t testing.TB, path string, got []byte) {
	t.Helper()
	if !*rewrite {
		Compare(t, path, got)
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Compare is Check without -rewrite, for a second source of the same text.
func Compare(t testing.TB, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -rewrite to create it", err)
	}
	if bytes.Equal(want, got) {
		return
	}
	line, w, g := firstDifference(string(want), string(got))
	t.Errorf("%s:%d differs; run the test with -rewrite if the new text is right\n want: %s\n  got: %s", path, line, w, g)
}

// firstDifference returns the number (from 1) and the texts of the first line in which want and
// got differ; a missing line is shown as "(end of file)".
func firstDifference(want, got string) (line int, w, g string) {
	ws, gs := strings.Split(want, "\n"), strings.Split(got, "\n")
	at := func(lines []string, i int) string {
		if i < len(lines) {
			return lines[i]
		}
		return "(end of file)"
	}
	for i := range max(len(ws), len(gs)) {
		if w, g := at(ws, i), at(gs, i); w != g {
			return i + 1, w, g
		}
	}
	return len(ws), "", ""
}
