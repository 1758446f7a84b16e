package app

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/golden"
)

// pluginCommand runs berth plugin and returns what it printed and its error.
func pluginCommand(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	root := newRoot(newProgram(), defaultWidth)
	if !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "plugin" }) {
		root.AddCommand(newPlugin(newProgram()))
	}
	var out, errs bytes.Buffer
	root.SetArgs(append([]string{"plugin"}, args...))
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(context.Background())
	return out.String(), errs.String(), err
}

// vector returns a module of abi/vectors, with its manifest.
func vector(name string) ([]byte, error) {
	text, err := os.ReadFile("../../abi/vectors/modules.json")
	if err != nil {
		return nil, err
	}
	var vectors []struct {
		Name, Hex string
		Manifest  json.RawMessage
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		return nil, err
	}
	for _, v := range vectors {
		if v.Name != name {
			continue
		}
		data, err := hex.DecodeString(v.Hex)
		if err != nil {
			return nil, err
		}
		return wire.AppendCustomSection(data, abi.ManifestSection, v.Manifest)
	}
	return nil, fmt.Errorf("there is no vector %s", name)
}

// vectorModule writes a module of abi/vectors and returns its path, which is relative to a
// folder of the test's own.
func vectorModule(t *testing.T, name string) string {
	t.Helper()
	data, err := vector(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name+".wasm", data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name + ".wasm"
}

func TestPluginInspect(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	for _, name := range []string{"good", "good-all-points", "warnings"} {
		for _, output := range []string{"text", "json"} {
			t.Run(name+"-"+output, func(t *testing.T) {
				want, err := filepath.Abs(filepath.Join("testdata", "plugin", name+"."+output))
				if err != nil {
					t.Fatal(err)
				}
				stdout, stderr, err := pluginCommand(t, "inspect", vectorModule(t, name), "-o", output)
				if err != nil || stderr != "" {
					t.Fatalf("%v\n%s", err, stderr)
				}
				golden.Check(t, want, []byte(stdout))
			})
		}
	}
}

func TestPluginErrors(t *testing.T) {
	cases := []struct {
		args []string
		want string
	}{
		{[]string{"inspct"}, `unknown command "inspct": did you mean berth plugin inspect?`},
		{[]string{"frobnicate"}, `unknown command "frobnicate": berth plugin --help lists the commands`},
		{[]string{"inspect"}, `the file is missing: write berth plugin inspect FILE`},
		{[]string{"inspect", "a", "b"}, `unexpected argument "b": berth plugin inspect takes one file`},
		{[]string{"inspect", "none.wasm"}, `none.wasm: module: no such file or directory; name a file that can be read`},
		{[]string{"inspect", "plugin.go", "-o", "yaml"}, `--output: "yaml" is neither text nor json`},
		{[]string{"inspect", "plugin.go"}, `plugin.go: module: offset 0x0: this is not a WebAssembly module: it does not begin with "\0asm"; name a file that a compiler made for wasm32`},
		{[]string{"build"}, `the folder is missing: write berth plugin build DIR`},
		{[]string{"build", "testdata/none"}, `stat testdata/none: no such file or directory (name the folder of a plugin)`},
		{[]string{"build", ".", "--manifest", "none.json"}, `open none.json: no such file or directory (name a file that can be read with --manifest)`},
	}
	for _, c := range cases {
		stdout, _, err := pluginCommand(t, c.args...)
		if err == nil || err.Error() != c.want || stdout != "" {
			t.Errorf("%q: got %v, want %s", c.args, err, c.want)
		}
	}
	_, _, err := pluginCommand(t, "inspect", vectorModule(t, "all-wrong"))
	if err == nil || strings.Count(err.Error(), "\n") < 5 || !strings.Contains(err.Error(), `all-wrong.wasm: export "berth_filter": it is missing, expected function (i32, i32, i32) → i32`) {
		t.Errorf("not all mistakes are told: %v", err)
	}
}

// guestSource is a plugin of one file that answers nothing but signatures.
const guestSource = `package main

//go:wasmexport berth_abi
func version() uint32 { return 1 << 16 }

//go:wasmexport berth_alloc
func alloc(size, align uint32) uint32 { return 0 }

//go:wasmexport berth_filter
func filter(call, lo, hi uint32) uint32 { return 0 }

func main() {}
`

const guestManifest = `{"name": "tiny", "version": "0.1.0", "abi": "1.0", "points": {"filter": {"scope": "node"}}}`

// writeFiles writes files into a folder, by their names there.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPluginBuild: the same sources in two folders give the same bytes, which
// inspect accepts; mistakes are told, and then nothing is written.
func TestPluginBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	const mod = "module tiny\n\ngo 1.24\n"
	writeFiles(t, ".", map[string]string{
		"flat/main.go": guestSource, "flat/go.mod": mod, "flat/manifest.json": guestManifest,
		"nested/guest/main.go": guestSource, "nested/go.mod": "module tiny\n\ngo 1.24\n", "nested/manifest.json": guestManifest,
		"copy/deep/main.go": guestSource, "copy/deep/go.mod": mod, "copy/manifest.json": strings.ReplaceAll(guestManifest, ", ", ",\n\t"),
		"lying/main.go": guestSource, "lying/go.mod": mod, "lying/manifest.json": strings.ReplaceAll(guestManifest, "filter", "score"),
		"broken/main.go": "package main\n\nfunc main() { nothing() }\n", "broken/go.mod": mod, "broken/manifest.json": guestManifest,
		"baseless/main.go": "package main\n\ntype plugin interface{ core() }\n\nvar _ plugin = struct{}{}\n\nfunc main() {}\n",
		"baseless/go.mod":  mod, "baseless/manifest.json": guestManifest,
		"library/a.go": "package a\n", "library/go.mod": mod, "library/manifest.json": guestManifest,
		"empty/package.json": "{}", "empty/manifest.json": guestManifest,
		"wrong/main.go": guestSource, "wrong/go.mod": mod, "wrong/manifest.json": `{"name": "Tiny"}`,
	})
	stdout, stderr, err := pluginCommand(t, "build", "flat")
	if err != nil {
		t.Fatal(err)
	}
	flat, err := os.ReadFile("tiny.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stdout, "tiny.wasm: tiny 0.1.0, 1.") || !strings.Contains(stdout, "MiB, sha256:") || !strings.Contains(stderr, "warning: tiny.wasm: the manifest names no publisher\n") {
		t.Errorf("printed %q and %q", stdout, stderr)
	}
	if _, _, err := pluginCommand(t, "build", "copy/deep", "-o", "second.wasm"); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile("second.wasm"); err != nil || !bytes.Equal(second, flat) {
		t.Errorf("the same sources gave other bytes (%v)", err)
	}
	if _, _, err := pluginCommand(t, "build", "nested", "-o", "third.wasm"); err != nil {
		t.Error(err)
	}
	if stdout, _, err := pluginCommand(t, "inspect", "third.wasm"); err != nil || !strings.HasPrefix(stdout, "tiny 0.1.0, a plugin for ABI 1.0\n") {
		t.Errorf("%v: %s", err, stdout)
	}
	cases := map[string]string{
		"lying":   "none.wasm: export \"berth_filter\": the manifest does not declare the point filter; add points.filter, or remove the export (ABI-9.3)\nnone.wasm: export \"berth_score\": it is missing, expected function (i32, i32, i32) → i32; export it, or remove points.score from the manifest (ABI-9.3)\nto export score, call Export of abi/sdk/go/export/score in package main\nnothing was written; the manifest is lying/manifest.json",
		"broken":  "go build in broken: exit status 1\n# tiny\n./main.go:3:15: undefined: nothing",
		"library": "go build in library: exit status 1\n-buildmode=c-shared requires exactly one main package",
		"wrong":   "wrong/manifest.json: manifest: abi: it is missing",
		"empty":   "empty: it has no plugin: write Go files with a package main in it or in guest, Cargo.toml for Rust, C files, or assembly/index.ts for AssemblyScript",
	}
	for dir, want := range cases {
		if _, _, err := pluginCommand(t, "build", dir, "-o", "none.wasm"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", dir, err, want)
		}
	}
	if _, _, err := pluginCommand(t, "build", "baseless", "-o", "none.wasm"); err == nil ||
		!strings.Contains(err.Error(), "a plugin embeds the SDK's Base") {
		t.Errorf("without Base: %v", err)
	}
	if files, _ := filepath.Glob("*none*"); len(files) > 0 {
		t.Errorf("written were %q", files)
	}
	if _, _, err := pluginCommand(t, "build", "flat", "-o", "no/where.wasm"); err == nil || err.Error() != "open no/where.wasm: no such file or directory" {
		t.Errorf("into a folder that is not there: %v", err)
	}
	t.Setenv("PATH", "")
	var failed *failure
	if _, _, err := pluginCommand(t, "build", "flat"); !errors.As(err, &failed) || !strings.Contains(err.Error(), "the Go toolchain is not installed") {
		t.Errorf("without go: %v", err)
	}
}
