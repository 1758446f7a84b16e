package module_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
)

// TestFolderInJSON: a file beside a module may be JSON, with all its escapes, and its numbers stay as they are.
func TestFolderInJSON(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.wasm": "", "a.yaml": `{"name": "a", "config": {"path": "x\/y", "face": "\ud83d\ude00", "n": 1.0}}`,
		"b.wasm": "", "b.yaml": `{"name": "b", "name": "c"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := module.ReadFolder(dir)
	if err != nil || len(entries) != 2 || entries[0].Err != nil {
		t.Fatalf("%+v, %v", entries, err)
	}
	if got, want := string(entries[0].Reference.Config), `{"face":"😀","n":1.0,"path":"x/y"}`; got != want {
		t.Errorf("the configuration is %s, want %s", got, want)
	}
	if err := entries[1].Err; err == nil || !strings.Contains(err.Error(), "name: the field appears twice") {
		t.Errorf("a field that is given twice: %v", err)
	}
}

// TestReadFolder: modules are returned with their YAML files, sorted by name. A mistake in one
// does not affect others.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.wasm": "", "a.wasm": "", "c.wasm": "", "d.wasm": "", "e.wasm": "", ".hidden.wasm": "", "note.txt": "", ".wasm": "",
		"a.yaml": "name: first\nweight: 3\nconfig: {x: 1}\nnamespaces: [yy, x]\nfailurePolicy: {filter: Ignore}\ngrants: {nominate: true}\nlimits: {depth: 9}\n",
		"c.yaml": "wieght: 3\nname: -a\nconfig: []\n",
		"d.yaml": "a: b: c",
		"e.yaml": "",
		"f.yaml": "weight: 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.wasm"), 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := module.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	want := []module.Entry{
		{Path: at("a.wasm"), Reference: module.Reference{
			Path: at("a.wasm"), Folder: true, Name: "first", Weight: 3, Config: []byte(`{"x":1}`), Namespaces: []string{"x", "yy"},
			FailurePolicy: module.FailurePolicies{Points: map[string]v1alpha1.FailurePolicy{"filter": v1alpha1.Ignore}},
			Grants:        wire.ManifestDirectives{Nominate: true}, Limits: module.Limits{Depth: 9},
		}},
		{Path: at("b.wasm"), Reference: module.Reference{Path: at("b.wasm"), Folder: true}},
		{Path: at("c.wasm")}, {Path: at("d.wasm")},
		{Path: at("e.wasm"), Reference: module.Reference{Path: at("e.wasm"), Folder: true}},
	}
	texts := []string{"", "", `c.yaml: line 1: wieght: unknown field; did you mean "weight"?`, "d.yaml: ", ""}
	if len(entries) != len(want) {
		t.Fatalf("%d entries, want %d", len(entries), len(want))
	}
	for i, e := range entries {
		if texts[i] != "" {
			if e.Err == nil || !strings.Contains(e.Err.Error(), texts[i]) {
				t.Errorf("%s: error %v, want %q", e.Path, e.Err, texts[i])
			}
			e.Err, e.Reference = nil, module.Reference{}
		}
		if diff := cmp.Diff(want[i], e); diff != "" {
			t.Errorf("entry %d (-want +got):\n%s", i, diff)
		}
	}
	if _, err := module.ReadFolder(at("none")); err == nil || !strings.Contains(err.Error(), "name a folder that can be read") {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestWatch: no change is lost.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	changed, err := module.Watch(t.Context(), dir, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		for i := range 10 {
			if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))), []byte{byte(round)}, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		<-changed
	}
}

// TestWatchAgain: the removal of a folder is reported once, and so are its return and later
// changes in it.
func TestWatchAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	create := func() {
		t.Helper()
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	create()
	const settle = 20 * time.Millisecond
	changed, err := module.Watch(t.Context(), dir, settle)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string) {
		t.Helper()
		<-changed
		t.Log("reported:", what)
		select { // on a busy machine perhaps twice
		case <-changed:
		case <-time.After(5 * settle):
		}
	}
	for range 2 {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		expect("the folder's removal")
		create()
		expect("the folder's return")
		file := filepath.Join(dir, "a")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		expect("a change")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		expect("another change")
	}
}
