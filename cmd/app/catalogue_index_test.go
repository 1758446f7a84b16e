package app

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi/sdk/assemblyscript/asc/asctest"
	"github.com/berth-scheduler/berth/abi/sdk/c/clang/clangtest"
	"github.com/berth-scheduler/berth/abi/sdk/rust/cargo/cargotest"
	"github.com/berth-scheduler/berth/runtime/market/index"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// effectConfig returns the name of the plugin in a folder of the catalogue, and its configuration in the effect.
func effectConfig(t *testing.T, folder string) (name string, config []byte) {
	t.Helper()
	var manifest struct{ Name string }
	var scheduler struct {
		Profiles []struct {
			PluginConfig []struct {
				Args struct {
					Kind   string
					Config json.RawMessage
				}
			}
		}
	}
	for file, into := range map[string]any{"manifest.json": &manifest, "effect/scheduler.yaml": &scheduler} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range scheduler.Profiles[0].PluginConfig {
		if p.Args.Kind == "WasmPluginArgs" {
			config = p.Args.Config
		}
	}
	return manifest.Name, config
}

// inCatalogue returns what runs berth in a folder with a key, as a maker and as a user of the catalogue.
func inCatalogue(t *testing.T, dir, host string) func(args ...string) []byte {
	t.Helper()
	env := append(os.Environ(), "DOCKER_CONFIG="+dir, "CARGO_NET_OFFLINE=true", "XDG_CACHE_HOME="+cacheHome(t), "BERTH_KEY_PASSWORD=of this run",
		"BERTH_INDEX="+host+"/catalogue/index", "BERTH_VERIFICATION_POLICY=policy.yaml")
	return func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "berth", args...) // testscript.Main has put it into the path
		var stdout, stderr bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("berth %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
		}
		return stdout.Bytes()
	}
}

// TestRestCatalogue builds all plugins of the catalogue twice, publishes them with a key that is made for this, and an index with its pages.
// Then it finds and installs each in a new folder, and simulates through all of them together. test/market runs it with the registry
// of another project.
func TestRestCatalogue(t *testing.T) {
	clangtest.Toolchain(t)
	cargotest.Toolchain(t)
	asctest.Toolchain(t, "../../wasm-examples/catalogue/localstorage")
	catalogue, err := filepath.Abs("../../wasm-examples/catalogue")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(catalogue, "*", "manifest.json"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("the catalogue is empty: %v", err)
	}
	dir, host := t.TempDir(), *marketRegistry
	if keep := os.Getenv("BERTH_CATALOGUE"); keep != "" {
		dir = keep // for make catalogue
	}
	if host == "" {
		host = serveAsWritten(t, dir, []byte("```\nberth registry serve plugins --listen localhost:5000\n```"))
	}
	berth := inCatalogue(t, dir, host)
	berth("plugin", "keygen", "-o", "catalogue")
	key, err := os.ReadFile(filepath.Join(dir, "catalogue.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("policy.yaml", []byte("apiVersion: berth.dev/v1alpha1\nkind: VerificationPolicy\nkeys:\n- name: catalogue\n  publicKey: |\n    "+
		strings.ReplaceAll(strings.TrimSpace(string(key)), "\n", "\n    ")+
		"\nrequire: {signatures: {keys: [catalogue]}}\nindexes: [{signatures: {keys: [catalogue]}}]\n"))

	var names []string
	listing := []string{"plugin", "index", host + "/catalogue/index", "--key", "catalogue.key"}
	for _, manifest := range folders {
		folder := filepath.Dir(manifest)
		name, config := effectConfig(t, folder)
		names, listing = append(names, name), append(listing, host+"/catalogue/"+name)
		write(name+".json", config)
		berth("plugin", "build", folder, "-o", name+".wasm")
		push := []string{"plugin", "push", folder, host + "/catalogue/" + name, "--license", filepath.Join(catalogue, "..", "..", "LICENSE"), "--key", "catalogue.key"}
		if *marketRegistry == "" { // once is enough
			write(name+".conformance.json", berth(heldAgainst(folder, name)...))
			push = append(push, "--conformance", name+".conformance.json")
		}
		berth(push...) // builds the folder once more
	}
	berth(listing...)
	if pages := string(berth("plugin", "site", "pages")); !strings.Contains(pages, count(len(names), "plugin")) {
		t.Errorf("site says %q", pages)
	}
	useCatalogue(t, dir, names, berth)
}

// heldAgainst returns the command that holds a module against the conformance kit, with the hints of its folder.
func heldAgainst(folder, name string) []string {
	command := []string{"plugin", "conformance", name + ".wasm?config=" + name + ".json", "--cycles", "3", "-o", "json"}
	if hints, err := os.ReadFile(filepath.Join(folder, "testdata", "hints")); err == nil {
		for _, hint := range strings.Fields(string(hints)) {
			command = append(command, "--hint", hint)
		}
	}
	return command
}

// useCatalogue finds and installs the plugins, and simulates through all of them.
func useCatalogue(t *testing.T, dir string, names []string, berth func(args ...string) []byte) {
	t.Helper()
	for _, name := range names {
		if found := string(berth("plugin", "search", name)); !strings.Contains(found, "\n"+name+" ") {
			t.Errorf("search %s finds:\n%s", name, found)
		}
		var listed index.Plugin
		if err := json.Unmarshal(berth("plugin", "info", name, "-o", "json"), &listed); err != nil {
			t.Fatal(err)
		}
		built, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		if v := listed.Versions[0]; v.Module != module.Digest(built) {
			t.Errorf("two builds of %s differ: %s and %s", name, module.Digest(built), v.Module)
		}
		berth("plugin", "install", name, "--config", "scheduler.yaml", "--lock", "berth.lock", "--plugin-config", name+".json", "--yes")
	}
	const effects = "../../wasm-examples/catalogue/"
	args := []string{"simulate", "--config", "scheduler.yaml", "--lock", "berth.lock", "-o", "json"}
	for flag, file := range map[string]string{"--cluster": "rank/effect/cluster.yaml", "--feeds": "loadaware/effect/feeds.yaml"} {
		path, err := filepath.Abs(effects + file)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, flag, path)
	}
	var r sim.Result
	if err := json.Unmarshal(berth(args...), &r); err != nil {
		t.Fatal(err)
	}
	if r.Summary.Scheduled != 60 {
		t.Errorf("through all plugins %d of 60 pods are placed", r.Summary.Scheduled)
	}
	for _, name := range names {
		if !slices.ContainsFunc(r.Plugins, func(u sim.PluginUsage) bool { return u.Name == name && u.Calls > 0 && u.Faults == 0 }) {
			t.Errorf("%s was not asked, or failed", name)
		}
	}
}
