package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGenerated: the files have what the table says.
func TestGenerated(t *testing.T) {
	for _, f := range files() {
		now, err := os.ReadFile(filepath.Join("../..", f.path))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := f.renewed(string(now)); err != nil || want != string(now) {
			t.Errorf("abi/%s differs from the table of abi/fields (%v): run go generate ./...", f.path, err)
		}
	}
}

// TestRenewed: a part is replaced, and a file that has lost a part's bounds, or has them twice, is refused.
func TestRenewed(t *testing.T) {
	f := &file{path: "x", parts: []part{{"<\n", ">", "new\n"}}}
	for content, want := range map[string]string{
		"a<\nold\n>b": "a<\nnew\n>b", "a<\n>b": "a<\nnew\n>b", "a\n>b": "", "a<\nb": "", "<\n><\n>": "",
	} {
		if got, err := f.renewed(content); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q (%v), want %q", content, got, err, want)
		}
	}
	if got := snake("NonZeroRequested") + snake("UID") + snake("Name"); got != strings.Join([]string{"NON_ZERO_REQUESTED", "UID", "NAME"}, "") {
		t.Error(got)
	}
}
