package sbom_test

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/market/sbom"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestText: a list names what the toolchain locks, with digests and places; the same parts in
// another order give the same bytes.
func TestText(t *testing.T) {
	crates, err := sbom.Cargo(read(t, "Cargo.lock"), "rack-aware")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := sbom.NPM(read(t, "package-lock.json"), "rack-aware")
	if err != nil {
		t.Fatal(err)
	}
	modules := sbom.Go("go1.26.0 X:nodwarf5", []*debug.Module{
		{Path: "github.com/example/old", Version: "v2.0.0+incompatible"},
		{Path: "github.com/example/fork", Version: "v1.0.0", Replace: &debug.Module{Path: "github.com/other/fork", Version: "v1.0.1"}},
		{Path: "github.com/berth-scheduler/berth", Version: "v0.1.0", Replace: &debug.Module{Path: "./berth"}},
		{Path: "github.com/example/beside", Version: "v0.0.0", Replace: &debug.Module{Path: "../beside"}},
	})
	for name, parts := range map[string][]cdx.Component{"cargo": crates, "npm": packages, "go": modules, "c": sbom.C(read(t, "berth.h")), "none": nil} {
		whole := &cdx.Component{
			Type: cdx.ComponentTypeApplication, Name: "rack-aware", Version: "0.1.0",
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: strings.Repeat("ab", 32)}},
		}
		text, err := sbom.Text(whole, parts)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("testdata", name+".cdx.json"), text)
		slices.Reverse(parts)
		again, err := sbom.Text(whole, parts)
		if err != nil || string(again) != string(text) {
			t.Errorf("%s: in another order (%v):\n%s", name, err, again)
		}
	}
}

// TestRefused: what is no lock file is refused.
func TestRefused(t *testing.T) {
	for _, err := range []error{
		second(sbom.Cargo([]byte("[[package"), "")), second(sbom.NPM([]byte("{"), "")), second(sbom.NPM([]byte(`{"lockfileVersion": 1, "dependencies": {}}`), "")),
	} {
		if err == nil || !strings.Contains(err.Error(), "lock") {
			t.Errorf("got %v", err)
		}
	}
}

func second(_ []cdx.Component, err error) error { return err }
