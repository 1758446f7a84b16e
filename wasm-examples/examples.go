// Package wasmexamples lists the example plugins, so that tests and benchmarks of
// a host can run all of them, as native code and as modules.
package wasmexamples

import (
	"bytes"
	_ "embed" // the manifest of an example in Rust
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/expression"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/fitplus"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/gpushare"
	"github.com/berth-scheduler/berth/wasm-examples/devices"
	"github.com/berth-scheduler/berth/wasm-examples/fgd"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/bestfit"
	"github.com/berth-scheduler/berth/wasm-examples/fgd/random"
	"github.com/berth-scheduler/berth/wasm-examples/gang"
	"github.com/berth-scheduler/berth/wasm-examples/internal/everypoint"
	"github.com/berth-scheduler/berth/wasm-examples/internal/reference"
	"github.com/berth-scheduler/berth/wasm-examples/loadaware"
	"github.com/berth-scheduler/berth/wasm-examples/nodenumber"
	"github.com/berth-scheduler/berth/wasm-examples/noisyneighbour"
	"github.com/berth-scheduler/berth/wasm-examples/tenantpool"
	"github.com/berth-scheduler/berth/wasm-examples/zonecost"
	"github.com/berth-scheduler/berth/wasm-examples/zonelimit"
)

// Example is an example plugin.
type Example struct {
	// Name is the name in the manifest.
	Name string
	// Package is the import path of its package main.
	Package string
	// Manifest is its manifest.
	Manifest []byte
	// New returns the plugin, to run as native code.
	New func() berth.Plugin
	// Config is a configuration, for a plugin that needs one.
	Config []byte
	// Scenarios is a pattern of its scenario files, relative to this folder; may be empty.
	// Package berthtest runs them.
	Scenarios string
	// Placing is true if scenarios use more commands than node, pod and try: they need a host
	// with the points before pre_filter and after normalize.
	Placing bool
	// Rust is the folder of its twin in Rust, relative to this folder; may be empty. Package
	// abi/sdk/rust/cargo builds it.
	Rust string
	// C is the folder of its twin in C. Package abi/sdk/c/clang builds it.
	C string
	// AssemblyScript is the folder of its twin in AssemblyScript. Package
	// abi/sdk/assemblyscript/asc builds it.
	AssemblyScript string
}

const folder = "github.com/berth-scheduler/berth/wasm-examples/"

// All returns the examples.
func All() []Example {
	return []Example{
		{
			Name: "tenant-pool", Package: folder + "tenantpool/guest", Manifest: tenantpool.Manifest,
			New: func() berth.Plugin { return tenantpool.New() }, Scenarios: "tenantpool/testdata/*.txt", Rust: "tenantpool/rust", C: "tenantpool/c", AssemblyScript: "tenantpool/assemblyscript",
		},
		{
			Name: "zone-cost", Package: folder + "zonecost/guest", Manifest: zonecost.Manifest,
			New: func() berth.Plugin { return zonecost.New() }, Scenarios: "zonecost/testdata/*.txt",
		},
		{
			Name: "node-number", Package: folder + "nodenumber/guest", Manifest: nodenumber.Manifest,
			New: func() berth.Plugin { return nodenumber.New() }, Scenarios: "nodenumber/testdata/*.txt",
			Rust: "nodenumber/rust", C: "nodenumber/c", AssemblyScript: "nodenumber/assemblyscript",
		},
		{
			Name: "fit-plus", Package: folder + "catalogue/fitplus/guest", Manifest: fitplus.Manifest,
			New:       func() berth.Plugin { return fitplus.New() },
			Config:    []byte(`{"spread": ["cpu"], "pack": ["memory"], "scarce": ["example.com/gpu"]}`),
			Scenarios: "catalogue/fitplus/testdata/*.txt",
		},
		{
			Name: "noisy-neighbour", Package: folder + "noisyneighbour/guest", Manifest: noisyneighbour.Manifest,
			New: func() berth.Plugin { return noisyneighbour.New() }, Scenarios: "noisyneighbour/testdata/*.txt", Rust: "noisyneighbour/rust", C: "noisyneighbour/c", AssemblyScript: "noisyneighbour/assemblyscript",
		},
		{
			Name: "zone-limit", Package: folder + "zonelimit/guest", Manifest: zonelimit.Manifest,
			New: func() berth.Plugin { return zonelimit.New() }, Scenarios: "zonelimit/testdata/*.txt", Placing: true, Rust: "zonelimit/rust",
		},
		{
			Name: "load-aware-go", Package: folder + "loadaware/guest", Manifest: loadaware.Manifest,
			New: func() berth.Plugin { return loadaware.New() }, Scenarios: "loadaware/testdata/*.txt",
		},
		{
			Name: "devices", Package: folder + "devices/guest", Manifest: devices.Manifest,
			New: func() berth.Plugin { return devices.New() }, Scenarios: "devices/testdata/*.txt", Placing: true,
		},
		{
			Name: "gpu-share", Package: folder + "catalogue/gpushare/guest", Manifest: gpushare.Manifest,
			New: func() berth.Plugin { return gpushare.New() }, Scenarios: "catalogue/gpushare/testdata/*.txt", Placing: true,
		},
		{
			Name: "expression", Package: folder + "catalogue/expression/guest", Manifest: expression.Manifest,
			New: func() berth.Plugin { return expression.New() },
			Config: []byte(`{"nodeLabels": ["a"], "filters": [{"fits": "node.labels['a'] == 'b' || node.requested.cpu >= 0", "reason": "no"}],
				"score": "100 * node.requested.cpu / node.allocatable.cpu"}`),
			Scenarios: "catalogue/expression/testdata/*.txt",
		},
		{
			Name: "gang", Package: folder + "gang/guest", Manifest: gang.Manifest,
			New: func() berth.Plugin { return gang.New() }, Scenarios: "gang/testdata/*.txt", Placing: true,
		},
		{
			Name: "fgd", Package: folder + "fgd/guest", Manifest: fgd.Manifest,
			New: func() berth.Plugin { return fgd.New() }, Scenarios: "fgd/testdata/*.txt", Placing: true, C: "fgd/c",
		},
		{
			Name: "best-fit", Package: folder + "fgd/bestfit/guest", Manifest: bestfit.Manifest,
			New: func() berth.Plugin { return bestfit.New() }, Scenarios: "fgd/bestfit/testdata/*.txt", Placing: true, C: "fgd/bestfit/c",
		},
		{
			Name: "random-fit", Package: folder + "fgd/random/guest", Manifest: random.Manifest,
			New: func() berth.Plugin { return random.New() }, Scenarios: "fgd/random/testdata/*.txt", Placing: true, C: "fgd/random/c",
		},
	}
}

//go:embed catalogue/loadaware/manifest.json
var loadAware []byte

// LoadAware returns an example that exists in Rust alone: it has neither Package nor New.
func LoadAware() Example {
	return Example{
		Name: "load-aware", Manifest: loadAware, Scenarios: "catalogue/loadaware/testdata/pack.txt", Rust: "catalogue/loadaware",
		Config: []byte(`{"feeds": {"cpu": "node.cpu.usage:milli", "memory": "node.memory.usage:bytes"},
			"thresholds": {"cpu": 65, "memory": 95}}`),
	}
}

// EveryPoint returns the plugin whose answers at every point are in annotations.
func EveryPoint() Example {
	return Example{
		Name: "everypoint", Package: folder + "internal/everypoint/guest", Manifest: everypoint.Manifest,
		New: func() berth.Plugin { return everypoint.New() }, Scenarios: "internal/everypoint/testdata/*.txt", Placing: true, Rust: "internal/everypoint/rust", C: "internal/everypoint/c", AssemblyScript: "internal/everypoint/assemblyscript",
	}
}

// Reference returns the reference workload of benchmarks as plugins: with lists of labels, and
// with a dense column for each label key.
func Reference() (csr, dense Example) {
	csr = Example{
		Name: "reference-csr", Package: folder + "internal/reference/guestcsr", Manifest: reference.ManifestCSR,
		New: func() berth.Plugin { return reference.NewCSR() }, Rust: "internal/reference/rust/csr", C: "internal/reference/c/csr", AssemblyScript: "internal/reference/assemblyscript/csr",
	}
	dense = Example{
		Name: "reference-dense", Package: folder + "internal/reference/guestdense", Manifest: reference.ManifestDense,
		New: func() berth.Plugin { return reference.NewDense() }, Rust: "internal/reference/rust/dense", C: "internal/reference/c/dense", AssemblyScript: "internal/reference/assemblyscript/dense",
	}
	return csr, dense
}

// Build builds the module into dir, including its manifest, and returns the file. It needs the
// Go toolchain, and a working directory in this repository's module.
func (e Example) Build(dir string) (string, error) {
	file := filepath.Join(dir, e.Name+".wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, e.Package)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", e.Package, err, bytes.TrimSpace(out))
	}
	module, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if module, err = wire.AppendCustomSection(module, abi.ManifestSection, e.Manifest); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return file, os.WriteFile(file, module, 0o644)
}
