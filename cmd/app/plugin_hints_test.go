package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
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

// TestColumnHints: a value of a column of objects that has numbers is a number.
func TestColumnHints(t *testing.T) {
	m := &wire.Manifest{Reads: wire.ManifestReads{ObjectColumns: []string{"o.a[name=x].b:string", "o.c[*].d:quantity"}}}
	if err := checkHints(m, []string{"o.a[name=x].b:string=any", "o.c[*].d:quantity=-1500", "other", "k=v"}); err != nil {
		t.Error(err)
	}
	const want = `hint o.c[*].d:quantity=1Gi: "1Gi" is not a whole number: write one, of quantities in thousandths`
	if err := checkHints(m, []string{"o.c[*].d:quantity=1Gi"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
