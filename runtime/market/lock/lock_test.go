package lock_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/market/lock"
)

func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

func plugin() lock.Plugin {
	return lock.Plugin{
		Name: "rack-aware", Source: "oci://ghcr.io/example/rack-aware:1.2.0", Version: "1.2.0", Publisher: "Example",
		Module: digest("1"), Image: digest("2"), Signers: []string{"example-2026"}, Points: []string{"filter"},
		Reads: map[string][]string{"nodeLabels": {"example.com/rack"}}, Grants: wire.ManifestDirectives{Annotations: []string{"example.com/"}},
	}
}

func parse(t *testing.T, plugins ...lock.Plugin) *lock.File {
	t.Helper()
	text, err := lock.Text(plugins)
	if err != nil {
		t.Fatal(err)
	}
	f, err := lock.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// TestText: the order of plugins does not matter, and duplicates are written once.
func TestText(t *testing.T) {
	a, b := plugin(), plugin()
	b.Name = "another"
	one, err := lock.Text([]lock.Plugin{a, b})
	if err != nil {
		t.Fatal(err)
	}
	two, err := lock.Text([]lock.Plugin{b, a, a})
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("%v\n%s\n%s", err, one, two)
	}
	b.Name, b.Grants = a.Name, wire.ManifestDirectives{}
	if _, err := lock.Text([]lock.Plugin{a, b}); err == nil || !strings.Contains(err.Error(), "is used with two different settings") {
		t.Error(err)
	}
}

// TestCheck: a plugin that differs from its entry is refused, and the error says how.
func TestCheck(t *testing.T) {
	f := parse(t, plugin())
	for want, change := range map[string]func(*lock.Plugin){
		"": func(p *lock.Plugin) { p.Signers = nil },
		"the module is " + digest("3") + ", the lock file has " + digest("1"):             func(p *lock.Plugin) { p.Module = digest("3") },
		"the image is " + digest("3") + ", the lock file has " + digest("2"):              func(p *lock.Plugin) { p.Image = digest("3") },
		"rack-aware of oci://evil/x:1 is not in the lock file":                            func(p *lock.Plugin) { p.Source = "oci://evil/x:1" },
		"other of oci://ghcr.io/example/rack-aware:1.2.0 is not in the lock":              func(p *lock.Plugin) { p.Name = "other" },
		"it is granted [binds pods, writes annotations example.com/], in the lock file [": func(p *lock.Plugin) { p.Grants.Bind = true },

		`the lock file was edited: it has the version "1.2.0", the module with this digest has "1.2.1"`:    func(p *lock.Plugin) { p.Version = "1.2.1" },
		`the lock file was edited: it has the publisher "Example", the module with this digest has "Evil"`: func(p *lock.Plugin) { p.Publisher = "Evil" },
		`edited: it has the points "[filter]"`:                          func(p *lock.Plugin) { p.Points = nil },
		`edited: it has the reads "map[nodeLabels:[example.com/rack]]"`: func(p *lock.Plugin) { p.Reads = nil },
	} {
		p := plugin()
		change(&p)
		if err := f.Check(&p); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	canary := plugin() // of a rollout
	canary.Name, canary.Source = canary.Name+"@canary", canary.Source+"@"+digest("2")
	if err := f.Check(&canary); err != nil {
		t.Error(err)
	}
	if canary.Image = digest("3"); f.Check(&canary) == nil {
		t.Error("another image is taken for a version of a rollout")
	}
	if !f.Has(digest("1"), digest("2")) || f.Has(digest("1"), "") || f.Has(digest("2"), digest("1")) {
		t.Error("the lock has the wrong digests")
	}
}

// TestChanges: a reviewer sees what a plugin may do that it could not do before.
func TestChanges(t *testing.T) {
	was, now := plugin(), plugin()
	now.Version, now.Source, now.Module, now.Image = "1.3.0", "oci://ghcr.io/example/rack-aware:1.3.0", digest("3"), digest("4")
	now.Reads = map[string][]string{"podLabels": {"app"}, "pods": {"labels"}, "nodeLabels": {"example.com/rack"}}
	now.Grants, now.Signers = wire.ManifestDirectives{Nominate: true}, []string{"example-2027"}
	added := plugin()
	added.Name, added.Reads, added.Grants = "other", nil, wire.ManifestDirectives{}
	got := lock.Changes(parse(t, was), []lock.Plugin{now, added})
	want := []string{
		"rack-aware: version 1.2.0 -> 1.3.0",
		"rack-aware: source oci://ghcr.io/example/rack-aware:1.2.0 -> oci://ghcr.io/example/rack-aware:1.3.0",
		"rack-aware: module " + digest("1") + " -> " + digest("3"),
		"rack-aware: image " + digest("2") + " -> " + digest("4"),
		"rack-aware: reads the label app of placed pods: new",
		"rack-aware: reads labels of placed pods: new",
		"rack-aware: nominates nodes: new",
		"rack-aware: signed by example-2027: new",
		"rack-aware: writes annotations example.com/: removed",
		"rack-aware: signed by example-2026: removed",
		"other: new, version 1.2.0 (oci://ghcr.io/example/rack-aware:1.2.0)",
		"other: runs at filter: new",
		"other: signed by example-2026: new",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := lock.Changes(parse(t, was), nil); !slices.Equal(got, []string{"rack-aware: removed (oci://ghcr.io/example/rack-aware:1.2.0)"}) {
		t.Errorf("got %q", got)
	}
	if got := lock.Changes(parse(t, was), []lock.Plugin{was}); len(got) != 0 {
		t.Errorf("nothing changed, but got %q", got)
	}
}

// TestPermissions: each list in a manifest's reads has a description of its own, with the
// item's name.
func TestPermissions(t *testing.T) {
	p := lock.Plugin{Reads: map[string][]string{"later": {"x"}}}
	for _, r := range (&wire.Manifest{Reads: wire.ManifestReads{
		Node: []string{"x"}, NodeLabels: []string{"x"}, NodeAnnotations: []string{"x"}, NodeConditions: []string{"x"}, Resources: []string{"x"},
		Pods: []string{"x"}, PodLabels: []string{"x"}, PodAnnotations: []string{"x"}, Pod: []string{"x"},
		Namespaces: []string{"x"}, NamespaceLabels: []string{"x"}, Published: []string{"x"},
	}}).Readings() {
		p.Reads[r.List] = r.Names
	}
	got := lock.Permissions(&p)
	if len(got) != len(p.Reads) {
		t.Errorf("%d permissions of %d lists: %q", len(got), len(p.Reads), got)
	}
	for i, text := range got {
		list, _, _ := strings.Cut(strings.TrimPrefix(text, "reads "), " ")
		if _, raw := p.Reads[list]; slices.Contains(got[:i], text) || !strings.Contains(text, "x") || raw && list != "later" {
			t.Errorf("%q is a duplicate, or does not name the item, or shows the list's name", text)
		}
	}
}

// TestParse: text that is not a lock file is refused.
func TestParse(t *testing.T) {
	good, err := lock.Text([]lock.Plugin{plugin()})
	if err != nil {
		t.Fatal(err)
	}
	_, entry, _ := strings.Cut(string(good), "plugins:\n")
	for want, text := range map[string]string{
		"write kind: Lock":     "kind: Other",
		"write sha256: and 64": strings.Replace(string(good), digest("1"), "sha256:1", 1),
		"unknown field":        strings.Replace(string(good), "version:", "edition:", 1),
		"appears twice":        string(good) + entry,
		"at most 4194304 are":  string(good) + strings.Repeat("#", 4<<20),
	} {
		if _, err := lock.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzParse: what is parsed is unchanged after it is written and parsed again.
func FuzzParse(f *testing.F) {
	text, err := lock.Text([]lock.Plugin{plugin()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := lock.Parse(text)
		if err != nil {
			if len(err.Error()) > 2<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		for i := range file.Plugins {
			if err := file.Check(&file.Plugins[i]); err != nil {
				t.Errorf("an entry is not what was locked: %v", err)
			}
		}
		if changes := lock.Changes(file, file.Plugins); len(changes) > 0 {
			t.Errorf("nothing changed, but got %q", changes)
		}
		again, err := lock.Text(file.Plugins)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Parse(again); err != nil && len(again) <= lock.MaxSize {
			t.Errorf("%v\n%s", err, again)
		}
	})
}
