package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

const emptyModule = "\x00asm\x01\x00\x00\x00"

// TestCustomSections: a section is added once, found, and removed (ABI-1.5).
func TestCustomSections(t *testing.T) {
	payload := bytes.Repeat([]byte("x"), 300) // two bytes of length
	one, err := wire.AppendCustomSection([]byte(emptyModule), "a", payload)
	if err != nil {
		t.Fatal(err)
	}
	two, err := wire.AppendCustomSection(one, "b", nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.ReadModule(two)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.Custom("a"), m.Custom("b"); len(a) != 1 || !bytes.Equal(a[0], payload) || len(b) != 1 || len(b[0]) != 0 {
		t.Errorf("sections are %q and %q", a, b)
	}
	if _, err := wire.AppendCustomSection(two, "a", nil); err == nil || !strings.Contains(err.Error(), `there is already a section "a"; remove it first`) {
		t.Errorf("a second section a: %v", err)
	}
	out, n, err := wire.RemoveCustomSection(two, "a")
	if err != nil || n != 1 || len(out) != len(emptyModule)+4 {
		t.Errorf("removed %d: %x (%v)", n, out, err)
	}
	if out, n, err = wire.RemoveCustomSection(out, "b"); err != nil || n != 1 || string(out) != emptyModule {
		t.Errorf("removed %d: %x (%v)", n, out, err)
	}
	if _, _, err := wire.RemoveCustomSection([]byte("no"), "a"); err == nil {
		t.Error("removed a section from what is not a module")
	}
	if _, err := wire.AppendCustomSection([]byte("no"), "a", nil); err == nil {
		t.Error("added a section to what is not a module")
	}
}

// TestReadManifest: there must be exactly one manifest (ABI-1.5).
func TestReadManifest(t *testing.T) {
	section := func(payloads ...string) *wire.Module {
		m := &wire.Module{}
		for _, p := range payloads {
			m.Customs = append(m.Customs, wire.Custom{Name: abi.ManifestSection, Payload: []byte(p)})
		}
		return m
	}
	good := `{"name":"a","version":"1.0.0","abi":"1.0","points":{"filter":{}}}`
	command := section()
	command.Exports = []wire.Export{{Name: "_start"}}
	cases := []struct {
		m    *wire.Module
		want string
	}{
		{section(good), ""},
		{section(), `a.wasm: section "berth.manifest": the module has no manifest; add manifest.json with berth plugin build (ABI-1.5)`},
		{command, `a.wasm: section "berth.manifest": the module has no manifest, and it is a command, which nobody calls; add manifest.json with ` +
			`berth plugin build, or build a reactor (Go: -buildmode=c-shared, clang: -mexec-model=reactor) and add it (ABI-1.5)`},
		{section(good, good), `a.wasm: section "berth.manifest": 2 manifests, expected one; remove all but one (ABI-1.5)`},
		{section(`{`), `manifest: line 1, column 2: expected a field's name in double quotes`},
		{section("\ufeff{}"), "manifest: line 1, column 1: the text begins with a byte order mark; save it as UTF-8 without one"},
		{section(`{"name": "a",}`), "manifest: line 1, column 14: expected a field's name in double quotes; remove the comma before the }"},
		{section(`{"name": "a", // my name`), "manifest: line 1, column 15: expected a field's name in double quotes; JSON has no comments"},
		{section(`{"host": ["log",]}`), "manifest: host[1]: line 1, column 17: this is not a JSON value; remove the comma before the ]"},
		{section(`{"abi": # the ABI`), "manifest: abi: line 1, column 9: this is not a JSON value; JSON has no comments"},
		{section(strings.Replace(good, `"a"`, `"A"`, 1)), `manifest: name: "A" is not a DNS label`},
	}
	for _, c := range cases {
		if _, err := wire.ReadManifest(c.m, "a.wasm"); !strings.HasPrefix(message(err), c.want) || (err == nil) != (c.want == "") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestManifestScopes: ABI-5.3, ABI-9.3.
func TestManifestScopes(t *testing.T) {
	point := func(scope string) *wire.ManifestPoint { return &wire.ManifestPoint{Scope: scope} }
	cases := []struct {
		points  wire.ManifestPoints
		sharded bool
	}{
		{wire.ManifestPoints{Filter: point("node")}, true},
		{wire.ManifestPoints{Filter: point("node"), Score: point("node"), PreFilter: point("")}, true},
		{wire.ManifestPoints{Filter: point("node"), Score: point("")}, false},
		{wire.ManifestPoints{Score: point("node"), PreScore: point("")}, false},
		{wire.ManifestPoints{PreFilter: point("")}, false},
	}
	for i, c := range cases {
		m := &wire.Manifest{Points: c.points}
		if m.Sharded() != c.sharded {
			t.Errorf("case %d: sharded is %v", i, m.Sharded())
		}
	}
	m := &wire.Manifest{Points: wire.ManifestPoints{Filter: point("node"), Score: point("")}}
	if m.Scope(abi.Filter) != abi.ScopeNode || m.Scope(abi.Score) != abi.ScopeCluster || len(m.Declared()) != 2 {
		t.Errorf("scopes are %v and %v of %v", m.Scope(abi.Filter), m.Scope(abi.Score), m.Declared())
	}
	for _, p := range []abi.Point{abi.PreFilter, abi.Filter, abi.PreScore, abi.Score, abi.Normalize} {
		if name, typ := wire.ExportOf(p); name == "" || wire.PointName(p) == "" || len(typ.Results) != 1 {
			t.Errorf("%v has export %q %v, name %q", p, name, typ, wire.PointName(p))
		}
	}
}

// TestHostileCounts: a few bytes that announce a large count do not cause a large allocation.
func TestHostileCounts(t *testing.T) {
	for id := byte(1); id <= 12; id++ {
		data := append([]byte(emptyModule), id, 5, 0xff, 0xff, 0xff, 0xff, 0x0f)
		n := testing.AllocsPerRun(1, func() {
			if _, err := wire.ReadModule(data); err == nil {
				t.Errorf("section %d with 2^32−1 entries was accepted", id)
			}
		})
		if n > 20 {
			t.Errorf("section %d: %v allocations", id, n)
		}
	}
}
