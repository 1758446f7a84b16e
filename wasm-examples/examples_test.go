package wasmexamples_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// examples returns the examples, the reference workload and the plugin for tests.
func examples() []wasmexamples.Example {
	csr, dense := wasmexamples.Reference()
	return append(wasmexamples.All(), csr, dense, wasmexamples.EveryPoint())
}

// TestRestModules builds every module and checks it against its manifest: exports, imports, sizes.
func TestRestModules(t *testing.T) {
	dir := t.TempDir()
	for _, e := range examples() {
		file, err := e.Build(dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		module, err := wire.ReadModule(data)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		manifest, err := wire.ReadManifest(module, e.Name)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if err := wire.Check(module, manifest, e.Name); err != nil {
			t.Error(err)
		}
		if manifest.Name != e.Name {
			t.Errorf("the manifest of %s has the name %s", e.Name, manifest.Name)
		}
		for _, warning := range wire.Warnings(module, manifest) {
			t.Logf("%s: %s", e.Name, warning)
		}
		t.Logf("%s: %d bytes", e.Name, len(data))
		const most = 4 << 20
		if len(data) > most {
			t.Errorf("%s has %d bytes, more than %d", e.Name, len(data), most)
		}
	}
}

// TestBuildsAreReproducible: the same source gives the same bytes.
func TestBuildsAreReproducible(t *testing.T) {
	var builds [2][]byte
	for i := range builds {
		file, err := wasmexamples.All()[0].Build(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if builds[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(builds[0], builds[1]) {
		t.Error("two builds differ")
	}
}

// TestScenarioFiles: every example has scenarios, and its constructor fits its manifest.
func TestScenarioFiles(t *testing.T) {
	for _, e := range examples() {
		berthtest.New(t, e.Manifest, berthtest.Native(e.New), "")
		if e.Scenarios == "" {
			continue
		}
		if files, err := filepath.Glob(e.Scenarios); err != nil || len(files) == 0 {
			t.Errorf("%s has no scenarios: %v", e.Name, err)
		}
	}
}
