package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDevWaits: one round for a burst of saves, which begins when the files rest, or at last if they do not.
func TestDevWaits(t *testing.T) {
	at := func(n int64) fileVersions { return fileVersions{"a": {modified: n}} }
	for name, c := range map[string]struct {
		looks []fileVersions // the last one again and again
		want  fileVersions
		after int // looks
	}{
		"a save":              {[]fileVersions{at(1), at(1), at(2)}, at(2), 5},
		"two saves":           {[]fileVersions{at(2), at(2), at(3)}, at(3), 5},
		"a save taken back":   {[]fileVersions{at(2), at(1), at(1), at(1), at(3)}, at(3), 7},
		"a file that is gone": {[]fileVersions{{}}, fileVersions{}, 3},
	} {
		looked := 0
		w := watcher{
			scan: func() fileVersions {
				looked++
				return c.looks[min(looked, len(c.looks))-1]
			},
			rest: func(context.Context) bool { return true },
		}
		if got := w.next(t.Context(), at(1)); got == nil || len(got.since(c.want)) > 0 || looked != c.after {
			t.Errorf("%s: got %v after %d looks, want %v after %d", name, got, looked, c.want, c.after)
		}
	}
	var n int64
	restless := watcher{scan: func() fileVersions { n++; return at(n) }, rest: func(context.Context) bool { return true }}
	if got := restless.next(t.Context(), at(0)); n != mostLooks || got["a"].modified != n {
		t.Errorf("files that do not rest: got %v after %d looks", got, n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := (&watcher{scan: func() fileVersions { return at(1) }, rest: rested}).next(ended, at(1)); got != nil {
		t.Errorf("after the end: %v", got)
	}
}

// TestDevSees: sources are seen however an editor writes them, and what tools write is not.
func TestDevSees(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(t.TempDir(), "cluster.yaml")
	writeFiles(t, dir, map[string]string{"manifest.json": "{}", "src/lib.rs": "a", "old.h": ""})
	files := watchedFiles{dir: dir, others: []string{other}}
	before := files.scan()
	told := func(want ...string) {
		t.Helper()
		now := files.scan()
		got := now.since(before)
		for i, line := range got {
			got[i] = strings.TrimPrefix(line, dir+string(filepath.Separator))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		before = now
	}
	told()
	writeFiles(t, dir, map[string]string{
		".git/index": "", "target/a.rs": "", "berth/node_modules/x/index.ts": "", "a.wasm": "", ".lib.rs.swp": "", "lib.rs~": "", "#lib.rs#": "",
		"Cargo.lock": "",
	})
	told()
	writeFiles(t, dir, map[string]string{"new/deep/a.txt": "", "src/lib.rs": "ab"})
	told("new/deep/a.txt is new", "src/lib.rs changed")
	writeFiles(t, dir, map[string]string{".temporary": "cd"}) // of the same size, and moved there
	if err := os.Rename(filepath.Join(dir, ".temporary"), filepath.Join(dir, "src/lib.rs")); err != nil {
		t.Fatal(err)
	}
	told("src/lib.rs changed")
	if err := os.Remove(filepath.Join(dir, "old.h")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told("old.h is deleted", other+" is new")
}

// TestDevTells: what differs from an earlier round is told, and only that.
func TestDevTells(t *testing.T) {
	first := []finding{
		{kind: testKind, name: "a.txt"}, {kind: testKind, name: "b.txt", value: "b.txt:1: got\nx", failed: true}, {kind: testKind, name: "duties"},
		{kind: noteKind, name: "a note"}, {kind: podsKind, value: "2 of 4 placed"},
		{kind: podKind, name: "x/1", value: "on a"}, {kind: podKind, name: "x/2", value: "on a"}, {kind: podKind, name: "x/3", value: "pending: full"},
		{kind: podKind, name: "x/4", value: "pending: full"}, {kind: logKind, name: "msg=hi", value: "3"}, {kind: sizeKind, value: "1 KiB"},
	}
	second := []finding{
		{kind: testKind, name: "a.txt", value: "a.txt:7: got\ny\x1b", failed: true}, {kind: testKind, name: "b.txt"}, {kind: podsKind, value: "2 of 4 placed"},
		{kind: podKind, name: "x/1", value: "on b"}, {kind: podKind, name: "x/2", value: "on a"}, {kind: podKind, name: "x/3", value: "on b"},
		{kind: podKind, name: "x/5", value: "pending: full"}, {kind: logKind, name: "msg=ho", value: "1"}, {kind: sizeKind, value: "2 KiB"},
	}
	for _, c := range []struct {
		now, before []finding
		round       int
		ok          bool
		want        string
	}{
		{first, nil, 0, false, `ok    a.txt
FAIL  b.txt
      b.txt:1: got
      x
ok    duties
note  a note
pods  2 of 4 placed
pod   x/3, x/4: pending: full
log   msg=hi (3 times)
size  1 KiB
`},
		{second, first, 1, false, `FAIL  a.txt (passed in round 1)
      a.txt:7: got
      y` + "\uFFFD" + `
ok    b.txt (failed in round 1)
----  duties: not run
note  no longer: a note
pod   x/1: on b; before on a
pod   x/3: on b; before pending: full
pod   x/5: pending: full
pod   x/4: gone
log   msg=ho (1 times)
log   no longer: msg=hi
size  2 KiB, before 1 KiB
`},
		{second, second, 2, false, "FAIL  a.txt (as in round 2)\n"},
		{second[1:], second[1:], 3, true, "nothing changed since round 3\n"},
	} {
		var out bytes.Buffer
		p := printer{w: &out}
		if ok := p.findings(c.now, c.before, c.round); ok != c.ok || out.String() != c.want {
			t.Errorf("got %v and\n%s\nwant %v and\n%s", ok, out.String(), c.ok, c.want)
		}
	}
}
