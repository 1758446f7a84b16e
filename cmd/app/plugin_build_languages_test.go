package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc/asctest"
	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/abi/wire"
)

// builtLanguage is a language beside Go.
type builtLanguage struct {
	name    string
	require func(t *testing.T, dir string) // skips the test without a toolchain
	// other is what is said if the code carries another manifest; empty if it cannot.
	other string
	// broken are the files of a plugin that does not build, beside its manifest, and said
	// is what is told.
	broken map[string]string
	said   string
	// variable names the toolchain, and missing is told if it is not there.
	variable, missing string
}

func builtLanguages() []builtLanguage {
	return []builtLanguage{
		{
			name: "rust", require: func(t *testing.T, _ string) { cargotest.Toolchain(t) },
			other:  "the crate's manifest differs from %: its MANIFEST must be include_str! of this file",
			broken: map[string]string{"Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\n"},
			said:   "cargo metadata in ",
		},
		{
			name: "c", require: func(t *testing.T, _ string) { clangtest.Toolchain(t) },
			other:    "the plugin's manifest differs from %: BERTH_PLUGIN must name this file",
			broken:   map[string]string{"plugin.c": "#include \"berth.h\"\n"},
			said:     "copy abi/sdk/c/berth.h into the folder",
			variable: "CLANG",
			missing:  "no C toolchain for wasm32: there is no /nowhere/tool; install one: on Debian and Ubuntu apt-get install clang lld",
		},
		{
			name: "assemblyscript", require: func(t *testing.T, dir string) { asctest.Toolchain(t, dir) },
			broken: map[string]string{
				"assembly/index.ts": "export const plugin: i32 = nothing;\n",
				"package.json":      `{"dependencies": {"@berth-scheduler/sdk": "file:` + sdkFolder() + `"}}`,
			},
			said:     "Cannot find name 'nothing'",
			variable: "NODE",
			missing:  "no AssemblyScript toolchain: there is no /nowhere/tool; install Node.js 18 or newer with npm: on Debian and Ubuntu apt-get install nodejs npm",
		},
	}
}

// TestRestPluginTestLanguages: the plugin that does at every point what annotations say keeps the
// scenarios of its Go twin, in all ways, and is neither shaken by odd clusters nor by
// broken input.
func TestRestPluginTestLanguages(t *testing.T) {
	for _, l := range builtLanguages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("..", "..", "wasm-examples", "internal", "everypoint", l.name)
			l.require(t, dir)
			stdout, _, err := pluginCommand(t, "test", dir, "--wasm-only", "--cycles", "20")
			if err != nil || strings.Count(stdout, "ok    as WebAssembly: ") != 4 || !strings.Contains(stdout, "ok    300 regions") || !strings.Contains(stdout, "invalid configurations: ") {
				t.Errorf("%v\n%s", err, stdout)
			}
		})
	}
}

// sdkFolder is that of the AssemblyScript SDK.
func sdkFolder() string {
	dir, err := filepath.Abs(filepath.Join("..", "..", "abi", "sdk", "assemblyscript"))
	if err != nil {
		panic(err)
	}
	return filepath.ToSlash(dir)
}

// TestRestPluginBuildLanguages: a folder in another language than Go becomes a module with
// one manifest, which must be the one beside it, and that passes the scenarios of its Go
// twin; mistakes are told; without a toolchain, the error says what to install.
func TestRestPluginBuildLanguages(t *testing.T) {
	for _, l := range builtLanguages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("..", "..", "wasm-examples", "tenantpool", l.name)
			l.require(t, dir)
			out := filepath.Join(t.TempDir(), "plugin.wasm")
			stdout, stderr, err := pluginCommand(t, "build", dir, "-o", out)
			if err != nil || stderr != "" || !strings.HasPrefix(stdout, out+": tenant-pool 1.0.0, ") {
				t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
			}
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			m, err := wire.ReadModule(data)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(m.Custom(abi.ManifestSection)); n != 1 {
				t.Errorf("the module has %d manifests", n)
			}

			// Its words for refused configurations are those of its Go twin.
			stdout, _, err = pluginCommand(t, "test", out, "--scenarios", filepath.Join(dir, "..", "testdata", "*.txt"))
			if err != nil || strings.Count(stdout, "ok    as WebAssembly: ") != 2 {
				t.Errorf("%v\n%s", err, stdout)
			}

			if l.other != "" {
				other := filepath.Join("..", "..", "wasm-examples", "noisyneighbour", "manifest.json")
				_, _, err = pluginCommand(t, "build", dir, "--manifest", other, "-o", out)
				if want := strings.Replace(l.other, "%", other, 1); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}

			broken := t.TempDir()
			writeFiles(t, broken, map[string]string{"manifest.json": `{"name": "x", "version": "1.0.0", "abi": "1.0", "points": {"filter": {}}}`})
			writeFiles(t, broken, l.broken)
			if _, _, err = pluginCommand(t, "build", broken, "-o", filepath.Join(broken, "plugin.wasm")); err == nil || !strings.Contains(err.Error(), l.said) {
				t.Errorf("a plugin that does not build: %v", err)
			}
		})
		if l.missing != "" {
			t.Run(l.name+"/without", func(t *testing.T) {
				t.Setenv(l.variable, "/nowhere/tool")
				dir := filepath.Join("..", "..", "wasm-examples", "tenantpool", l.name)
				_, _, err := pluginCommand(t, "build", dir, "-o", filepath.Join(t.TempDir(), "plugin.wasm"))
				if err == nil || !strings.Contains(err.Error(), l.missing) {
					t.Errorf("got %v, want %q", err, l.missing)
				}
			})
		}
	}
}
