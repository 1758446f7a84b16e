package asc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc"
	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc/asctest"
	"github.com/berth-scheduler/berth/internal/testcache"
)

const (
	manifest = `{"name": "x", "version": "0.1.0", "abi": "1.0", "points": {"filter": {}}}`
	source   = `import * as berth from "@berth-scheduler/sdk";
class X {
  filter(_pod: berth.Pod, _node: berth.Node): berth.Status { return berth.SUCCESS; }
}
export const plugin = new X();
`
)

// folder writes the files of a plugin.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// dependsOn returns a package.json that names a folder for the SDK.
func dependsOn(dir string) string {
	return `{"dependencies": {"@berth-scheduler/sdk": "file:` + filepath.ToSlash(dir) + `"}}`
}

func sdk(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// node sets $NODE to a script that acts as a Node.js of a version; its programs run a shell
// command.
func node(t *testing.T, version, does string) {
	t.Helper()
	dir := folder(t, map[string]string{"node": "#!/bin/sh\ncase $1 in --version) echo " + version + ";; *) " + does + ";; esac\n"})
	t.Setenv("NODE", filepath.Join(dir, "node"))
}

// TestFind: the error says what is missing and how to install it.
func TestFind(t *testing.T) {
	none := folder(t, nil)
	other := folder(t, map[string]string{"package.json": `{"dependencies": {}}`})
	gone := folder(t, map[string]string{"package.json": dependsOn("nowhere")})
	plugin := folder(t, map[string]string{"package.json": dependsOn(sdk(t))})
	installed := folder(t, map[string]string{"node_modules/@berth-scheduler/sdk/bin/berth-asc.mjs": "", "deep/er/package.json": dependsOn(sdk(t))})
	cases := []struct{ name, version, does, dir, want string }{
		{"no package", "v18.0.0", "", none, "has no node_modules/@berth-scheduler/sdk: run npm install @berth-scheduler/sdk there"},
		{"no dependency", "v18.0.0", "", other, "has no node_modules/@berth-scheduler/sdk: run npm install there"},
		{"a missing folder", "v18.0.0", "", gone, "run npm install there"},
		{"an old Node.js", "v16.20.2", "", plugin, `is "v16.20.2"; install ` + asc.Install},
		{"no Node.js", "hello", "", plugin, `is "hello"; install ` + asc.Install},
		{"no compiler", "v22.1.0", "echo the compiler is not here; exit 1", plugin, "the compiler is not here; install the compiler: npm ci --prefix " + sdk(t)},
	}
	for _, c := range cases {
		node(t, c.version, c.does)
		if _, err := asc.Find(context.Background(), c.dir); !errors.Is(err, asc.ErrNoToolchain) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	node(t, "v22.1.0", "echo 1.0")
	if got, err := asc.Find(context.Background(), plugin); err != nil || got.SDK != sdk(t) {
		t.Errorf("of package.json: %v, %v", got, err)
	}
	want := filepath.Join(installed, "node_modules", "@berth-scheduler", "sdk")
	if got, err := asc.Find(context.Background(), filepath.Join(installed, "deep", "er")); err != nil || got.SDK != want {
		t.Errorf("of node_modules: %v, %v", got, err)
	}
	t.Setenv("NODE", "/nowhere/node")
	if _, err := asc.Find(context.Background(), plugin); !errors.Is(err, asc.ErrNoToolchain) || !strings.Contains(err.Error(), "there is no /nowhere/node; install "+asc.Install) {
		t.Errorf("without Node.js: %v", err)
	}
}

// TestRestBuild: a folder is built to a module, with extra compiler flags, and mistakes are
// reported.
func TestRestBuild(t *testing.T) {
	files := map[string]string{"package.json": dependsOn(sdk(t)), "manifest.json": manifest, "assembly/index.ts": source}
	dir := folder(t, files)
	toolchain := asctest.Toolchain(t, dir)
	if !asc.Is(dir) || asc.Is(t.TempDir()) {
		t.Error("Is does not recognize plugins")
	}
	module, err := toolchain.Build(context.Background(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if m := string(module); !strings.HasPrefix(m, "\x00asm") || !strings.Contains(m, "\x0eberth.manifest"+manifest) {
		t.Error("the result is not a module with the manifest")
	}
	other := folder(t, map[string]string{"other.json": strings.Replace(manifest, `"x"`, `"other"`, 1)})
	module, err = toolchain.Build(context.Background(), dir, filepath.Join(other, "other.json"), "--debug")
	if err != nil || !strings.Contains(string(module), `"other"`) || !strings.Contains(string(module), "serve/filter") {
		t.Errorf("with another manifest and names: %v", err)
	}
	files["assembly/index.ts"] = strings.Replace(source, "berth.SUCCESS", "berth.FINE", 1)
	if _, err := toolchain.Build(context.Background(), folder(t, files), ""); err == nil || !strings.Contains(err.Error(), "FINE") {
		t.Errorf("a plugin that does not build: %v", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := toolchain.Build(stopped, dir, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestRestSDK runs the SDK's tests in Node.js. Modules of tests in AssemblyScript are kept for the next run.
func TestRestSDK(t *testing.T) {
	toolchain := asctest.Toolchain(t, folder(t, map[string]string{"package.json": dependsOn(sdk(t))}))
	cmd := exec.Command(toolchain.Node, "--test", filepath.Join("tests", "sdk.test.mjs"))
	cmd.Dir = toolchain.SDK
	cache, err := testcache.Dir(filepath.Join("..", "..", "..", ".."), "assemblyscript")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "BERTH_TEST_CACHE="+cache)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
